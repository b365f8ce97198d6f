"""What was paid for a model, and for what people accepted of its tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.addressed import ADDRESSED
from memory.model import Action, Logged, SignalKind, TaskKind
from memory.store import Spent, TaskSpent

LIKED = frozenset({SignalKind.ACCEPTED, SignalKind.REACTION_UP})
ACCEPTED_FINDING = ADDRESSED | LIKED
ACCEPTED_FIX = frozenset({SignalKind.FIX_MERGED, SignalKind.SUGGESTION_APPLIED}) | LIKED


@dataclass(frozen=True, slots=True, kw_only=True)
class PerAccepted:
    """What one kind of task took, all told, against what was accepted of those tasks; None each where nothing was yet.

    `micros` are millionths of a US dollar, 0 where no price is set.
    """

    what: str
    tasks: int
    accepted: int
    tokens: int
    micros: int
    tokens_each: float | None
    micros_each: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What calls to a model took, by repository, purpose and tier, and by what was accepted."""

    calls: tuple[Spent, ...]
    per_accepted: tuple[PerAccepted, ...]


def costs(
    calls: Sequence[Spent], by_task: Sequence[TaskSpent], repaired: Sequence[Logged], reviewed: Sequence[Logged]
) -> Costs | None:
    """The costs; None where no model was ever asked. A fix counts once, however many decisions led to it."""
    if not calls:
        return None
    asked = {each.task_id for each in by_task}
    findings = [each for each in reviewed if each.decision.chosen != Action.HOLD and _heard(each, ACCEPTED_FINDING)]
    fixes = {each.decision.task_id for each in repaired if _heard(each, ACCEPTED_FIX)}
    return Costs(
        calls=tuple(calls),
        per_accepted=(
            _per("finding", TaskKind.REVIEW, by_task, sum(each.decision.task_id in asked for each in findings)),
            _per("fix", TaskKind.REPAIR, by_task, len(fixes & asked)),
        ),
    )


def _heard(logged: Logged, kinds: frozenset[SignalKind]) -> bool:
    return any(signal.kind in kinds for signal in logged.signals)


def _per(what: str, kind: TaskKind, by_task: Sequence[TaskSpent], accepted: int) -> PerAccepted:
    mine = [each for each in by_task if each.kind == kind]
    tokens, micros = sum(each.tokens for each in mine), sum(each.micros for each in mine)
    return PerAccepted(
        what=what,
        tasks=len(mine),
        accepted=accepted,
        tokens=tokens,
        micros=micros,
        tokens_each=tokens / accepted if accepted else None,
        micros_each=micros / accepted if accepted else None,
    )
