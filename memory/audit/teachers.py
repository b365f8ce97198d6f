"""Teachers whose verdicts do not look like one person's honest opinion each. Pure.

What is found is a reason to look, not a proof: two who review together also agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

import numpy as np

from memory.audit.items import FALSE_ALARMS, Alarm, Check, Item, grouped
from memory.evaluation import proven, verdict
from memory.intervals import more_often, overlap_chances
from memory.model import Logged, Signal
from memory.rewards import MILLIONTHS, contributions_of_signal
from memory.suppression import LOUD

LEAST_COMMON = 8
LEAST_VERDICTS = 10
FLOOD = 60
HOUR = timedelta(hours=1)
ALONE = 0.9
LEAST_WEIGHT = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one teacher with a say made of one decision."""

    actor: int
    login: str
    decision: str
    task: str
    repository: str
    liked: bool


def verdicts(log: Sequence[Logged]) -> list[Verdict]:
    """One entry for each teacher and decision."""
    found = []
    for entry in log:
        for actor, said in grouped((s.actor.id, s) for s in entry.signals).items():
            value = verdict(said)
            if value is not None:
                found.append(
                    Verdict(
                        actor=actor,
                        login=said[-1].actor.login,
                        decision=entry.decision.id,
                        task=entry.decision.task_id,
                        repository=entry.decision.state.repository,
                        liked=value >= 0.5,
                    )
                )
    return found


def together(log: Sequence[Logged]) -> Iterator[Item]:
    """Pairs who always say the same, and of the same decisions far more often than by chance.

    Within each task the decisions that either judged are as good as drawn from all that could be; the number in common
    over all tasks is then a sum of hypergeometric ones (the exact test of Mantel and Haenszel 1959), one-sided, at
    `FALSE_ALARMS` over the number of pairs.
    """
    said = verdicts(log)
    by_actor = {
        actor: {each.decision: each for each in given} for actor, given in grouped((v.actor, v) for v in said).items()
    }
    sizes = Counter(entry.decision.task_id for entry in log if _open(entry))
    pairs = list(combinations(sorted(by_actor), 2))
    for one, other in pairs:
        ours, theirs = by_actor[one], by_actor[other]
        common = sorted(ours.keys() & theirs.keys())
        if len(common) < LEAST_COMMON or any(ours[d].liked != theirs[d].liked for d in common):
            continue
        chance = _overlap(list(ours.values()), list(theirs.values()), sizes, len(common))
        if chance < FALSE_ALARMS / len(pairs):
            names = f"{ours[common[0]].login} and {theirs[common[0]].login}"
            yield Item(
                check=Check.TOGETHER,
                alarm=Alarm.WARNING,
                about=names,
                what=f"judged the same {len(common)} decisions, and each of them alike; p {chance:.1g}",
                evidence=tuple(common),
                advice="ask whether these are two people; what one of them taught can be taken back",
            )


def _open(entry: Logged) -> bool:
    """Whether people could judge it: a comment that stands inline, a proven fix, or whatever they did judge."""
    shown = entry.decision.chosen in LOUD or (entry.outcome is not None and proven(entry.outcome))
    return shown or bool(entry.signals)


def _overlap(ours: Sequence[Verdict], theirs: Sequence[Verdict], sizes: Mapping[str, int], common: int) -> float:
    """The chance of so many in common, or more, given how many each judged in each task."""
    counts = [grouped((v.task, v) for v in given) for given in (ours, theirs)]
    chances = np.ones(1)
    for task in counts[0].keys() & counts[1].keys():
        each = overlap_chances(len(counts[0][task]), len(counts[1][task]), sizes[task])
        chances = np.convolve(chances, each)
    return float(min(1.0, chances[common:].sum()))


