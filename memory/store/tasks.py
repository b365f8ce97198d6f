"""Tasks with their attempts and how they ended; posts on GitHub that people answer; and which findings were decided upon where."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, select, update

from memory.errors import StoreError
from memory.model import Attempt, Post, PostKind, Sighting, Task, TaskKind
from memory.store.database import Database, Row, in_batches, insert_new, insert_several, load, row_of
from memory.store.tables import attempts, posts, sightings, tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """A task in its present state, with its attempts in the order they were made.

    `status` is empty until it ends; `summary` is the JSON that it ended with.
    """

    task: Task
    attempts: tuple[Attempt, ...]
    status: str
    summary: str


@dataclass(frozen=True, slots=True)
class Tasks:
    """A task's attempts are stored one by one, as they are made."""

    database: Database

    def add(self, task: Task) -> bool:
        """Store a task; False, and nothing changed, when its id is known."""
        return self.database.insert(tasks, row_of(tasks, task, status="", summary=""))

    def add_attempt(self, task_id: str, attempt: Attempt) -> bool:
        """Store a task's next attempt; False when the attempt of its decision is known. Raises StoreError for no task."""
        with self.database.writing() as connection:
            # Locking the task keeps two attempts from getting the same position.
            if connection.execute(select(tasks.c.id).where(tasks.c.id == task_id).with_for_update()).first() is None:
                raise _no_task(task_id)
            count = select(func.count()).select_from(attempts).where(attempts.c.task_id == task_id)
            position = connection.execute(count).scalar_one()
            return insert_new(connection, attempts, row_of(attempts, attempt, task_id=task_id, position=position))

    def finish(self, task_id: str, status: str, summary_json: str) -> None:
        """The task has ended; a later call corrects an earlier one. Raises StoreError when there is no such task."""
        ended = update(tasks).where(tasks.c.id == task_id).values(status=status, summary=summary_json)
        if self.database.change(ended) == 0:
            raise _no_task(task_id)

    def get(self, task_id: str) -> StoredTask | None:
        return next(iter(self._where(tasks.c.id == task_id)), None)

    def by_repository(self, repository: str) -> list[StoredTask]:
        """A repository's tasks, oldest first."""
        return self._where(tasks.c.repository == repository)

    def attempts_of_repairs(self) -> dict[str, list[Attempt]]:
        """The attempts of every repair, by task, in the order they were made."""
        with self.database.reading() as connection:
            return _attempts(connection, tasks.c.kind == TaskKind.REPAIR)

    def ended(self, kind: TaskKind, repository: str, number: int) -> list[StoredTask]:
        """The tasks of a kind about one issue or pull request that were finished, oldest first."""
        about = tasks.c.body.contains(f'"number":{number},', autoescape=True)
        found = self._where(
            (tasks.c.repository == repository) & (tasks.c.kind == kind) & (tasks.c.status != "") & about
        )
        return [each for each in found if each.task.number == number]

    def _where(self, condition: ColumnElement[bool]) -> list[StoredTask]:
        query = select(tasks.c.id, tasks.c.status, tasks.c.summary, tasks.c.body).where(condition)
        with self.database.reading() as connection:
            made = _attempts(connection, condition)
            rows = connection.execute(query.order_by(tasks.c.created_at, tasks.c.id)).all()
        return [
            StoredTask(
                task=load(Task, row.body),
                attempts=tuple(made.get(row.id, ())),
                status=row.status,
                summary=row.summary,
            )
            for row in rows
        ]


def _attempts(connection: Connection, condition: ColumnElement[bool]) -> dict[str, list[Attempt]]:
    query = select(attempts.c.task_id, attempts.c.body).join(tasks).where(condition)
    made: dict[str, list[Attempt]] = {}
    for task_id, body in connection.execute(query.order_by(tasks.c.created_at, tasks.c.id, attempts.c.position)):
        made.setdefault(task_id, []).append(load(Attempt, body))
    return made


def _no_task(task_id: str) -> StoreError:
    return StoreError(f"no task {task_id}; add the task first")


