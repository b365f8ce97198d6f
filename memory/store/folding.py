"""The ledger, summed up: entries that say the same of the same are counted by the database, not read one by one.

A rebuild costs as much as there are different things in the ledger, and no JSON is decoded for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, case, func, select

from memory.model import FeedbackTotal, OutcomeTotal, SignalKind, State, TaskKind
from memory.store.tables import decisions, outcomes, signals, withdrawals

_CHOICE = tuple(decisions.c[name] for name in ("kind", "repository", "label", "family", "place", "chosen"))
"""All that decides which cells an entry adds to."""

_AT_ONCE = 1000
_KINDS = {str(kind): kind for kind in SignalKind}


def judgements(connection: Connection) -> Iterator[OutcomeTotal]:
    """What the tests said, less what was withdrawn."""
    total = (func.count().label("entries"), func.sum(outcomes.c.target_millionths).label("target"))
    standing = ~select(withdrawals).where(withdrawals.c.decision_id == outcomes.c.decision_id).exists()
    query = select(*_CHOICE, *total).join(outcomes).where(standing).group_by(*_CHOICE)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for row in rows:
            yield OutcomeTotal(
                state=_state(row.kind, row.repository, row.label, row.family, row.place),
                chosen=row.chosen,
                count=row.entries,
                target=int(row.target),
            )


def verdicts(connection: Connection) -> Iterator[FeedbackTotal]:
    """What each account said, less what was taken back."""
    alike = (*_CHOICE, signals.c.actor, signals.c.kind.label("said"), signals.c.weight_millionths)
    count = func.sum(case((signals.c.retracts == "", 1), else_=-1))
    query = select(*alike, count).join(signals).where(signals.c.weight_millionths > 0).group_by(*alike)
    found: dict[tuple[str, str, str, str, str, str, int], dict[tuple[SignalKind, int], int]] = {}
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for *about, said, weight, times in rows:
            found.setdefault(tuple(about), {})[_KINDS[said], weight] = int(times)
    for (*state, chosen, teacher), said in found.items():
        yield FeedbackTotal(state=_state(*state), chosen=chosen, teacher=teacher, said=said)


def _state(kind: str, repository: str, label: str, family: str, place: str) -> State:
    return State(kind=TaskKind(kind), repository=repository, label=label, family=family, place=place)
