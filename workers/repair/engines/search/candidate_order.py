"""In which order candidates are tried: by strategy, with rivals first, those that failed before later, near misses again."""

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from memory.model import EditShape, Failure, NearMiss
from workers.diffs import apply_unified
from workers.errors import BadInput
from workers.repair.candidates import CRASH, TIMEOUT, Candidate, ScreenVerdict

HEAD = 40
"""How many of the likeliest candidates are tried strategy by strategy; what follows them is tried best first."""

NEAR = 0.75
"""A strategy is open as long as its next candidate has this share of the best one's score: what a choice can cost is bounded."""


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


# ── What earlier attempts left ────────────────────────────────────────────────────────────────────────────────────────

LATER = 0.25
"""The share of its score that a candidate keeps if it failed before: the code around it may have changed."""

START_SCORE = 1.0


def put_off(
    candidates: Iterable[Candidate], later: Collection[str], digest: Callable[[Candidate], str]
) -> Iterator[Candidate]:
    """The candidates, which come best first; those that failed before come where their score falls to LATER of it."""
    if not later:
        yield from candidates
        return
    waiting: list[tuple[float, int, Candidate]] = []
    for number, candidate in enumerate(candidates):
        while waiting and -waiting[0][0] >= candidate.score:
            yield heapq.heappop(waiting)[-1]
        if digest(candidate) in later:
            heapq.heappush(waiting, (-candidate.score * LATER, number, candidate))
        else:
            yield candidate
    yield from (candidate for _, _, candidate in sorted(waiting, key=lambda each: each[:2]))


def restored(miss: NearMiss, source: str | None) -> Candidate | None:
    """The edit that came nearest, made of the module as it is now; None where it does not apply any more."""
    if source is None:
        return None
    try:
        edited = apply_unified(source, miss.edit)
    except BadInput:
        return None
    return Candidate(
        path=miss.path,
        source=edited,
        line=miss.line,
        function="",
        template=miss.template,
        strategy="replay",
        shape=EditShape(template=miss.template, before="", after=""),
        score=START_SCORE,
    )


# ── Near misses ───────────────────────────────────────────────────────────────────────────────────────────────────────

MAX_KEPT = 8

_DEAD_ENDS = frozenset({TIMEOUT, CRASH, "NameError", "UnboundLocalError", "SyntaxError", "RecursionError"})
_COMPARES = re.compile(r" (?:==|!=|is|in|<=?|>=?) ")
_DIFFER = re.compile(
    r"(?:\w+ differ: )?(.+?) (?:!=|(?:not|unexpectedly) found in|not (?:less|greater) than(?: or equal to)?) (.+)"
)
"""What unittest says of two values, of which either may be the expected one."""


class NearMisses:
    """The most promising first edits so far."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._kept: list[tuple[float, Candidate]] = []

    def add(self, verdict: ScreenVerdict) -> None:
        """Keep a candidate if it is among the best; of equals the first one, which was the likeliest."""
        weight = nearness(verdict, self._failure)
        if weight > 0.0 and "+" not in verdict.candidate.template:
            self._kept.append((weight * verdict.candidate.score, verdict.candidate))
            self._kept = sorted(self._kept, key=lambda kept: -kept[0])[:MAX_KEPT]

    def best(self) -> list[tuple[Candidate, float]]:
        """Each with its weight, within [0, 1]."""
        return [(candidate, weight / candidate.score) for weight, candidate in self._kept if candidate.score]


def nearness(verdict: ScreenVerdict, failure: Failure) -> float:
    """How promising a candidate that failed is as the first of two edits, within [0, 1]; 0: leave it.

    `verdict.passed` counts failing tests that it made pass. Without any, another error than before, or an assertion that
    expects something else than the one that failed, tells that the run got somewhere else.
    """
    total = len(failure.failing_tests)
    if verdict.plausible or verdict.error_type in _DEAD_ENDS:
        return 0.0
    if total > 1 and verdict.passed:
        return 0.5 + 0.5 * min(verdict.passed, total) / total
    if verdict.error_type != failure.error_type:
        raised_before = failure.error_type != "AssertionError"
        return 0.4 if raised_before and verdict.error_type == "AssertionError" else 0.15 if raised_before else 0.0
    before, after = _compared(failure.message), _compared(verdict.message)
    if before and after:
        return 0.0 if before & after else 0.3
    return 0.2 if verdict.message and verdict.message != failure.message and not before else 0.0


def _compared(message: str) -> frozenset[str]:
    """What a failed assertion expects: with unittest, both values that it compares."""
    asserted = (line.partition("assert ")[2] for line in message.split("\n"))
    found = ((line, _COMPARES.search(line, 1)) for line in asserted)
    if expected := next((line[match.end() :].strip() for line, match in found if match), ""):
        return frozenset({expected})
    differ = _DIFFER.match(message)
    return frozenset(differ.groups() if differ else ())
