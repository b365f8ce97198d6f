"""Posts on GitHub that people answer to, and sightings: which findings were decided upon where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, select, update

from memory.model import Post, PostKind, Sighting
from memory.store.database import Database, Row, changed, dump, in_batches, insert_new, load
from memory.store.tables import posts, sightings


@dataclass(frozen=True, slots=True)
class Posts:
    """Posts are found by what GitHub calls them, sightings by their pull request or fingerprint."""

    database: Database

    def add(self, post: Post) -> bool:
        """Remember a post; False, and nothing changed, when this (repository, kind, github_id) is known."""
        row: Row = {
            "repository": post.repository,
            "kind": post.kind,
            "github_id": post.github_id,
            "number": post.number,
            "watched": post.watched,
            "created_at": post.created_at,
            "body": dump(post),
        }
        with self.database.writing() as connection:
            return insert_new(connection, posts, row)

    def find(self, repository: str, kind: PostKind, github_id: int) -> Post | None:
        """The post with this id on GitHub."""
        return next(iter(self._where(_is(repository, kind, github_id))), None)

    def on(self, repository: str, number: int) -> list[Post]:
        """All posts on one issue or pull request, oldest first."""
        return self._where(posts.c.repository == repository, posts.c.number == number)

    def watched(self, repository: str) -> list[Post]:
        """The posts from which something may still be learned, oldest first."""
        return self._where(posts.c.repository == repository, posts.c.watched)

    def repositories_watched(self) -> list[str]:
        """Full names of the repositories with a watched post."""
        query = select(posts.c.repository).where(posts.c.watched).distinct().order_by(posts.c.repository)
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    def unwatch(self, repository: str, kind: PostKind, github_id: int) -> bool:
        """Stop watching a post; False when it was not watched."""
        query = update(posts).where(_is(repository, kind, github_id), posts.c.watched).values(watched=False)
        with self.database.writing() as connection:
            return changed(connection, query) == 1

    def add_sightings(self, new: Iterable[Sighting]) -> int:
        """Remember sightings; one of a known (repository, number, decision) is left as it is. Returns how many were new."""
        with self.database.writing() as connection:
            in_lock_order = sorted(new, key=lambda one: (one.repository, one.number, one.decision_id))
            return sum(insert_new(connection, sightings, _sighting_row(one)) for one in in_lock_order)

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
        """The sightings of these decisions, by decision id."""
        found: dict[str, Sighting] = {}
        for ids in in_batches(decision_ids):
            found |= {each.decision_id: each for each in self._sightings(sightings.c.decision_id.in_(ids))}
        return found

    def _where(self, *conditions: ColumnElement[bool]) -> list[Post]:
        query = select(posts.c.body, posts.c.watched).where(*conditions)
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(posts.c.created_at, posts.c.github_id)).all()
        return [replace(load(Post, row.body), watched=row.watched) for row in rows]

    def _sightings(self, *conditions: ColumnElement[bool]) -> list[Sighting]:
        query = select(sightings.c.body).where(*conditions)
        with self.database.reading() as connection:
            bodies = connection.execute(query.order_by(sightings.c.created_at, sightings.c.decision_id)).scalars()
            return [load(Sighting, body) for body in bodies]


def _is(repository: str, kind: PostKind, github_id: int) -> ColumnElement[bool]:
    return (posts.c.repository == repository) & (posts.c.kind == kind) & (posts.c.github_id == github_id)


def _sighting_row(sighting: Sighting) -> Row:
    return {
        "repository": sighting.repository,
        "number": sighting.number,
        "decision_id": sighting.decision_id,
        "fingerprint": sighting.finding.fingerprint,
        "created_at": sighting.created_at,
        "body": dump(sighting),
    }
