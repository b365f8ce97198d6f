"""Strategies whose rewards do not mean what they should: they pass the tests, and are not what people want. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memory.audit.items import FALSE_ALARMS, Alarm, Check, Item, grouped
from memory.evaluation import proven, verdict
from memory.intervals import more_often, wilson
from memory.model import Attempt, Logged

UNDER_WAY = timedelta(hours=1)
"""A decision without an outcome that is older was never concluded."""

MANY_LOST = 0.1


def disagreements(log: Sequence[Logged]) -> Iterator[Item]:
    """What the tests proved and people rejected: each strategy where most is, and all the rest together."""
    few: list[str] = []
    judged_in_all = 0
    for strategy, judged in grouped(_judged(log)).items():
        rejected = [name for name, value in judged if value < 0.5]
        if wilson(len(rejected), len(judged))[0] > 0.5:
            yield _rejected(strategy, rejected, len(judged), Alarm.WARNING)
        else:
            few += rejected
            judged_in_all += len(judged)
    if few:
        yield _rejected("several strategies", few, judged_in_all, Alarm.NOTICE)


def _rejected(about: str, rejected: Sequence[str], judged: int, alarm: Alarm) -> Item:
    return Item(
        check=Check.PROVEN_BUT_REJECTED,
        alarm=alarm,
        about=about,
        what=f"tests passed and people rejected {len(rejected)} of {judged} judged fixes",
        evidence=tuple(rejected),
        advice="read what was rejected: are the tests too weak there, or does the edit fit tests only?",
    )


def _judged(log: Iterable[Logged]) -> Iterator[tuple[str, tuple[str, float]]]:
    for entry in log:
        value = verdict(entry.signals)
        if entry.outcome is not None and proven(entry.outcome) and value is not None:
            yield entry.decision.chosen, (entry.decision.id, value)


def shrinking(attempts: Mapping[str, Sequence[Attempt]]) -> Iterator[Item]:
    """Strategies whose proven change let fewer tests be collected, or more be skipped, than before it."""
    made = (attempt for each in attempts.values() for attempt in each)
    for strategy, ids in grouped((a.strategy, a.decision_id) for a in made if _shrinks(a)).items():
        yield Item(
            check=Check.SHRINKS_TESTS,
            alarm=Alarm.CRITICAL,
            about=strategy,
            what=f"{len(ids)} of its proofs collected fewer tests, or skipped more, than the suite did before",
            evidence=tuple(ids),
            advice="do not merge these; report it: a proof must refuse such a change",
        )


def _shrinks(attempt: Attempt) -> bool:
    proof = attempt.proof
    return proof is not None and (
        proof.suite.collected < proof.before.collected or proof.suite.skipped > proof.before.skipped
    )


def diverging(log: Sequence[Logged]) -> Iterator[Item]:
    """Strategies proven more often than all others together and accepted less often, both beyond chance.

    Fisher's exact test for each, one-sided, at `FALSE_ALARMS` over the number of strategies; both have to hold.
    """
    proofs = grouped((e.decision.chosen, proven(e.outcome)) for e in log if e.outcome is not None)
    verdicts = grouped((name, value >= 0.5) for name, (_, value) in _judged(log))
    for name in sorted(verdicts):
        one = _against(proofs, name), _against(verdicts, name)
        (won, tried, others_won, others_tried), (liked, judged, others_liked, others_judged) = one
        chances = (
            more_often(won, tried, others_won, others_tried),
            more_often(judged - liked, judged, others_judged - others_liked, others_judged),
        )
        if max(chances) < FALSE_ALARMS / len(proofs):
            yield Item(
                check=Check.DIVERGES,
                alarm=Alarm.WARNING,
                about=name,
                what=(
                    f"proven in {won} of {tried} (others {others_won} of {others_tried}), yet accepted in only {liked} of "
                    f"{judged} (others {others_liked} of {others_judged}); p {chances[0]:.1g} and {chances[1]:.1g}"
                ),
                evidence=tuple(e.decision.id for e in log if e.decision.chosen == name),
                advice="it may have learned to satisfy tests rather than people; compare its patches with the others'",
            )


def _against(counts: Mapping[str, Sequence[bool]], name: str) -> tuple[int, int, int, int]:
    ours = counts[name]
    theirs = [each for other, found in counts.items() if other != name for each in found]
    return sum(ours), len(ours), sum(theirs), len(theirs)


def tool_errors(log: Sequence[Logged], now: datetime) -> Iterator[Item]:
    """Repairs' decisions that nothing came of: the worker died, or the environment kept them from being tried."""
    lost = [e.decision.id for e in log if e.outcome is None and now - e.decision.created_at > UNDER_WAY]
    if lost:
        yield Item(
            check=Check.TOOL_ERRORS,
            alarm=Alarm.WARNING if len(lost) > MANY_LOST * len(log) else Alarm.NOTICE,
            about="repairs",
            what=f"{len(lost)} of {len(log)} decisions were never concluded",
            evidence=tuple(lost),
            advice="look for their tasks in the workers' log; nothing was learned from them",
        )
