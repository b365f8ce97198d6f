"""The past led before several arms in the order of time: each finding is scored before its fate is known to anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.history.arms import ARMS, OURS, UNTAUGHT, Arm, Learned
from memory.model import PastFinding

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The findings of the later changes whose fate is known, in order.

    `addressed` (n,) is 0 or 1, `change` (n,) numbers the changes from 0, `scores` (n,) are those of each arm.
    """

    findings: tuple[PastFinding, ...]
    addressed: Floats
    change: NDArray[np.int64]
    scores: Mapping[str, Floats]


def replay(
    findings: Sequence[PastFinding], *, share: float = 0.5, arms: Mapping[str, Callable[[], Arm]] = ARMS
) -> Replayed:
    """Score what was found in the last `share` of the changes that had findings; what is older teaches.

    One arm more, `UNTAUGHT`, is ours begun with the first scored change. A fate that was known with a change is known to
    the reviews of later changes only.
    """
    told = [finding for finding in findings if finding.fate.addressed is not None]
    positions = sorted({finding.position for finding in told})
    cut = positions[int(len(positions) * (1.0 - share))] if positions else 0
    acting = {name: make() for name, make in arms.items()}
    if OURS in arms:
        acting[UNTAUGHT] = Learned()
    scores: dict[str, dict[int, float]] = {name: {} for name in acting}
    for number, finding, found in events(told):
        for name, arm in acting.items():
            if name == UNTAUGHT and finding.position < cut:
                continue
            if found:
                scores[name][number] = arm.found(number, finding)
            else:
                arm.decided(number, finding)
    later = [n for n in sorted(range(len(told)), key=lambda n: (told[n].position, n)) if told[n].position >= cut]
    places = {position: at for at, position in enumerate(position for position in positions if position >= cut)}
    return Replayed(
        findings=tuple(told[n] for n in later),
        addressed=np.array([float(bool(told[n].fate.addressed)) for n in later]),
        change=np.array([places[told[n].position] for n in later], dtype=np.int64),
        scores={name: np.array([by_number[n] for n in later]) for name, by_number in scores.items()},
    )


def events(told: Sequence[PastFinding]) -> Iterator[tuple[int, PastFinding, bool]]:
    """Numbers with their findings, and whether it is found or its fate known; at the same change the finding comes first."""
    events = [(f.position, 0, n) for n, f in enumerate(told)] + [(f.until, 1, n) for n, f in enumerate(told)]
    yield from ((number, told[number], kind == 0) for _, kind, number in sorted(events))
