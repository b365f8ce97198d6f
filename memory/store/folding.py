"""The ledger, summed up: entries that say the same of the same are counted by the database, not read one by one.

A rebuild costs as much as there are different things in the ledger, and no JSON is decoded for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, case, func, select

from memory.model import Judgement, SignalKind, State, TaskKind, Verdict
from memory.store.tables import decisions, outcomes, signals, withdrawals

_CHOICE = tuple(decisions.c[name] for name in ("kind", "repository", "label", "family", "chosen"))
"""All that decides which cells an entry adds to."""

_AT_ONCE = 1000


def judgements(connection: Connection) -> Iterator[Judgement]:
    """What the tests said, less what was withdrawn."""
    total = (func.count().label("entries"), func.sum(outcomes.c.target_millionths).label("target"))
    standing = ~select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
    query = select(*_CHOICE, *total).join(outcomes).where(standing).group_by(*_CHOICE)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for row in rows:
            yield Judgement(
                state=_state(row.kind, row.repository, row.label, row.family),
                chosen=row.chosen,
                count=row.entries,
                target=int(row.target),
            )


def verdicts(connection: Connection) -> Iterator[Verdict]:
    """What people said; retractions, which count negative, are given apart or together with what they take back."""
    alike = (signals.c.kind.label("said"), signals.c.actor, signals.c.weight_millionths)
    count = func.sum(case((signals.c.retracts == "", 1), else_=-1)).label("entries")
    query = select(*_CHOICE, *alike, count).join(signals).where(signals.c.weight_millionths > 0)
    with connection.execute(query.group_by(*_CHOICE, *alike).execution_options(yield_per=_AT_ONCE)) as rows:
        for row in rows:
            yield Verdict(
                state=_state(row.kind, row.repository, row.label, row.family),
                chosen=row.chosen,
                kind=SignalKind(row.said),
                teacher=row.actor,
                weight=row.weight_millionths,
                count=int(row.entries),
            )


def _state(kind: str, repository: str, label: str, family: str) -> State:
    return State(kind=TaskKind(kind), repository=repository, label=label, family=family)