# ── Posts, and sightings of findings ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Posts:
    """Posts are found by what GitHub calls them, sightings by their pull request or fingerprint."""

    database: Database

    def add(self, post: Post) -> bool:
        """Remember a post; False, and nothing changed, when this (repository, kind, github_id) is known."""
        return self.database.insert(posts, row_of(posts, post))

    def find(self, repository: str, kind: PostKind, github_id: int) -> Post | None:
        """The post with this id on GitHub."""
        return next(iter(self._where(_is(repository, kind, github_id))), None)

    def on(self, repository: str, number: int) -> list[Post]:
        """All posts on one issue or pull request, oldest first."""
        return self._where(posts.c.repository == repository, posts.c.number == number)

    def latest(self, repository: str, kind: PostKind, most: int) -> list[Post]:
        """The latest posts of a kind, oldest first, at most `most`."""
        newest = (posts.c.created_at.desc(), posts.c.github_id.desc())
        query = select(posts.c.github_id).where(posts.c.repository == repository, posts.c.kind == kind)
        return self._where(
            posts.c.repository == repository,
            posts.c.kind == kind,
            posts.c.github_id.in_(query.order_by(*newest).limit(most)),
        )

    def watched(self, repository: str, since: datetime) -> list[Post]:
        """The posts from that time on from which something may still be learned, oldest first."""
        return self._where(posts.c.repository == repository, posts.c.watched, posts.c.created_at >= since)

    def repositories_watched(self, since: datetime) -> list[str]:
        """The repositories with a watched post from that time on."""
        recent = (posts.c.watched, posts.c.created_at >= since)
        query = select(posts.c.repository).where(*recent).distinct().order_by(posts.c.repository)
        return self.database.scalars(query)

    def unwatch(self, repository: str, kind: PostKind, github_id: int) -> None:
        self._watch(False, _is(repository, kind, github_id))

    def unwatch_all(self, repository: str) -> None:
        self._watch(False, posts.c.repository == repository)

    def watch_again(self, repository: str, number: int) -> None:
        """Watch all posts on a pull request that was opened again."""
        self._watch(True, posts.c.repository == repository, posts.c.number == number)

    def _watch(self, watched: bool, *which: ColumnElement[bool]) -> None:
        self.database.change(update(posts).where(*which).values(watched=watched))

    def add_sightings(self, new: Iterable[Sighting]) -> int:
        """Remember sightings; one of a known (repository, number, decision) is left as it is. Returns how many were new."""
        with self.database.writing() as connection:
            return len(insert_several(connection, sightings, map(_sighting_row, new)))

    def update_sightings(self, known: Iterable[Sighting]) -> None:
        """Overwrite known sightings after a later round: where they are now, how often they returned."""
        with self.database.writing() as connection:
            for one in sorted(known, key=lambda one: (one.repository, one.number, one.decision_id)):
                row = _sighting_row(one)
                own = (sightings.c[name] == row[name] for name in ("repository", "number", "decision_id"))
                connection.execute(update(sightings).where(*own).values(body=row["body"]))

    def sightings(self, repository: str, number: int) -> list[Sighting]:
        """The sightings in one pull request, oldest first."""
        return self._sightings(sightings.c.repository == repository, sightings.c.number == number)

    def sighting_by_fingerprint(self, prefix: str) -> list[Sighting]:
        """Sightings, anywhere, of findings whose fingerprint starts with `prefix`, oldest first; none for an empty one."""
        return self._sightings(sightings.c.fingerprint.startswith(prefix, autoescape=True)) if prefix else []

    def sightings_of(self, decision_ids: Iterable[str]) -> dict[str, Sighting]:
        found: dict[str, Sighting] = {}
        for ids in in_batches(decision_ids):
            found |= {each.decision_id: each for each in self._sightings(sightings.c.decision_id.in_(ids))}
        return found

    def _where(self, *conditions: ColumnElement[bool]) -> list[Post]:
        query = select(posts.c.body, posts.c.watched).where(*conditions)
        rows = self.database.rows(query.order_by(posts.c.created_at, posts.c.github_id))
        return [replace(load(Post, body), watched=watched) for body, watched in rows]

    def _sightings(self, *conditions: ColumnElement[bool]) -> list[Sighting]:
        query = select(sightings.c.body).where(*conditions)
        return self.database.nouns(Sighting, query.order_by(sightings.c.created_at, sightings.c.decision_id))


def _is(repository: str, kind: PostKind, github_id: int) -> ColumnElement[bool]:
    return (posts.c.repository == repository) & (posts.c.kind == kind) & (posts.c.github_id == github_id)


def _sighting_row(sighting: Sighting) -> Row:
    return row_of(sightings, sighting, fingerprint=sighting.finding.fingerprint)
