"""The candidates of one repair in one best-first order, and how far the policy may depart from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from workers.repair.engines.search.candidates import Candidate

HEAD = 40
"""So many of the likeliest candidates are tried strategy by strategy; what follows them is tried best first."""

NEAR = 0.75
"""A strategy is open as long as its next candidate scores so much of the best one: what a choice can cost is bounded."""


class CandidateQueue:
    """Reads `candidates`, which come best first, as far as they are asked for.

    Those that were `tried` meanwhile, as replays are, do not count: a turn without anything to try would teach a failure.
    """

    def __init__(
        self, candidates: Iterator[Candidate], *, tried: Callable[[Candidate], bool], head: int = HEAD
    ) -> None:
        self._candidates = candidates
        self._tried = tried
        self._head: dict[str, list[Candidate]] = {}
        for candidate in islice(candidates, head):
            self._head.setdefault(candidate.strategy, []).append(candidate)

    def near(self) -> dict[str, float]:
        """The strategies whose next candidate is about as likely as the best one, with its score as a share of that."""
        for waiting in self._head.values():
            while waiting and self._tried(waiting[0]):
                waiting.pop(0)
        following = {strategy: waiting[0].score for strategy, waiting in self._head.items() if waiting}
        best = max(following.values(), default=0.0) or 1.0
        return {strategy: score / best for strategy, score in following.items() if score >= NEAR * best}

    def of(self, strategy: str) -> Iterator[Candidate]:
        """The next candidates of one strategy, while it is near; those that are not read stay."""
        while strategy in self.near():
            yield self._head[strategy].pop(0)

    def rest(self) -> Iterator[Candidate]:
        """All that is left, best first."""
        waiting = [candidate for candidates in self._head.values() for candidate in candidates]
        yield from sorted(waiting, key=lambda candidate: -candidate.score)
        yield from self._candidates


class Stream:
    """Candidates in order, before which others can be put while it is read."""

    def __init__(self, candidates: Iterator[Candidate]) -> None:
        self._sources = [candidates]

    def put_first(self, candidates: Iterator[Candidate]) -> None:
        """Have these read next."""
        self._sources.append(candidates)

    @property
    def left(self) -> bool:
        """Whether something may be left to read."""
        return bool(self._sources)

    def __iter__(self) -> Iterator[Candidate]:
        while self._sources:
            following = next(self._sources[-1], None)
            if following is None:
                self._sources.pop()
            else:
                yield following
