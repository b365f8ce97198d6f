"""Calls to a model, with budgets that hold: the most that a call may cost is reserved before it is made.

A call's row holds what was reserved until its cost replaces it, so that budgets sum one column. The reservation of a process that died stays open, as its call may well have
been charged: it goes with its run, or with its day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import BigInteger, ColumnElement, Connection, case, cast, func, select, update

from memory.measures import MODEL_CALLS, MODEL_DOLLARS, MODEL_TOKENS
from memory.store.database import Database, queue_for, row_of
from memory.store.tables import model_calls, tasks

_LOCK_ID = 0x43414C4C  # any constant that nothing else in the database uses
_OPEN = model_calls.c.state == "open"
_NOTHING: Mapping[str, object] = {"cached": 0, "completion": 0, "estimated": False}


class CallState(StrEnum):
    """A call that was not charged has failed; one that may have been is settled, if need be by its reservation."""

    OPEN = "open"
    SETTLED = "settled"
    FAILED = "failed"


class BudgetScope(StrEnum):
    """What a budget is for: one run, a day (UTC) over all, a day of one repository."""

    RUN = "run"
    DAY = "day"
    REPOSITORY_DAY = "repository_day"


class BudgetUnit(StrEnum):
    """What a budget counts: tokens, or millionths of a US dollar."""

    TOKENS = "tokens"
    MICROS = "micros"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimit:
    scope: BudgetScope
    unit: BudgetUnit
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The most that a call may cost, before it is made."""

    id: str
    task_id: str
    repository: str
    purpose: str
    tier: str
    model: str
    tokens: int
    micros: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceededBudget:
    """Why a reservation was refused: `taken` is spent or reserved already, `wanted` would have been added."""

    limit: BudgetLimit
    taken: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurposeCost:
    """The calls of one purpose for one repository; those still `open` are in no sum. `estimated` counts calls as well."""

    repository: str
    purpose: str
    tier: str
    calls: int
    open: int
    failed: int
    prompt: int
    cached: int
    completion: int
    micros: int
    estimated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    """The cost of one task; `kind` is empty for one that was never recorded."""

    task_id: str
    kind: str
    tokens: int
    micros: int


@dataclass(frozen=True, slots=True)
class Calls:
    """The accounts."""

    database: Database

    def reserve(self, wanted: Reservation, limits: Sequence[BudgetLimit]) -> ExceededBudget | None:
        """Reserve the most that a call may cost, and None; or the first budget that this would exceed, and nothing is reserved."""
        with self.database.writing() as connection:
            queue_for(connection, _LOCK_ID)
            exceeded = _exceeded(connection, wanted, limits)
            if exceeded is None:
                row = row_of(model_calls, wanted, state=CallState.OPEN, prompt=wanted.tokens, **_NOTHING)
                connection.execute(model_calls.insert().values(row))
        return exceeded

    def settle(
        self, call_id: str, *, prompt: int, cached: int, completion: int, micros: int, estimated: bool = False
    ) -> bool:
        """Replace a call's reservation by its cost; False, and nothing changed, when it has ended already."""
        cost = {"prompt": prompt, "cached": cached, "completion": completion, "micros": micros, "estimated": estimated}
        return self._end(call_id, {"state": CallState.SETTLED, **cost})

    def settle_as_reserved(self, call_id: str) -> bool:
        """End a call of unknown cost, which may have been charged."""
        return self._end(call_id, {"state": CallState.SETTLED, "estimated": True})

    def fail(self, call_id: str) -> bool:
        """End a call that was surely not charged."""
        return self._end(call_id, {"state": CallState.FAILED, "prompt": 0, "micros": 0})

    def _end(self, call_id: str, values: dict[str, object]) -> bool:
        measured = (model_calls.c[name] for name in ("tier", "state", "prompt", "cached", "completion", "micros"))
        ending = update(model_calls).where(model_calls.c.id == call_id, _OPEN).values(values).returning(*measured)
        with self.database.writing() as connection:
            ended = connection.execute(ending).one_or_none()
        if ended is None:
            return False
        MODEL_CALLS.add(tier=ended.tier, state=ended.state)
        MODEL_DOLLARS.add(ended.micros / 1_000_000, tier=ended.tier)
        for kind in ("prompt", "cached", "completion"):
            MODEL_TOKENS.add(ended._mapping[kind], tier=ended.tier, kind=kind)
        return True

    def summary(self) -> list[PurposeCost]:
        """All calls, by repository, purpose and tier."""
        by = [model_calls.c[name] for name in ("repository", "purpose", "tier")]
        sums = [_spent(model_calls.c[name]).label(name) for name in ("prompt", "cached", "completion", "micros")]
        counts = [
            func.count().label("calls"),
            _count(_OPEN).label("open"),
            _count(model_calls.c.state == CallState.FAILED).label("failed"),
            _count(model_calls.c.estimated).label("estimated"),
        ]
        rows = self.database.rows(select(*by, *counts, *sums).group_by(*by).order_by(*by))
        return [PurposeCost(**row._mapping) for row in rows]

    def by_task(self) -> list[TaskCost]:
        """The cost of every task that asked a model, without reservations of calls still open."""
        tokens = _spent(model_calls.c.prompt + model_calls.c.completion).label("tokens")
        micros = _spent(model_calls.c.micros).label("micros")
        kind = func.coalesce(tasks.c.kind, "").label("kind")
        joined = model_calls.outerjoin(tasks, tasks.c.id == model_calls.c.task_id)
        query = select(model_calls.c.task_id, kind, tokens, micros).select_from(joined)
        rows = self.database.rows(query.group_by(model_calls.c.task_id, tasks.c.kind))
        return [TaskCost(**row._mapping) for row in rows]


def _exceeded(connection: Connection, wanted: Reservation, limits: Sequence[BudgetLimit]) -> ExceededBudget | None:
    """The first limit that spent, reserved and wanted exceed together, of its run, its day, or its repository's day."""
    if not limits:
        return None
    midnight = wanted.created_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    table = model_calls.c
    counted = {BudgetUnit.TOKENS: table.prompt + table.completion, BudgetUnit.MICROS: table.micros}
    here = table.repository == wanted.repository
    of_run = select(*map(_sum, counted.values())).where(table.task_id == wanted.task_id)
    of_day = select(
        *map(_sum, counted.values()),
        *(_sum(case((here, each), else_=0)) for each in counted.values()),
    ).where(table.created_at >= midnight)
    run, day = (connection.execute(query).one() for query in (of_run, of_day))
    places = [
        (scope, unit) for scope in (BudgetScope.RUN, BudgetScope.DAY, BudgetScope.REPOSITORY_DAY) for unit in counted
    ]
    taken = dict(zip(places, (*run, *day), strict=True))
    asked = {BudgetUnit.TOKENS: wanted.tokens, BudgetUnit.MICROS: wanted.micros}
    for limit in limits:
        already, more = taken[limit.scope, limit.unit], asked[limit.unit]
        if already + more > limit.most:
            return ExceededBudget(limit=limit, taken=already, wanted=more)
    return None


def _spent(column: ColumnElement[int]) -> ColumnElement[int]:
    """The sum over the calls that have ended."""
    return _sum(case((_OPEN, 0), else_=column))


def _sum(column: ColumnElement[int]) -> ColumnElement[int]:
    """A sum that is a whole number, 0 over nothing: PostgreSQL makes a decimal of a sum of large integers."""
    return cast(func.coalesce(func.sum(column), 0), BigInteger)


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return _sum(case((condition, 1), else_=0))
