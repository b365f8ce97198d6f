"""Find out what there is to know of plausible candidates: how they behave, how natural they read, what kind they are of."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from memory.model import Failure, Family
from memory.preferences.model import PreferenceModel
from workers.repair.behaviour import Comparison
from workers.repair.candidates import Candidate
from workers.repair.classify import is_test_path
from workers.repair.liking import liking
from workers.repair.naturalness import Naturalness
from workers.repair.ranking import Field
from workers.repair.running.forkserver import Observe
from workers.repair.running.runner_pool import RunnerPool
from workers.repair.shortlist import Shortlist, changed_characters
from workers.repair.suspicion import kind_of

INPUTS, SECONDS = 240, 1.5
"""So many calls are made on each candidate, for so many seconds of processor time at most."""

CONSTANTS, LONGEST_CONSTANT, GREATEST = 24, 40, 10**6


class Comparer:
    """Compares candidates for one failure. What the repository's code looks like is learned when first needed.

    `suspicion` is the score of the likeliest place of the fault; `taste` knows what people here like, where it is known.
    """

    def __init__(
        self, sources: Mapping[str, str], failure: Failure, suspicion: float, taste: PreferenceModel | None = None
    ) -> None:
        self._sources = sources
        self._suspicion = suspicion
        self._failure = failure
        self._taste = taste
        self._naturalness: Naturalness | None = None

    def field(self, listed: Shortlist, pool: RunnerPool, seed: int) -> Field:
        """What is known of these candidates; a single one is compared with nothing."""
        candidates = listed.candidates
        natural = self._naturalness = self._naturalness or Naturalness(
            text for path, text in self._sources.items() if not is_test_path(path)
        )
        before = [self._sources.get(each.path, "") for each in candidates]
        pairs = list(zip(before, (each.source for each in candidates), strict=True))
        return Field(
            candidates=candidates,
            comparison=self._compared(candidates, pool, seed),
            kinds=tuple(kind_of(old, new) for old, new in pairs),
            surprise=tuple(natural.surprise(old, new) for old, new in pairs),
            sizes=tuple(changed_characters(old, new) for old, new in pairs),
            thorough=listed.thorough,
            suspicion=self._suspicion,
            liking=liking(self._taste, candidates, before) if self._taste and len(candidates) > 1 else (),
        )

    def _compared(self, candidates: Sequence[Candidate], pool: RunnerPool, seed: int) -> Comparison:
        raising = self._failure.family is not Family.ASSERTION
        if len(candidates) < 2:
            return Comparison(observed=(None,) * len(candidates), unedited=None, raising=raising)
        wanted = self._wanted(candidates, seed, unedited=False)
        observed = tuple(pool.observed(candidate, wanted) for candidate in candidates)
        unedited = pool.observed(candidates[0], self._wanted(candidates, seed, unedited=True))
        return Comparison(observed=observed, unedited=unedited, raising=raising)

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
