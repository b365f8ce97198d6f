"""Undo what was learned, exactly: the ledger keeps every entry, and retractions are appended."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from memory.model import Actor, AttemptOutcome, Contribution, Decision, Outcome, Reflection, Signal
from memory.rewards import contributions_of_outcome, contributions_of_signal
from memory.store import Store

OPERATOR = Actor(id=0, login="operator")
"""The actor of retractions by command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalsToForget:
    """What may be undone, each with the decision that it is about."""

    signals: tuple[tuple[Decision, Signal], ...] = ()
    outcomes: tuple[tuple[Decision, Outcome], ...] = ()

    def counted(self, name_of: Callable[[str], str] = str) -> list[tuple[tuple[str, str, str, float], int]]:
        """Repository, author, kind and weight of what is alike, and how many of it there are."""
        rows: Counter[tuple[str, str, str, float]] = Counter()
        for decision, signal in self.signals:
            rows[name_of(decision.state.repository), signal.actor.login, str(signal.kind), signal.weight] += 1
        for decision, _ in self.outcomes:
            rows[name_of(decision.state.repository), "its tests", "outcome", 1.0] += 1
        return sorted(rows.items())


def feedback_of(store: Store, teacher: int, repository: str = "") -> SignalsToForget:
    """All feedback of an account, in one repository or in all of them."""
    return SignalsToForget(signals=store.ledger.standing(teacher=teacher, repository=repository))


def learned_in(store: Store, repository: str) -> SignalsToForget:
    """All test results and feedback of a repository."""
    return SignalsToForget(
        signals=store.ledger.standing(repository=repository), outcomes=store.ledger.judged(repository=repository)
    )


def learned_from(store: Store, decision_id: str) -> SignalsToForget:
    """The test result of one decision, and the feedback on it."""
    return SignalsToForget(
        signals=store.ledger.standing(decision_id=decision_id), outcomes=store.ledger.judged(decision_id=decision_id)
    )


def forget(store: Store, lessons: SignalsToForget, *, now: datetime, new_id: Callable[[], str]) -> int:
    """Undo these: the table becomes, bit for bit, what it would be without them. Returns how many were still in force.

    The experiences of forgotten outcomes go as well, and with them what they say of templates and skills; so do the reasons
    of forgotten rejections. Either all signals are undone or none, and likewise the outcomes. What is in the ledger comes
    after what follows from it, so that undoing again undoes the rest.
    """
    drop_reasons(store, [given for _, given in lessons.signals])
    retractions = ((decision, retraction(given, new_id(), now, OPERATOR)) for decision, given in lessons.signals)
    undone = ((signal, contributions_of_signal(decision, signal)) for decision, signal in retractions)
    judged = (
        (outcome, _negative(contributions_of_outcome(decision, outcome))) for decision, outcome in lessons.outcomes
    )
    forgotten = store.ledger.append_signals(undone)
    for _, outcome in lessons.outcomes:
        store.experiences.delete(outcome.decision_id)
    return forgotten + store.ledger.withdraw(judged, now)


def drop_reasons(store: Store, signals: Collection[Signal]) -> None:
    """Remove the reasons that came with these signals. A reflection on a rejected repair gets another reason, or goes too."""
    reasons, gone = store.reasons.several([each.id for each in signals], str), {each.id for each in signals}
    for signal in signals:
        if signal.id in reasons:
            left = [each.id for each in store.ledger.live_signals([signal.decision_id]) if each.id not in gone]
            others = store.reasons.several(left, str)
            other = next((others[each] for each in left if each in others), "")
            _change_reason(store, signal.decision_id, reasons[signal.id], other)
            store.reasons.remove(signal.id)


def _change_reason(store: Store, decision_id: str, words: str, other: str) -> None:
    """Put another reason in the place of these words in the reflection on a rejected repair; without one remove it."""
    found = store.reflections.get(decision_id, Reflection)
    if found is None or found.outcome is not AttemptOutcome.PROVEN:  # what failed by itself needs no rejection
        return
    if not other:
        store.reflections.remove(decision_id)
    elif found.nearest is not None and found.nearest.message == words:
        summary = found.summary.removesuffix(words) + other
        changed = replace(found, summary=summary, nearest=replace(found.nearest, message=other))
        store.reflections.put(decision_id, changed, owner=found.repository, now=found.created_at)


def retraction(given: Signal, signal_id: str, now: datetime, by: Actor | None) -> Signal:
    """The retraction of `given`; its giver and weight stay."""
    return replace(given, id=signal_id, created_at=now, retracts=given.id, by=by)


def _negative(contributions: tuple[Contribution, ...]) -> tuple[Contribution, ...]:
    return tuple(replace(part, weight=-part.weight, value=-part.value) for part in contributions)
