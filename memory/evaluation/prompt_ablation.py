"""Ablation of prompt parts and tools: now and then a run goes without one, and the statistics compare the results."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.model import Arm, Decision, LoggedDecision
from memory.rewards import proven

WITHHELD = "withheld"
"""Feature of a decision: the part that was left out; empty for none."""

PROMPTED = "model:"
"""Prefix of the strategies whose runs have a prompt."""

LEFT_OUT = 0.15
"""How often a run goes without one of its parts."""


@dataclass(slots=True, kw_only=True)
class PartUse:
    """A part in one repository: runs with and without it, and how many of each were proven."""

    repository: str
    part: str
    given: int = 0
    proven_given: int = 0
    left_out: int = 0
    proven_left_out: int = 0


def drawn(parts: Sequence[str], arm: Arm, rng: random.Random) -> dict[str, float | str]:
    """What one run goes without, as a feature of its decision; the control arm has every part and measures none."""
    leaves_out = bool(parts) and arm is Arm.LEARNED and rng.random() < LEFT_OUT
    return {WITHHELD: rng.choice(parts) if leaves_out else ""} if arm is Arm.LEARNED else {}


def withheld(decision: Decision) -> frozenset[str]:
    """What a decision's run goes without."""
    return frozenset({str(decision.features.get(WITHHELD, ""))} - {""})


def measured(repaired: Iterable[LoggedDecision]) -> tuple[PartUse, ...]:
    """Every part that was ever left out, by repository."""
    runs = [
        e for e in repaired if WITHHELD in e.decision.features and e.outcome and e.decision.chosen.startswith(PROMPTED)
    ]
    left_out = sorted({(e.decision.state.repository, part) for e in runs for part in withheld(e.decision)})
    found = {(where, part): PartUse(repository=where, part=part) for where, part in left_out}
    for entry in runs:
        is_proven = entry.outcome is not None and proven(entry.outcome)
        for (where, part), use in found.items():
            if where != entry.decision.state.repository:
                continue
            if part in withheld(entry.decision):
                use.left_out, use.proven_left_out = use.left_out + 1, use.proven_left_out + is_proven
            else:
                use.given, use.proven_given = use.given + 1, use.proven_given + is_proven
    return tuple(found.values())
