"""The versions of the policy, by name: what can be in use, gone back to, and compared. Pure.

A version decides from what it is given alone, so that an older one can be asked what it would have done.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from memory import policy
from memory.model import Factor, State

CONTROL = "control"
"""The version that uses nothing learned: while it is in use, every task is one of the control arm."""


class Version(Protocol):
    """One way to choose."""

    @property
    def version(self) -> str:
        """Its name, as decisions record it."""

    def chances(
        self,
        state: State,
        names: Sequence[str],
        cells: policy.Cells,
        prior: Mapping[str, float],
        evidence: Sequence[policy.Neighbour],
        rng: random.Random,
    ) -> dict[str, float]:
        """A probability above 0 for each of `names`, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levelled:
    """The levelled table with Thompson sampling; `pulls` are pseudo-counts by level, `floor` is spread evenly."""

    version: str
    pulls: Mapping[str, float]
    floor: float = policy.FLOOR

    def chances(
        self,
        state: State,
        names: Sequence[str],
        cells: policy.Cells,
        prior: Mapping[str, float],
        evidence: Sequence[policy.Neighbour],
        rng: random.Random,
    ) -> dict[str, float]:
        """The share of draws that each strategy wins, over a floor."""
        estimates = {name: self._estimate(state, name, cells, prior, evidence) for name in names}
        return policy.probabilities(estimates, rng, floor=self.floor)

    def _estimate(
        self,
        state: State,
        name: str,
        cells: policy.Cells,
        prior: Mapping[str, float],
        evidence: Sequence[policy.Neighbour],
    ) -> policy.Estimate:
        expected = prior.get(name, policy.PROOF_PRIOR)
        proof = policy.believe(state, name, Factor.PROOF, cells, prior=expected, pull=self.pulls)
        for near in evidence:
            if near.strategy == name:
                weight = policy.NEIGHBOUR_WEIGHT * near.similarity
                proof = proof.with_evidence(weight=weight, value=float(near.success))
        liked, here = policy.ACCEPTANCE_PRIOR, cells.get((state.levels()[0], name, Factor.PROOF))
        return policy.Estimate(
            proof=proof,
            acceptance=policy.believe(state, name, Factor.ACCEPTANCE, cells, prior=liked, pull=self.pulls),
            n=here.weight if here else 0.0,
        )


FORMER = Levelled(
    version="levelled-thompson-0",
    pulls=MappingProxyType({"repository": 4.0, "label": 4.0, "family": 8.0, "global": 16.0}),
)
PRESENT = Levelled(version=policy.POLICY_VERSION, pulls=policy.PULL)

VERSIONS: Mapping[str, Version] = MappingProxyType({each.version: each for each in (FORMER, PRESENT)})
"""Oldest first; each one's former is the one before it, the first one's is control."""


def former_of(version: str, versions: Mapping[str, Version] = VERSIONS) -> str:
    """The version to go back to: the one before, or control where there is none."""
    names = list(versions)
    place = names.index(version) if version in names else 0
    return names[place - 1] if place else CONTROL
