"""Tasks with their attempts, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, func, select, update

from memory.errors import StoreError
from memory.model import Attempt, Task, TaskKind
from memory.store.database import Database, Row, changed, dump, insert_new, load
from memory.store.tables import attempts, tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """A task in its present state. `status` is empty until it ends; `summary` is the JSON that it ended with."""

    task: Task
    status: str
    summary: str


@dataclass(frozen=True, slots=True)
class Tasks:
    """A task's attempts are stored one by one, as they are made."""

    database: Database

    def add(self, task: Task) -> bool:
        """Store a task and the attempts it comes with; False, and nothing changed, when its id is known."""
        row: Row = {
            "id": task.id,
            "kind": task.kind,
            "repository": task.repository,
            "created_at": task.created_at,
            "status": "",
            "summary": "",
            "body": dump(replace(task, attempts=())),
        }
        with self.database.writing() as connection:
            new = insert_new(connection, tasks, row)
            if new:
                for attempt in task.attempts:
                    _append(connection, task.id, attempt)
            return new

    def add_attempt(self, task_id: str, attempt: Attempt) -> bool:
        """Store a task's next attempt; False when the attempt of its decision is known. Raises StoreError for no task."""
        with self.database.writing() as connection:
            return _append(connection, task_id, attempt)

    def finish(self, task_id: str, status: str, summary_json: str) -> None:
        """The task has ended; a later call corrects an earlier one. Raises StoreError when there is no such task."""
        with self.database.writing() as connection:
            ended = update(tasks).where(tasks.c.id == task_id).values(status=status, summary=summary_json)
            if changed(connection, ended) == 0:
                raise _no_task(task_id)

    def get(self, task_id: str) -> StoredTask | None:
        """The task with this id, its attempts in the order they were made."""
        return next(iter(self._where(tasks.c.id == task_id)), None)

    def by_repository(self, repository: str) -> list[StoredTask]:
        """A repository's tasks, oldest first."""
        return self._where(tasks.c.repository == repository)

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
                task=replace(load(Task, row.body), attempts=tuple(made.get(row.id, ()))),
                status=row.status,
                summary=row.summary,
            )
            for row in rows
        ]


def _attempts(connection: Connection, condition: ColumnElement[bool]) -> dict[str, list[Attempt]]:
    query = select(attempts.c.task_id, attempts.c.body).join(tasks).where(condition)
    made: dict[str, list[Attempt]] = {}
    for task_id, body in connection.execute(query.order_by(attempts.c.task_id, attempts.c.position)):
        made.setdefault(task_id, []).append(load(Attempt, body))
    return made


def _append(connection: Connection, task_id: str, attempt: Attempt) -> bool:
    # Locking the task keeps two attempts from getting the same position.
    if connection.execute(select(tasks.c.id).where(tasks.c.id == task_id).with_for_update()).first() is None:
        raise _no_task(task_id)
    count = select(func.count()).select_from(attempts).where(attempts.c.task_id == task_id)
    row: Row = {
        "task_id": task_id,
        "position": connection.execute(count).scalar_one(),
        "decision_id": attempt.decision_id,
        "body": dump(attempt),
    }
    return insert_new(connection, attempts, row)


def _no_task(task_id: str) -> StoreError:
    return StoreError(f"no task {task_id}; add the task first")
