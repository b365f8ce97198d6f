"""Second edits on top of a first one that came near: fixes that take two.

A partial fix shows itself by what it changes: some failing tests pass, another error is raised, or another assertion
fails. Building on such near misses is what makes multi-edit search feasible (Angelix: Mechtaev et al. 2016; ARJA: Yuan
and Banzhaf 2020; partial-fix chaining: Wong et al. 2021, VarFix). Pure: the caller holds the verdicts and asks for more.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memory.model import EditShape, Failure
from memory.skills import composed
from workers.repair.engines.search.candidates import Candidate, ScreenVerdict, Suspect
from workers.repair.engines.search.search import propose

MOST_KEPT = 8

ELSEWHERE = 0.5
"""What a second edit is worth outside the function of the first."""

_DEAD_ENDS = frozenset({"Timeout", "Crash", "NameError", "UnboundLocalError", "SyntaxError", "RecursionError"})
_EXPECTED = re.compile(r"assert .+? (?:==|!=|is|in|<=?|>=?) (.+?)(?:\n|$)")


class NearMisses:
    """The most promising first edits so far."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._kept: list[tuple[float, int, Candidate]] = []
        self._seen = 0

    def add(self, verdict: ScreenVerdict) -> None:
        """Keep a candidate if it is among the best; of equals the first one, which was the likeliest."""
        self._seen += 1
        weight = nearness(verdict, self._failure)
        if weight > 0.0 and "+" not in verdict.candidate.template:
            self._kept.append((weight * verdict.candidate.score, -self._seen, verdict.candidate))
            self._kept = sorted(self._kept, reverse=True)[:MOST_KEPT]

    def best(self) -> list[tuple[Candidate, float]]:
        """Each with its weight, within [0, 1]."""
        return [(candidate, weight / candidate.score) for weight, _, candidate in self._kept if candidate.score]


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
    before, after = _expected(failure.message), _expected(verdict.message)
    if before and after and before != after:
        return 0.3
    return 0.2 if verdict.message and verdict.message != failure.message and not before else 0.0


def _expected(message: str) -> str:
    match = _EXPECTED.search(message)
    return match.group(1).strip() if match else ""


def propose_around(
    first: Candidate,
    sources: Mapping[str, str],
    suspects: Sequence[Suspect],
    failure: Failure,
    *,
    replay: Mapping[EditShape, float] = {},
    template_weight: Mapping[str, float] = {},
) -> Iterator[Candidate]:
    """Second edits of the same file on top of `first`, best first; each source has both, none is the original again.

    `sources` and `suspects` are those that `first` was proposed from; `failure` best the one that it turned into. A
    pair's template and shape name both of its edits, its line, function and strategy are the first's.
    """
    original = sources[first.path]
    moved = list(_moved(first, original, suspects))
    edited = {**sources, first.path: first.source}
    seconds = propose(edited, moved, failure, strategies=None, replay=replay, template_weight=template_weight)
    return (_pair(first, second) for second in seconds if second.source != original)


def combine(
    near: Iterable[tuple[Candidate, float]],
    sources: Mapping[str, str],
    suspects: Sequence[Suspect],
    failure: Failure,
    *,
    replay: Mapping[EditShape, float] = {},
    template_weight: Mapping[str, float] = {},
) -> Iterator[Candidate]:
    """Second edits on top of several near misses at once, each with its `nearness`; the likeliest pairs first.

    Second edits in `replay` come forward by how well they fit, so that two learned edits make one patch.

    Pairs of one meaning may come twice, by way of either edit: the caller knows what was tried.
    """
    streams = [
        _weighed(
            propose_around(first, sources, suspects, failure, replay=replay, template_weight=template_weight),
            weight,
        )
        for first, weight in near
    ]
    yield from heapq.merge(*streams, key=lambda candidate: -candidate.score)


def _weighed(candidates: Iterator[Candidate], weight: float) -> Iterator[Candidate]:
    return (replace(candidate, score=candidate.score * weight) for candidate in candidates)


def _moved(first: Candidate, original: str, suspects: Sequence[Suspect]) -> Iterator[Suspect]:
    """The suspects where they are after the first edit; the lines that it wrote are as suspicious as the one it changed."""
    before, after = original.splitlines(), first.source.splitlines()
    here = [s.score for s in suspects if s.path == first.path and s.line == first.line]
    lines: dict[int, int] = {}
    changed: list[int] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lines.update({a + i + 1: c + i + 1 for i in range(min(b - a, d - c))} if kind in ("equal", "replace") else {})
        changed += [] if kind == "equal" else range(c + 1, d + 1)
    for suspect in suspects:
        if suspect.path == first.path and suspect.line in lines:
            yield replace(suspect, line=lines[suspect.line])
    for line in changed:
        yield Suspect(path=first.path, line=line, score=max(here, default=0.5))


def _pair(first: Candidate, second: Candidate) -> Candidate:
    shape = composed(first.shape, second.shape)
    score = first.score * second.score * (1.0 if second.function == first.function else ELSEWHERE)
    return replace(
        second,
        line=first.line,
        function=first.function,
        strategy=first.strategy,
        template=shape.template,
        shape=shape,
        score=score,
        skills=(*first.skills, *second.skills),
    )
