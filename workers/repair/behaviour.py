"""Compare how edits behave on the same calls: which of them are alike, and the call that tells two apart. Pure.

That plausible patches which agree on further inputs are right far more often than those that do not is measured in
docs/benchmarks; the idea is that of Xin and Reiss, Identifying Test-Suite-Overfitted Patches (ISSTA 2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory.model import Telling
from workers.repair.running.forkserver import Observed, ObservedCall

FULL, OUTSIDE, SPOILT = 1.0, 0.3, 0.3
"""What a difference counts on a call that keeps the habits of the tests' calls, on one that does not, and, times that,
on one which already made the unedited code raise."""

ALIKE = 0.5
"""Edits count as alike while no single call tells them apart by so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How several edits behave: `observed` one for each, None where nothing is known; `unedited` likewise."""

    observed: tuple[Observed | None, ...]
    unedited: Observed | None
    raising: bool
    """Whether the failure to be repaired is an error that the code raises, so that raising says nothing of a call."""

    def common(self) -> Mapping[str, float]:
        """The calls that every observed edit was put to, with the weight of a difference there."""
        seen = [_by_key(observed) for observed in self.observed if observed is not None]
        if not seen:
            return {}
        before = _by_key(self.unedited) if self.unedited else {}
        keys = [key for key in seen[0] if all(key in calls for calls in seen[1:])]
        return {key: self._weight(seen[0][key], before.get(key)) for key in keys}

    def _weight(self, call: ObservedCall, before: ObservedCall | None) -> float:
        weight = FULL if call.inside else OUTSIDE
        spoilt = before is not None and before.raised and not self.raising
        return weight * (SPOILT if spoilt else 1.0)

    def comparable(self) -> bool:
        """Whether there is any call to compare by."""
        return len([o for o in self.observed if o is not None]) > 1 and bool(self.common())


def clusters(comparison: Comparison) -> list[list[int]]:
    """The edits, by position, grouped by behaviour; one of which nothing is known stands alone."""
    weights = comparison.common()
    groups: dict[object, list[int]] = {}
    for number, observed in enumerate(comparison.observed):
        key: object = number if observed is None or not weights else _signature(observed, weights)
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def _signature(observed: Observed, weights: Mapping[str, float]) -> tuple[str, ...]:
    calls = _by_key(observed)
    return tuple(calls[key].outcome for key, weight in weights.items() if weight >= ALIKE)


def agreement(comparison: Comparison, one: int, other: int) -> float:
    """The weighted share of the common calls on which two edits behave alike; 0 where nothing is known."""
    this, that = comparison.observed[one], comparison.observed[other]
    weights = comparison.common()
    total = sum(weights.values())
    if this is None or that is None or not total:
        return 0.0
    left, right = _by_key(this), _by_key(that)
    return sum(weight for key, weight in weights.items() if left[key].outcome == right[key].outcome) / total


def telling(comparison: Comparison, one: int, other: int, patch: str) -> Telling | None:
    """The simplest of the calls that tell two edits apart most plainly; `patch` is that of `other`."""
    this, that = comparison.observed[one], comparison.observed[other]
    if this is None or that is None:
        return None
    left, right = _by_key(this), _by_key(that)
    differing = [key for key in comparison.common() if left[key].outcome != right[key].outcome]
    if not differing:
        return None
    weights = comparison.common()
    best = min(differing, key=lambda key: (-weights[key], left[key].raised + right[key].raised, len(left[key].call)))
    return Telling(call=left[best].call, this=left[best].text, other=right[best].text, patch=patch)


def _by_key(observed: Observed) -> Mapping[str, ObservedCall]:
    return {call.key: call for call in observed.calls}
