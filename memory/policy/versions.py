"""The versions of the policy, by name: what can be in use, gone back to, and compared. Pure.

A version decides from what it is given alone, so that an older one can be asked what it would have done.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from memory.model import State
from memory.policy import q_table

CONTROL = "control"
"""The version that uses nothing learned: while it is in use, every task is one of the control arm."""


class PolicyVersion(Protocol):
    """One way to choose."""

    @property
    def version(self) -> str:
        """Its name, as decisions record it."""

    def chances(
        self,
        state: State,
        names: Sequence[str],
        cells: q_table.Cells,
        prior: Mapping[str, float],
        evidence: Sequence[q_table.Neighbour],
        rng: random.Random,
    ) -> dict[str, float]:
        """A probability above 0 for each of `names`, in their order."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The levelled table, planning and Thompson sampling with some parameters."""

    parameters: q_table.Parameters

    @property
    def version(self) -> str:
        """See `Version`."""
        return self.parameters.version

    def chances(
        self,
        state: State,
        names: Sequence[str],
        cells: q_table.Cells,
        prior: Mapping[str, float],
        evidence: Sequence[q_table.Neighbour],
        rng: random.Random,
    ) -> dict[str, float]:
        """The share of draws whose best order each strategy begins, over a floor."""
        estimates = q_table.values(state, names, cells, prior, evidence, parameters=self.parameters)
        return q_table.probabilities(estimates, rng, attempts=len(names), parameters=self.parameters)


FORMER, PRESENT = TableVersion(q_table.FORMER), TableVersion(q_table.PRESENT)

VERSIONS: Mapping[str, TableVersion] = MappingProxyType({each.version: each for each in (FORMER, PRESENT)})
"""Oldest first; each one's former is the one before it, the first one's is control."""


def former_of(version: str, versions: Mapping[str, PolicyVersion] = VERSIONS) -> str:
    """The version to go back to: the one before, or control where there is none."""
    names = list(versions)
    place = names.index(version) if version in names else 0
    return names[place - 1] if place else CONTROL
