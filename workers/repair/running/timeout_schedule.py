"""The timeout schedule: in which order candidates get how much processor time, so that endless loops cost little and slow
fixes get their turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workers.repair.engines.search.candidates import Candidate

CAPS = ((0.08, 5.0), (0.5, 12.0), (2.0, 30.0))
"""Caps, tried in turn: at least so many seconds, and so many times what the tests cost unedited, as long as that adds
no more to the first than the least does: a test of half a second does not get thirty times that."""

PLACES = (0, 8, 2)
"""So many candidates may come to each level from below. Most that time out never end, and the first were the likeliest."""

PATIENCE = 20
"""So many steps are made on one level for each that is made on the next."""


def cap(level: int, usual: float) -> float:
    """Processor seconds for one try of a test, or of all of them, when that usually costs `usual`."""
    least, times = CAPS[level]
    return max(least, min(times * usual, least + CAPS[0][1] * usual))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledCandidate:
    """One candidate and the level whose time it gets."""

    candidate: Candidate
    level: int


class TimeoutSchedule:
    """Iterates over steps; candidates are pulled from their source only when their turn comes."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._source = iter(candidates)
        self._waiting: tuple[deque[ScheduledCandidate], ...] = tuple(deque() for _ in CAPS)
        self._tries = [0] * len(CAPS)
        self._places = list(PLACES)

    def __iter__(self) -> Iterator[ScheduledCandidate]:
        while (step := self.next()) is not None:
            yield step

    def next(self) -> ScheduledCandidate | None:
        """The next candidate; None while nothing is left to do, which `retry_later` can change."""
        step = self._next()
        if step is not None:
            self._tries[step.level] += 1
        return step

    def put(self, step: ScheduledCandidate) -> None:
        """Have a step made later."""
        self._waiting[step.level].append(step)

    def retry_later(self, step: ScheduledCandidate) -> bool:
        """Have the candidate tried again with more time; false when it had the most, or no place is left above."""
        if step.level + 1 == len(CAPS) or not self._places[step.level + 1]:
            return False
        self._places[step.level + 1] -= 1
        self.put(ScheduledCandidate(candidate=step.candidate, level=step.level + 1))
        return True

    def left(self) -> tuple[Candidate, ...]:
        """The candidates that still wait for their turn on a higher level, the lowest first."""
        return tuple(step.candidate for queue in self._waiting for step in queue)

    def _next(self) -> ScheduledCandidate | None:
        for level in range(len(CAPS) - 1, 0, -1):
            if self._waiting[level] and self._tries[level - 1] >= PATIENCE * (self._tries[level] + 1):
                return self._waiting[level].popleft()
        candidate = next(self._source, None)
        if candidate is not None:
            return ScheduledCandidate(candidate=candidate, level=0)
        return next((queue.popleft() for queue in self._waiting if queue), None)
