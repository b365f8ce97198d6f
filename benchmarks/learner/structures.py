"""The worlds that are played in, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.learner.world import Structure

STRUCTURES: Mapping[str, Structure] = MappingProxyType(
    {
        each.name: each
        for each in (
            Structure(name="tuning"),
            Structure(
                name="kinds",
                repositories=20,
                kinds=6,
                tail=1.1,
                proof=-2.0,
                proof_spreads=(0.4, 0.6, 0.6, 0.5, 1.2),
                acceptance_spreads=(0.8, 0.6, 0.6),
            ),
            Structure(
                name="families",
                families=4,
                repositories=6,
                tail=1.6,
                drift=0.5,
                proof_spreads=(0.8, 1.2, 0.5, 0.3, 0.7),
                acceptance=0.0,
            ),
        )
    }
)
"""The learner's constants were chosen in the first; the others are there to report."""
