"""Suspects, candidates and verdicts: what passes between localisation, templates, search and runners, and in which order."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from memory.model import EditShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A line that may be at fault; `score` within [0, 1], higher is likelier."""

    path: str
    line: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One edit of one module. `source` is the whole module with the edit made.

    `function` is the dotted qualified name of the innermost function around the edit ("Basket.total"), empty at module level.
    `skills` names those whose edits it makes.
    """

    path: str
    source: str
    line: int
    function: str
    template: str
    strategy: str
    shape: EditShape
    score: float
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenVerdict:
    """The result of a candidate's failing and covering tests: a screen, not yet a proof.

    `passed` counts the failing tests that it made pass; `error_type` is what the first failing one became.
    """

    candidate: Candidate
    plausible: bool
    passed: int
    error_type: str = ""
    message: str = ""


def implausible(candidate: Candidate, error_type: str, message: str) -> ScreenVerdict:
    """The verdict on a candidate whose tests did not end by themselves."""
    return ScreenVerdict(candidate=candidate, plausible=False, passed=0, error_type=error_type, message=message)


Option = TypeVar("Option")


@lru_cache(maxsize=65536)
def likeness(one: str, other: str) -> float:
    """How alike two names look, within [0, 1] (Ratcliff and Obershelp's measure)."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def fading(options: Iterable[Option], *, first: float = 1.0, step: float = 0.25) -> Iterator[tuple[Option, float]]:
    """Each option with a weight that falls with its rank: first, first / (1 + step), first / (1 + 2 step)…"""
    return ((option, first / (1 + step * rank)) for rank, option in enumerate(options))


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
