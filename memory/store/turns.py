"""Whose turn it is: chooses the job that a worker leases next, at a cost that does not grow with the number of jobs.

Priorities go first; of every few jobs one is of the next class, so that none waits forever. Within a class the installations
take turns, within an installation its repositories, within a repository the accounts. Of one account the job that has waited
longest is next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from zlib import crc32

from sqlalchemy import BigInteger, Connection, Result, Row, TextClause, bindparam, text
from sqlalchemy.types import TypeEngine

from memory.model.jobs import Claimer, NewJob, Priority
from memory.store.database import UtcDateTime

ONE_IN = 4
"""One in this many jobs that a process takes is of the class whose turn it is, whatever waits before it."""

_INSTALLATIONS = 1 << 48
"""A lane is a priority and an installation, in one number."""
_ACCOUNTS = 1 << 31
"""A share is a repository and an account, in one number, by their checksums. Those that clash share their turns."""
_MAX_KEPT = 100_000

INDEX = "ix_jobs_lane_share_run_after"
"""The index of the jobs that are ready."""


def lane(priority: Priority, installation_id: int | None) -> int:
    """Where jobs of a priority and an installation wait."""
    return priority * _INSTALLATIONS + (installation_id or 0) % _INSTALLATIONS


def place(job: NewJob) -> dict[str, int]:
    """The columns by which a job is found when its turn comes."""
    repository, account = (crc32(str(each or "").encode()) // 2 for each in (job.repository_id, job.actor_id))
    return {"lane": lane(job.priority, job.installation_id), "share": repository * _ACCOUNTS + account}


# ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────
# As text, for they are many and small: composed again for each claim they took ten times as long as the database.
# With LIMIT in place of EXISTS: PostgreSQL made joins of that, and read all jobs of a flood that it had no statistics of.

_PIECES = {
    "free": """job.state = 'ready' AND job.run_after <= :now AND (
        SELECT 1 FROM jobs AS other WHERE other.conversation = job.conversation AND other.state = 'leased'
        AND other.lease_until > :now LIMIT 1) IS NULL""",
    "held": "(SELECT 1 FROM holds WHERE installation_id = at % :installations AND until > :now) IS NOT NULL",
    "end": "CASE WHEN phase < 2 THEN CAST(:high AS BIGINT) ELSE CAST(:after AS BIGINT) END",
}

_LEASED = """SELECT id, at, conversation, worker, lease_until <= :now AS expired, {held} AS held
    FROM (SELECT id, lane AS at, conversation, worker, lease_until FROM jobs WHERE state = 'leased') AS leased"""

_STEPS = """WITH RECURSIVE steps(at, phase) AS (
        SELECT CAST(:after AS BIGINT), 0
    UNION ALL
        SELECT coalesce({following}, :low - 1),
            CASE WHEN phase = 0 THEN 1 ELSE phase END + CASE WHEN {following} IS NULL THEN 1 ELSE 0 END
        FROM steps WHERE phase < 3)
    SELECT at FROM steps WHERE phase IN (1, 2) AND {wanted} LIMIT 1"""
"""The next value that is wanted, after one (phase 1) and then from `low` on (phase 2).

