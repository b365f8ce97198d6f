"""Shortlist the plausible candidates and compare them: how they behave on the same calls, and of what kind they are."""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from memory.model import Failure, Family
from memory.preferences.model import PreferenceModel
from memory.skills import tried_as
from workers.repair.classify import family_of
from workers.repair.engines.search.candidates import Candidate, ScreenVerdict
from workers.repair.judging.overfit_signs import kind_of
from workers.repair.judging.ranking import BehaviourComparison, Field, liking
from workers.repair.result import First
from workers.repair.running.candidate_runner import CRASH, TIMEOUT
from workers.repair.running.forkserver import Observe
from workers.repair.running.runner_pool import RunnerPool

RIVALS, MOST_PLAUSIBLE, THOROUGH = 300, 20, 150
"""After a plausible candidate so many others are screened at most, until so many are plausible; fewer are not thorough."""

RIVAL_SHARE, RIVAL_SECONDS = 0.5, 20.0
"""The share of the time left that rivals may take, and the most. Their number is what should end the search for them,
as it does not depend on the machine."""

UNTELLING = frozenset({"", TIMEOUT, CRASH, "SyntaxError"})
"""Errors that say nothing about how near a candidate came."""


class Clock:
    """Whether a point of time.monotonic() has passed; `rang` remembers a yes."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.rang = False

    def __call__(self) -> bool:
        self.rang = self.rang or time.monotonic() >= self._deadline
        return self.rang

    def share(self, part: float, most: float) -> Clock:
        """A clock for a part of the time that is left, `most` seconds at most."""
        now = time.monotonic()
        return Clock(now + min(most, part * max(0.0, self._deadline - now)))


@dataclass(slots=True, kw_only=True)
class AttemptTally:
    """What is known so far about the candidates of an attempt. `nearest` is the verdict on the one that came closest.

    `tried` counts those up to the first plausible one, by template and by skill, `wasted` those whose tests never ended or ended their
    process. `rivals`, screened to tell whether a plausible one
    is the only one, are not among the `candidates`.
    """

    failure: Failure
    candidates: int = 0
    rivals: int = 0
    wasted: int = 0
    plausible: int = 0
    first: First | None = None
    nearest: ScreenVerdict | None = None
    tried: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: ScreenVerdict) -> None:
        """Count a verdict; of equals the first one, which was the likeliest, stays nearest."""
        self.candidates += 1
        self.wasted += verdict.error_type in {TIMEOUT, CRASH}
        for name in (verdict.candidate.template, *map(tried_as, verdict.candidate.skills)):
            self.tried[name] += self.first is None
        self._judge(verdict)
        if verdict.plausible and self.first is None:
            self.first = First(candidates=self.candidates, at=time.monotonic())

    def add_rival(self, verdict: ScreenVerdict) -> None:
        """Count a verdict on one of the others."""
        self.rivals += 1
        self._judge(verdict)

    def _judge(self, verdict: ScreenVerdict) -> None:
        self.plausible += verdict.plausible
        if self._nearness(verdict) > (self._nearness(self.nearest) if self.nearest else (False, 0, False)):
            self.nearest = verdict

    def shown(self) -> Candidate | None:
        """The candidate that came nearest."""
        return self.nearest.candidate if self.nearest else None

    def became(self) -> Failure | None:
        """What the failure turned into with the nearest candidate; None if it stayed, or none was near."""
        if self.nearest is None or not self._moved(self.nearest):
            return None
        return Failure(
            error_type=self.nearest.error_type,
            family=family_of(self.nearest.error_type),
            message=self.nearest.message,
            frames=(),
            failing_tests=self.failure.failing_tests,
        )

    def _nearness(self, verdict: ScreenVerdict) -> tuple[bool, int, bool]:
        return verdict.plausible, verdict.passed, self._moved(verdict)

    def _moved(self, verdict: ScreenVerdict) -> bool:
        return verdict.error_type not in UNTELLING and verdict.error_type != self.failure.error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Plausible candidates in the order of being found, the first of them included.

    `thorough` tells that enough others were screened for the absence of more to mean something.
    """

    candidates: tuple[Candidate, ...]
    thorough: bool


