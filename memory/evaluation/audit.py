"""The audit: where learning may be wrong or manipulated. Pure.

An item is a reason to look, not a proof: two who review together also agree.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import combinations
from typing import TypeVar

import numpy as np

from memory.evaluation.findings import LOUD
from memory.intervals import more_often, wilson
from memory.model import Actor, Decision, LoggedDecision
from memory.rewards import proven, verdict

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

FALSE_ALARMS = 0.05
"""For each check that tests: the chance that it names anything where there is nothing to name (Bonferroni's bound)."""

STILL_RUNNING = timedelta(hours=1)
"""An older decision without an outcome was never concluded."""

MANY_LOST = 0.1
MIN_COMMON, MIN_VERDICTS = 8, 10


class AuditCheck(StrEnum):
    PROVEN_BUT_REJECTED = "proven_but_rejected"
    TOOL_ERRORS = "tool_errors"
    TOGETHER = "together"
    ONE_SIDED = "one_sided"


class Alarm(StrEnum):
    NOTICE = "notice"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditItem:
    """One thing to look at: what, where (ids of decisions), and what to do about it."""

    check: AuditCheck
    alarm: Alarm
    about: str
    what: str
    evidence: tuple[str, ...]
    advice: str


def audit(
    repairs: Sequence[LoggedDecision],
    reviews: Sequence[LoggedDecision],
    now: datetime,
    name_of: Callable[[str], str] = str,
) -> tuple[AuditItem, ...]:
    """Everything there is to look at, what matters most first. `name_of` gives what people call a repository."""
    everything = [*repairs, *reviews]
    teachers = (*together(everything), *one_sided(everything, name_of))
    found = [*disagreements(repairs), *tool_errors(repairs, now), *teachers]
    return tuple(sorted(found, key=lambda item: item.alarm is not Alarm.WARNING))


def _grouped(found: Iterable[tuple[Key, Value]]) -> Mapping[Key, list[Value]]:
    """The values of each key, in their order."""
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in found:
        groups[key].append(value)
    return groups


# ── Strategies that pass the tests and that maintainers reject ─────────────────────────────────────────────────────


def disagreements(log: Sequence[LoggedDecision]) -> Iterator[AuditItem]:
    """Proven and rejected fixes: a warning for each strategy with a majority of them, one notice for all others."""
    few: list[str] = []
    judged_in_all = 0
    proven_ones = (entry for entry in log if entry.outcome is not None and proven(entry.outcome))
    given = ((each.decision, verdict(each.signals)) for each in proven_ones)
    verdicts_by_strategy = _grouped((made.chosen, (made.id, value)) for made, value in given if value is not None)
    for strategy, judged in verdicts_by_strategy.items():
        rejected = [name for name, value in judged if value < 0.5]
        if wilson(len(rejected), len(judged))[0] > 0.5:
            yield _rejected(strategy, rejected, len(judged), Alarm.WARNING)
        else:
            few += rejected
            judged_in_all += len(judged)
    if few:
        yield _rejected("several strategies", few, judged_in_all, Alarm.NOTICE)


def _rejected(about: str, rejected: Sequence[str], judged: int, alarm: Alarm) -> AuditItem:
    return AuditItem(
        check=AuditCheck.PROVEN_BUT_REJECTED,
        alarm=alarm,
        about=about,
        what=f"tests passed and maintainers rejected {len(rejected)} of {judged} judged fixes",
        evidence=tuple(rejected),
        advice="read the rejected fixes: are the tests too weak there, or does the edit fit tests only?",
    )


def tool_errors(log: Sequence[LoggedDecision], now: datetime) -> Iterator[AuditItem]:
    """Repair decisions without a result: the worker died, or the environment kept them from running."""
    lost = [e.decision.id for e in log if e.outcome is None and now - e.decision.created_at > STILL_RUNNING]
    if lost:
        yield AuditItem(
            check=AuditCheck.TOOL_ERRORS,
            alarm=Alarm.WARNING if len(lost) > MANY_LOST * len(log) else Alarm.NOTICE,
            about="repairs",
            what=f"{len(lost)} of {len(log)} decisions were never concluded",
            evidence=tuple(lost),
            advice="look for their tasks in the workers' log; nothing was learned from them",
        )


# ── Teachers whose verdicts do not look like one person's honest opinion each ──────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherVerdict:
    actor: Actor
    decision: Decision
    liked: bool


def verdicts(log: Sequence[LoggedDecision]) -> list[TeacherVerdict]:
    """One entry for each decision and teacher whose feedback counts."""
    return [
        TeacherVerdict(actor=given[-1].actor, decision=entry.decision, liked=value >= 0.5)
        for entry in log
        for given in _grouped((signal.actor.id, signal) for signal in entry.signals).values()
        if (value := verdict(given)) is not None
    ]


def together(log: Sequence[LoggedDecision]) -> Iterator[AuditItem]:
    """Pairs with equal verdicts on the same decisions, far more often than by chance.

    Within each task the decisions that either judged are as good as drawn from all that could be; the number in common
    over all tasks is then a sum of hypergeometric ones (the exact test of Mantel and Haenszel 1959), one-sided, at
    `FALSE_ALARMS` over the number of pairs.
    """
    by_actor = {
        actor: {each.decision.id: each for each in given}
        for actor, given in _grouped((v.actor.id, v) for v in verdicts(log)).items()
    }
    sizes = Counter(entry.decision.task_id for entry in log if _open(entry))
    couples = list(combinations(sorted(by_actor), 2))
    for one, other in couples:
        ours, theirs = by_actor[one], by_actor[other]
        common = sorted(ours.keys() & theirs.keys())
        if len(common) < MIN_COMMON or any(ours[d].liked != theirs[d].liked for d in common):
            continue
        chance = _overlap(list(ours.values()), list(theirs.values()), sizes, len(common))
        if chance < FALSE_ALARMS / len(couples):
            yield AuditItem(
                check=AuditCheck.TOGETHER,
                alarm=Alarm.WARNING,
                about=f"{ours[common[0]].actor.login} and {theirs[common[0]].actor.login}",
                what=f"judged the same {len(common)} decisions, and each of them alike; p {chance:.1g}",
                evidence=tuple(common),
                advice="ask whether these are two people; `apprentice forget --teacher` undoes the feedback of one of them",
            )


def _open(entry: LoggedDecision) -> bool:
    """Whether users could judge it: an inline comment, a proven fix, or anything that has feedback."""
    shown = entry.decision.chosen in LOUD or (entry.outcome is not None and proven(entry.outcome))
    return shown or bool(entry.signals)


def _overlap(
    ours: Sequence[TeacherVerdict], theirs: Sequence[TeacherVerdict], sizes: Mapping[str, int], common: int
) -> float:
    """The chance of so many in common, or more, given how many each judged in each task."""
    counts = [Counter(v.decision.task_id for v in given) for given in (ours, theirs)]
    chances = np.ones(1)
    for task in counts[0].keys() & counts[1].keys():
        chances = np.convolve(chances, _overlap_chances(counts[0][task], counts[1][task], sizes[task]))
    return float(min(1.0, chances[common:].sum()))


@cache
def _overlap_chances(drawn: int, marked: int, total: int) -> tuple[float, ...]:
    """The chances of 0, 1, … marked ones among `drawn` of `total`."""
    from scipy.stats import hypergeom  # slow to import, and seldom needed

    return tuple(hypergeom.pmf(range(min(drawn, marked) + 1), total, marked, drawn).tolist())


def one_sided(log: Sequence[LoggedDecision], name_of: Callable[[str], str] = str) -> Iterator[AuditItem]:
    """Teachers all of whose verdicts in a repository are alike, where the others' are not: Fisher's exact test, at
    `FALSE_ALARMS` over twice the number of pairs of a repository and a teacher.
    """
    places = _grouped(((v.decision.state.repository, v.actor.id), v) for v in verdicts(log))
    for (repository, actor), given in places.items():
        others = [v for (where, who), each in places.items() if where == repository and who != actor for v in each]
        liked = sum(v.liked for v in given)
        if len(given) < MIN_VERDICTS or 0 < liked < len(given):
            continue
        wanted = liked > 0
        alike = sum(v.liked is wanted for v in others)
        chance = more_often(len(given), len(given), alike, len(others))
        if chance < FALSE_ALARMS / (2 * len(places)):
            word = "accepted" if wanted else "rejected"
            yield AuditItem(
                check=AuditCheck.ONE_SIDED,
                alarm=Alarm.WARNING,
                about=given[-1].actor.login,
                what=f"{word} all {len(given)} in {name_of(repository)}; of the others' {len(others)} verdicts {alike} were; p {chance:.1g}",
                evidence=tuple(v.decision.id for v in given),
                advice="read a few of these; `apprentice forget --teacher` undoes them",
            )
