"""The candidates of one repair in one best-first order. The likeliest are set apart by strategy, for the policy to order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workers.repair.candidates import Candidate

HEAD = 40
"""So many of the likeliest candidates are tried strategy by strategy. More would give the policy more to say, and a bug
whose strategy it takes last would wait longer; what is not among them is tried best first, whatever its strategy."""


class Lineup:
    """Reads `candidates`, which come best first, as far as they are asked for."""

    def __init__(self, candidates: Iterator[Candidate], head: int = HEAD) -> None:
        self._candidates = candidates
        self._head: dict[str, list[Candidate]] = {}
        for candidate in islice(candidates, head):
            self._head.setdefault(candidate.strategy, []).append(candidate)

    @property
    def strategies(self) -> tuple[str, ...]:
        """Those that have a candidate among the likeliest, in the order of their best one."""
        return tuple(self._head)

    def of(self, strategy: str) -> Iterator[Candidate]:
        """The likeliest candidates of one strategy; those that are not taken stay."""
        waiting = self._head[strategy]
        while waiting:
            yield waiting.pop(0)

    def rest(self) -> Iterator[Candidate]:
        """All that is left, best first."""
        waiting = [candidate for candidates in self._head.values() for candidate in candidates]
        yield from sorted(waiting, key=lambda candidate: -candidate.score)
        yield from self._candidates