def shortlist(first: Candidate, verdicts: Iterator[ScreenVerdict], tally: AttemptTally, clock: Clock) -> Shortlist:
    """The first plausible candidate and its rivals, from the verdicts on further candidates, until `clock` rings."""
    found = [first]
    before = tally.rivals
    for verdict in islice(verdicts, RIVALS):
        tally.add_rival(verdict)
        if verdict.plausible:
            found.append(verdict.candidate)
        if clock() or len(found) == MOST_PLAUSIBLE:
            break
    return Shortlist(candidates=tuple(found), thorough=tally.rivals - before >= THOROUGH or not clock.rang)


def changed_characters(before: str, after: str) -> int:
    """The length of the shortest stretch that has to be replaced, on its longer side."""
    head = _common_start(before, after)
    tail = _common_start(before[::-1], after[::-1])
    return max(len(before), len(after)) - min(len(before), len(after), head + tail)


def _common_start(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


INPUTS, SECONDS = 240, 1.5
"""So many calls are made on each candidate, for so many seconds of processor time at most."""

CONSTANTS, LONGEST_CONSTANT, GREATEST = 24, 40, 10**6


class Comparer:
    """Compares candidates for one failure.

    `suspicion` is the score of the likeliest place of the fault; `taste` knows what maintainers prefer, where it is known.
    """

    def __init__(
        self, sources: Mapping[str, str], failure: Failure, suspicion: float, taste: PreferenceModel | None = None
    ) -> None:
        self._sources = sources
        self._suspicion = suspicion
        self._failure = failure
        self._taste = taste

    def field(self, listed: Shortlist, pool: RunnerPool, seed: int) -> Field:
        """What is known of these candidates; a single one is compared with nothing."""
        candidates = listed.candidates
        before = [self._sources.get(each.path, "") for each in candidates]
        pairs = list(zip(before, (each.source for each in candidates), strict=True))
        return Field(
            candidates=candidates,
            comparison=self._compared(candidates, pool, seed),
            kinds=tuple(kind_of(old, new) for old, new in pairs),
            sizes=tuple(changed_characters(old, new) for old, new in pairs),
            thorough=listed.thorough,
            suspicion=self._suspicion,
            liking=liking(self._taste, candidates, before) if self._taste and len(candidates) > 1 else (),
        )

    def _compared(self, candidates: Sequence[Candidate], pool: RunnerPool, seed: int) -> BehaviourComparison:
        raising = self._failure.family is not Family.ASSERTION
        if len(candidates) < 2:
            return BehaviourComparison(observed=(None,) * len(candidates), unedited=None, raising=raising)
        wanted = self._wanted(candidates, seed, unedited=False)
        observed = tuple(pool.observed(candidate, wanted) for candidate in candidates)
        unedited = pool.observed(candidates[0], self._wanted(candidates, seed, unedited=True))
        return BehaviourComparison(observed=observed, unedited=unedited, raising=raising)

    def _wanted(self, candidates: Sequence[Candidate], seed: int, *, unedited: bool) -> Observe:
        places = {(candidate.path, candidate.function) for candidate in candidates}
        path, function = places.pop() if len(places) == 1 else ("", "")
        return Observe(
            path=path,
            function=function,
            seed=seed,
            inputs=INPUTS,
            seconds=SECONDS,
            constants=constants_of(candidates),
            unedited=unedited,
        )


def constants_of(candidates: Sequence[Candidate]) -> tuple[int | str, ...]:
    """Numbers and texts in the edited functions, as they are with any of the edits: where behaviour may change."""
    found: dict[int | str, None] = {}
    for candidate in candidates:
        for node in ast.walk(_function(candidate)):
            value = node.value if isinstance(node, ast.Constant) else None
            if (isinstance(value, str) and len(value) <= LONGEST_CONSTANT) or (
                type(value) is int and abs(value) <= GREATEST
            ):
                found[value] = None
    return tuple(found)[:CONSTANTS]


def extent_of(candidate: Candidate) -> tuple[int, int]:
    """The first and the last line of the edited function; all lines when the edit is in none."""
    function = _function(candidate)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return function.lineno, function.end_lineno or function.lineno
    return 1, candidate.source.count("\n") + 1


def _function(candidate: Candidate) -> ast.AST:
    """The edited function; of several of one name the first that the line of the edit lies in."""
    tree = ast.parse(candidate.source)
    name = candidate.function.split(".")[-1]
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == name]
    around = [f for f in functions if f.lineno <= candidate.line <= (f.end_lineno or f.lineno)]
    return next(iter(around or functions), ast.Module(body=[], type_ignores=[]))
