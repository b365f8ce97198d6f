"""In which order candidates get how much processor time, so that endless loops cost little and slow fixes get their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workers.repair.candidates import Candidate

RUNGS = ((0.08, 5.0), (0.5, 12.0), (2.0, 30.0))
"""Caps, tried in turn: at least so many seconds, and so many times what the tests cost unedited, as long as that adds
no more to the first than the least does: of what takes half a second unedited there is no waiting for thirty times that."""

PLACES = (0, 8, 2)
"""So many candidates may come to each rung from below. Most that time out never end, and the first were the likeliest."""

PATIENCE = 20
"""So many steps are made on one rung for each that is made on the next."""


def cap(rung: int, usual: float) -> float:
    """Processor seconds for one try of a test, or of all of them, when that usually costs `usual`."""
    least, times = RUNGS[rung]
    return max(least, min(times * usual, least + RUNGS[0][1] * usual))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One candidate to be tried with the time of one rung."""

    candidate: Candidate
    rung: int


class Ladder:
    """Iterates over steps; candidates are pulled from their source only when their turn comes."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._source = iter(candidates)
        self._waiting: tuple[deque[Step], ...] = tuple(deque() for _ in RUNGS)
        self._made = [0] * len(RUNGS)
        self._places = list(PLACES)

    def __iter__(self) -> Iterator[Step]:
        while (step := self.take()) is not None:
            yield step

    def take(self) -> Step | None:
        """The next step; None while nothing is left to do, which a climb can change."""
        step = self._next()
        if step is not None:
            self._made[step.rung] += 1
        return step

    def put(self, step: Step) -> None:
        """Have a step made later."""
        self._waiting[step.rung].append(step)

    def climb(self, step: Step) -> bool:
        """Have the candidate tried again with more time; false when it had the most, or no place is left above."""
        if step.rung + 1 == len(RUNGS) or not self._places[step.rung + 1]:
            return False
        self._places[step.rung + 1] -= 1
        self.put(Step(candidate=step.candidate, rung=step.rung + 1))
        return True

    def left(self) -> tuple[Candidate, ...]:
        """The candidates that still wait for their turn on a higher rung, the lowest first."""
        return tuple(step.candidate for queue in self._waiting for step in queue)

    def _next(self) -> Step | None:
        for rung in range(len(RUNGS) - 1, 0, -1):
            if self._waiting[rung] and self._made[rung - 1] >= PATIENCE * (self._made[rung] + 1):
                return self._waiting[rung].popleft()
        candidate = next(self._source, None)
        if candidate is not None:
            return Step(candidate=candidate, rung=0)
        return next((queue.popleft() for queue in self._waiting if queue), None)
