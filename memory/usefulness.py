"""Which parts of a prompt, and which tools, are worth their room: measured by leaving one out now and then.

A part is left out of a run by chance, recorded with the choice. Where runs with it do not do better than runs without it,
it is dropped in that repository, and given now and then to look again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import erf, sqrt

from memory.model import Arm, Decision, Logged
from memory.store import Store

WITHHELD = "withheld"
"""Feature of a decision: the parts that were left out, with a comma between."""

PROMPTED = "model:"
"""What the names of strategies begin with that are given the parts: of others a run says nothing of them."""

LEFT_OUT = 0.15
"""How often a run does without one of its parts."""

LOOKED_AGAIN = 0.1
"""How often a part that was dropped is given."""

LEAST_RUNS = 20
"""Runs with and without a part, of each, before it can be dropped."""

MARGIN, DOUBT = 0.02, 0.2
"""A part is dropped where the chance that it raises the share of proven runs by MARGIN is below DOUBT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Runs with and without a part, and how many of each were proven."""

    given: int
    proven_given: int
    left_out: int
    proven_left_out: int

    @property
    def raises(self) -> float:
        """The chance that the part raises the share proven by MARGIN, of two Beta posteriors taken to be normal."""
        with_it, spread = _posterior(self.given, self.proven_given)
        without, other = _posterior(self.left_out, self.proven_left_out)
        return 0.5 * (1.0 + erf((with_it - without - MARGIN) / sqrt(2.0 * (spread + other))))

    @property
    def dropped(self) -> bool:
        """Whether it is given no more, but to look again."""
        return min(self.given, self.left_out) >= LEAST_RUNS and self.raises < DOUBT


def _posterior(runs: int, proven: int) -> tuple[float, float]:
    """Mean and variance of Beta(1 + proven, 1 + runs - proven)."""
    mean = (proven + 1) / (runs + 2)
    return mean, mean * (1.0 - mean) / (runs + 3)


def uses(runs: Iterable[tuple[str, bool]], parts: Sequence[str]) -> dict[str, Use]:
    """The use of each part, of runs as (what was left out, proven)."""
    given, proven = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for left_out, success in runs:
        for part in parts:
            key = (part, part in left_out.split(","))
            given[key] += 1
            proven[key] += success
    return {
        part: Use(
            given=given[part, False],
            proven_given=proven[part, False],
            left_out=given[part, True],
            proven_left_out=proven[part, True],
        )
        for part in parts
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PartUse:
    """A part in one repository: its runs, the chance that it helps, and whether it is dropped there."""

    repository: str
    part: str
    use: Use
    raises: float
    dropped: bool


def measured(repaired: Iterable[Logged]) -> tuple[PartUse, ...]:
    """The parts that were ever left out, by repository."""
    runs: dict[str, list[tuple[str, bool]]] = {}
    for entry in repaired:
        named = entry.decision.features.get(WITHHELD)
        prompted = entry.decision.chosen.startswith(PROMPTED)
        if isinstance(named, str) and prompted and entry.outcome is not None:
            proven = entry.outcome.components.get("suite_green", 0.0) > 0.0
            runs.setdefault(entry.decision.state.repository, []).append((named, proven))
    return tuple(
        PartUse(repository=repository, part=part, use=use, raises=round(use.raises, 3), dropped=use.dropped)
        for repository, found in sorted(runs.items())
        for part, use in uses(found, sorted({name for named, _ in found for name in named.split(",") if name})).items()
    )


@dataclass(frozen=True, slots=True)
class Withheld:
    """What may be left out of the runs of one repository, and what is dropped there."""

    parts: tuple[str, ...]
    dropped: frozenset[str]

    @classmethod
    def of(cls, store: Store, repository: str, parts: Sequence[str], arm: Arm) -> Withheld:
        """As the runs there were so far say; the control arm has every part and measures none."""
        if arm is Arm.CONTROL:
            return cls((), frozenset())
        found = uses(store.record.runs(repository, WITHHELD, strategies=PROMPTED), parts)
        return cls(tuple(parts), frozenset(part for part, use in found.items() if use.dropped))

    def drawn(self, rng: random.Random) -> dict[str, float | str]:
        """What one run does without, as a feature of its decision."""
        left_out = {part for part in sorted(self.dropped) if rng.random() >= LOOKED_AGAIN}
        rest = [part for part in self.parts if part not in self.dropped]
        if rest and rng.random() < LEFT_OUT:
            left_out.add(rng.choice(rest))
        return {WITHHELD: ",".join(sorted(left_out))}


def withheld(decision: Decision) -> frozenset[str]:
    """What a decision's run did without."""
    named = decision.features.get(WITHHELD)
    return frozenset(named.split(",")) - {""} if isinstance(named, str) else frozenset()