def one_sided(log: Sequence[Logged]) -> Iterator[Item]:
    """Teachers all of whose verdicts in a repository are alike, where the others' are not: Fisher's exact test, at
    `FALSE_ALARMS` over twice the number of teachers.
    """
    places = grouped(((v.repository, v.actor), v) for v in verdicts(log))
    for (repository, actor), given in places.items():
        others = [v for (where, who), each in places.items() if where == repository and who != actor for v in each]
        liked = sum(v.liked for v in given)
        if len(given) < LEAST_VERDICTS or 0 < liked < len(given):
            continue
        wanted = liked > 0
        alike = sum(v.liked is wanted for v in others)
        chance = more_often(len(given), len(given), alike, len(others))
        if chance < FALSE_ALARMS / (2 * len(places)):
            word = "accepted" if wanted else "rejected"
            yield Item(
                check=Check.ONE_SIDED,
                alarm=Alarm.WARNING,
                about=given[-1].login,
                what=f"{word} all {len(given)} in {repository}; of the others' {len(others)} verdicts {alike} were; p {chance:.1g}",
                evidence=tuple(v.decision for v in given),
                advice="read a few of these; what they taught can be taken back",
            )


def floods(log: Sequence[Logged]) -> Iterator[Item]:
    """Teachers with more than `FLOOD` signals within an hour."""
    said = sorted(((s.actor.id, s.created_at, s) for entry in log for s in entry.signals), key=lambda each: each[:2])
    for given in grouped((actor, signal) for actor, _, signal in said).values():
        burst = _busiest([signal.created_at for signal in given])
        if len(burst) > FLOOD:
            signals = [given[place] for place in burst]
            yield Item(
                check=Check.FLOODS,
                alarm=Alarm.WARNING,
                about=signals[0].actor.login,
                what=f"{len(signals)} signals within an hour, from {signals[0].created_at:%Y-%m-%d %H:%M} on",
                evidence=tuple(signal.decision_id for signal in signals),
                advice="if this was no person at work, take back what it taught",
            )


def _busiest(times: Sequence[datetime]) -> range:
    """The places of the most that lie within an hour; `times` are sorted."""
    best, start = range(0), 0
    for end, time in enumerate(times):
        while time - times[start] > HOUR:
            start += 1
        best = max(best, range(start, end + 1), key=len)
    return best


def one_witness(log: Sequence[Logged]) -> Iterator[Item]:
    """Rows of acceptance that reach repositories where their one teacher never taught."""
    reach = _reach(log)
    taught: dict[int, set[str]] = {}
    rows: dict[tuple[str, str], dict[int, float]] = {}
    logins: dict[int, str] = {}
    for entry, signal in ((each, signal) for each in log for signal in each.signals):
        logins[signal.actor.id] = signal.actor.login
        taught.setdefault(signal.actor.id, set()).add(entry.decision.state.repository)
        for row, weight in _weights(entry, signal):
            shares = rows.setdefault(row, {})
            shares[signal.actor.id] = shares.get(signal.actor.id, 0.0) + weight
    carried = (
        (actor, f"{key} / {strategy}")
        for (key, strategy), shares in sorted(rows.items())
        for actor, weight in shares.items()
        if sum(shares.values()) >= LEAST_WEIGHT
        and weight >= ALONE * sum(shares.values())
        and reach[key] - taught[actor]
    )
    for actor, keys in grouped(carried).items():
        yield Item(
            check=Check.ONE_WITNESS,
            alarm=Alarm.NOTICE,
            about=logins[actor],
            what=f"{len(keys)} rows of acceptance that reach other repositories stand on this one teacher",
            evidence=tuple(keys),
            advice="nothing, if you trust them with those repositories; else ask a second maintainer for verdicts",
        )


def _reach(log: Sequence[Logged]) -> Mapping[str, set[str]]:
    """By key of a row, the repositories that read it."""
    pairs = ((level.key, e.decision.state.repository) for e in log for level in e.decision.state.levels())
    return {key: set(found) for key, found in grouped(pairs).items()}


def _weights(entry: Logged, signal: Signal) -> Iterator[tuple[tuple[str, str], float]]:
    for part in contributions_of_signal(entry.decision, signal):
        yield (part.level.key, part.strategy), part.weight / MILLIONTHS
