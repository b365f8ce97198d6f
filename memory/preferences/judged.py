"""What people chose: findings and patches that somebody judged, and the pairs that follow from their verdicts. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log

from memory.model import Signal, TaskKind
from memory.rewards import say

RIVALS = 3
"""What was rejected is compared with so many accepted ones of its rule at most, the nearest in time."""

QUOTA = 500
"""So many judged decisions of one repository count, the last ones: none may say alone what all others like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What could be preferred: a finding or a patch, as the reward model sees it.

    `prior` is the chance of acceptance, within (0, 1), that is expected without anything learned; `features` are named
    numbers, `text` is what is embedded.
    """

    prior: float
    features: Mapping[str, float]
    text: str

    @property
    def prior_odds(self) -> float:
        """The logarithm of the prior's odds."""
        return log(self.prior / (1.0 - self.prior))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An option with what people made of it.

    `verdict` lies within [-1, 1] and is not 0; `teacher` is the id of the account that said most of it, `known_at` when
    the last of it was said.
    """

    decision_id: str
    task_id: str
    kind: TaskKind
    repository: str
    label: str
    teacher: int
    known_at: datetime
    verdict: float
    option: Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Of two that could have been preferred, which one was. `weight` is above 0 and at most 1."""

    better: Judged
    worse: Judged
    weight: float


def verdict(signals: Iterable[Signal]) -> float:
    """What people whose word counts made of a decision, within [-1, 1]; 0 where nobody said anything that tells.

    Give the signals that stand: what was taken back is not among them.
    """
    return min(max(sum(say(signal) for signal in signals), -1.0), 1.0)


def teacher(signals: Iterable[Signal]) -> int:
    """The id of the account that said most; the lowest of equals. Raises ValueError without signals."""
    said: defaultdict[int, float] = defaultdict(float)
    for signal in signals:
        said[signal.actor.id] += abs(say(signal))
    return max(sorted(said), key=said.__getitem__)


def within_quota(judged: Iterable[Judged]) -> list[Judged]:
    """The last `QUOTA` of each repository, in the order in which they became known."""
    heard: defaultdict[str, int] = defaultdict(int)
    kept = []
    for each in sorted(judged, key=lambda one: (one.known_at, one.decision_id), reverse=True):
        heard[each.repository] += 1
        if heard[each.repository] <= QUOTA:
            kept.append(each)
    return kept[::-1]


def pairs(judged: Sequence[Judged]) -> list[Pair]:
    """Accepted over rejected, of one task or of one rule (or error type) in one repository; each pair once.

    Of findings of one review every pair tells; across reviews a rejected one meets the nearest `RIVALS` accepted ones.
    A pair counts as much as the weaker of its verdicts.
    """
    found: dict[tuple[str, str], Pair] = {}
    for group in _groups(judged, lambda one: (one.kind, one.task_id)):
        _compare(group, len(group), found)
    for group in _groups(judged, lambda one: (one.kind, one.repository, one.label)):
        _compare(group, RIVALS, found)
    return balanced([found[key] for key in sorted(found)])


def _groups(judged: Sequence[Judged], key: Callable[[Judged], Hashable]) -> Iterable[list[Judged]]:
    groups: defaultdict[Hashable, list[Judged]] = defaultdict(list)
    for each in judged:
        groups[key(each)].append(each)
    return groups.values()


def _compare(group: Sequence[Judged], most: int, found: dict[tuple[str, str], Pair]) -> None:
    accepted = [each for each in group if each.verdict > 0.0]
    for worse in (each for each in group if each.verdict < 0.0):
        nearest = sorted(accepted, key=lambda one: (abs(one.known_at - worse.known_at), one.decision_id))
        for better in nearest[:most]:
            weight = min(better.verdict, -worse.verdict)
            found[better.decision_id, worse.decision_id] = Pair(better=better, worse=worse, weight=weight)


def balanced(pairs: Sequence[Pair]) -> list[Pair]:
    """The same pairs, those that hang on one person's word alone weighing no more than all others together.

    Where only one person has taught, there is nobody to hold against them: the pairs stay as they are.
    """
    alone: defaultdict[int, float] = defaultdict(float)
    for pair in pairs:
        if pair.better.teacher == pair.worse.teacher:
            alone[pair.better.teacher] += pair.weight
    total = sum(pair.weight for pair in pairs)
    loudest = max(sorted(alone), key=alone.__getitem__, default=None)
    if loudest is None or not 0.0 < total - alone[loudest] < alone[loudest]:
        return list(pairs)
    share = (total - alone[loudest]) / alone[loudest]
    return [
        replace(pair, weight=pair.weight * share) if {pair.better.teacher, pair.worse.teacher} == {loudest} else pair
        for pair in pairs
    ]