It steps through an index from one value to the next, and never through the rows of one.
"""

_NEXT_LANE = _STEPS.replace(
    "{following}", "(SELECT min(lane) FROM jobs {index} WHERE state = 'ready' AND lane > at AND lane <= {end})"
).replace(
    "{wanted}",
    "at NOT IN :full AND NOT {held} AND "
    "(SELECT 1 FROM jobs AS job {index} WHERE lane = at AND {free} LIMIT 1) IS NOT NULL",
)

_NEXT_SHARE = _STEPS.replace(
    "{following}",
    "(SELECT min(share) FROM jobs {index} WHERE state = 'ready' AND lane = :lane AND share > at AND share <= {end})",
).replace(
    "{wanted}",
    "(SELECT 1 FROM jobs AS job {index} WHERE lane = :lane AND share = at AND {free} LIMIT 1) IS NOT NULL",
)

_OLDEST = """SELECT id FROM jobs AS job {index} WHERE lane = :lane AND share = :share AND {free}
    ORDER BY run_after LIMIT 1"""


@cache
def _statement(query: str, dialect: str) -> TextClause:
    """SQLite takes the index of states where it may choose, and with it every job that waits."""
    whole = query.format(index=f"INDEXED BY {INDEX}" if dialect == "sqlite" else "", **_PIECES)
    names = set(re.findall(r":(\w+)", whole))
    types: dict[str, TypeEngine[Any]] = {"now": UtcDateTime()}
    typed = [bindparam(each, type_=types.get(each, BigInteger()), expanding=each == "full") for each in names]
    return text(whole).bindparams(*typed)


# ── Turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Turns:
    """Who was served last, by this process. Each process gives turns by itself: it writes nothing about them."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, ...], int] = {}
        self._taken = 0

    def next_job(self, connection: Connection, claimer: Claimer, now: datetime) -> str | None:
        """The id of the job whose turn it is; None where there is none that this claimer may take."""
        work = _RunningJobs(connection, claimer, now)
        for priority in (Priority.QUICK,) if work.allows_no_long_one else self._order():
            if (found := self._of_class(priority, work)) is not None:
                self._taken += 1
                return found
        return None

    def _order(self) -> Sequence[Priority]:
        rounds, rest = divmod(self._taken, ONE_IN)
        first = [tuple(Priority)[rounds % len(Priority)]] if rest == ONE_IN - 1 else []
        return [*first, *Priority]

    def _of_class(self, priority: Priority, work: _RunningJobs) -> str | None:
        low, high = lane(priority, 0), lane(priority, 0) + _INSTALLATIONS - 1
        last = self._last.get((priority,), low - 1)
        abandoned = {row.at: row.id for row in work.abandoned if low <= row.at <= high}
        ready: int | None = work.first(_NEXT_LANE, low=low, high=high, after=last, full=work.full)
        lanes = [*abandoned, *([] if ready is None else [ready])]
        if not lanes:
            return None
        turn = min(lanes, key=lambda each: (each <= last, each))
        self._remember((priority,), turn)
        return abandoned.get(turn) or self._in_lane(turn, work)

    def _in_lane(self, turn: int, work: _RunningJobs) -> str | None:
        """That of the next repository, and there of the next account."""
        last = self._last.get((turn, -1), -1)
        share: int | None = work.first(_NEXT_SHARE, lane=turn, low=0, high=_ACCOUNTS**2, after=last | (_ACCOUNTS - 1))
        if share is None:
            return None
        first = share - share % _ACCOUNTS
        if (before := self._last.get((turn, first))) is not None:
            own = work.first(_NEXT_SHARE, lane=turn, low=first, high=first + _ACCOUNTS - 1, after=before)
            share = share if own is None else own
        self._remember((turn, -1), share)
        self._remember((turn, first), share)
        oldest: str | None = work.first(_OLDEST, lane=turn, share=share)
        return oldest

    def _remember(self, key: tuple[int, ...], turn: int) -> None:
        if len(self._last) >= _MAX_KEPT:
            self._last.clear()
        self._last[key] = turn


class _RunningJobs:
    """The leased jobs, as many as processes run, and the next one as they leave it."""

    def __init__(self, connection: Connection, claimer: Claimer, now: datetime) -> None:
        self._connection, self._now = connection, now
        rows = self._ask(_LEASED).all()
        running = [row for row in rows if not row.expired]
        conversations = {row.conversation for row in running if row.conversation is not None}
        self.full = _full(running, claimer.most)
        self.abandoned = [
            row
            for row in rows
            if row.expired and not row.held and row.conversation not in conversations and row.at not in self.full
        ]
        siblings = sum(_is_long(row.at) and _worker(row.worker) == _worker(claimer.name) for row in running)
        self.allows_no_long_one = claimer.processes > 1 and siblings >= claimer.processes - 1

    def first(self, query: str, **values: int | list[int]) -> Any:  # noqa: ANN401  a number or an id, by the query
        """What a query finds first: the next lane, the next share of one, or its oldest job; None without any."""
        return self._ask(query, **values).scalar()

    def _ask(self, query: str, **values: object) -> Result[Any]:
        statement = _statement(query, self._connection.dialect.name)
        return self._connection.execute(statement, {"now": self._now, "installations": _INSTALLATIONS, **values})


def _full(running: Sequence[Row[Any]], most: int) -> list[int]:
    """The lanes of the long jobs of installations of which as many run as may. An IN needs one at least."""
    long = [row.at % _INSTALLATIONS for row in running if _is_long(row.at)]
    full = {each for each in long if each and 0 < most <= long.count(each)}
    return [-1, *(lane(each, installation) for installation in full for each in Priority if each > Priority.QUICK)]


def _is_long(of: int) -> bool:
    return of >= lane(Priority.QUESTION, 0)


def _worker(process: str) -> str:
    return process.rpartition(":")[0]
