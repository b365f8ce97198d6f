"""Where developers' changes lie among the suspected lines, with each source of suspicion and without it.

    python -m benchmarks.repair.suspects DIR

DIR holds past fixes as cases, as `benchmarks.repair.curves CLONE... --into DIR` makes them. The failing tests of each are run
and traced; no candidate is tried. The place of a fix is that of the likeliest line that it changes, or that it adds something
beside; among equals the middle. Where none is suspected it is the number of lines of the code. The strongest simple baseline
is Ochiai's coefficient alone.
"""

from __future__ import annotations

import argparse
import difflib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

from rich.console import Console

from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.harness import progress_bar
from benchmarks.report import bootstrap, ratio_of_sums, show
from bot.local import snapshot
from memory.model import Failure
from workers.errors import ApprenticeError
from workers.ports import Limits
from workers.repair.candidates import Suspect
from workers.repair.classify import belongs_to_tests, failure_of
from workers.repair.engines.search import localise
from workers.repair.reproduce import Reproduction, reproduce, sources_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

LIMITS = Limits(wall_seconds=120, cpu_seconds=120)

SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "coverage": "_spectrum",
        "traceback": "_trace",
        "what the test mentions": "_mentions",
        "missing names": "_likely_definitions",
        "constructors": "_constructors",
        "conditions around": "_deciding",
        "headers and constants": "_outside",
        "less for what assertions call": "_lowered",
    }
)
"""The functions of `localise` by what they look at: each adds lines, but the last, which takes from their scores."""

PRESENT, BASELINE = "present", "Ochiai's coefficient alone"
WAYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        PRESENT: frozenset(),
        BASELINE: frozenset(SOURCES) - {"coverage"},
        **{f"without {source}": frozenset({source}) for source in SOURCES},
    }
)
"""What each way does without."""

Line = tuple[str, int]


def places(case: Case) -> dict[str, float]:
    """The place of the case's fix by each way; empty where nothing fails. Raises ApprenticeError when its tests cannot run."""
    with snapshot(case.repository) as tree:
        project = discover(tree, python=None, test_command=case.test_command, copy_of=case.repository)
        seen = reproduce(Bubblewrap(), project, limits=LIMITS)
        sources = sources_of(project, seen)
    failure = failure_of(seen.failing_report)
    wanted = changed(case, sources)
    return {} if failure is None or not wanted else {way: _place(way, failure, seen, sources, wanted) for way in WAYS}


def changed(case: Case, sources: Mapping[str, str]) -> frozenset[Line]:
    """The lines that the solution changes or takes out, and those on both sides of what it adds."""
    assert case.solution is not None, "a past fix is known"
    found: set[Line] = set()
    for file in case.solution.rglob("*.py"):
        path = file.relative_to(case.solution).as_posix()
        old, new = (text.split("\n") for text in (sources.get(path, ""), file.read_text(encoding="utf-8")))
        for tag, start, end, *_ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "insert":
                found |= {(path, start), (path, start + 1)}
            elif tag != "equal":
                found |= {(path, number) for number in range(start + 1, end + 1) if old[number - 1].strip()}
    return frozenset(found)


def _place(
    way: str, failure: Failure, seen: Reproduction, sources: Mapping[str, str], wanted: frozenset[Line]
) -> float:
    with ExitStack() as stack:
        for source in WAYS[way]:
            stack.enter_context(patch.object(localise, SOURCES[source], _without(source)))
        found = localise.suspects(failure, seen.lines, seen.passing, sources=sources)
    code = (text for path, text in sources.items() if not belongs_to_tests(path))
    return place(found, wanted, last=sum(text.count("\n") for text in code))


def _without(source: str) -> Callable[..., object]:
    def unchanged(scores: Mapping[Line, float], *_: object) -> Mapping[Line, float]:
        return scores

    def nothing(*_: object, **__: object) -> dict[Line, float]:
        return {}

    return unchanged if SOURCES[source] == "_lowered" else nothing


def place(found: Iterable[Suspect], wanted: frozenset[Line], *, last: int) -> float:
    """From 1: of the likeliest wanted line, the middle one among equals; `last` where none is suspected."""
    scores = {(each.path, each.line): each.score for each in found}
    best = max((scores.get(line, 0.0) for line in wanted), default=0.0)
    if not best:
        return float(last)
    return sum(score > best for score in scores.values()) + (sum(score == best for score in scores.values()) + 1) / 2


def measured(cases: Sequence[Case]) -> Iterator[tuple[Case, dict[str, float]]]:
    """Each case with its places, as they come; those that say nothing are named and left out."""
    with progress_bar(Console(stderr=True)) as bar:
        for case in bar.track(cases):
            try:
                found = places(case)
            except ApprenticeError as problem:
                print(f"{case.id}: left out: {problem}", file=sys.stderr, flush=True)
                continue
            if found:
                yield case, found
            else:
                print(f"{case.id}: left out: nothing fails, or the code was not read", file=sys.stderr, flush=True)


def report(found: Mapping[str, Sequence[Mapping[str, float]]]) -> list[tuple[str, str]]:
    """A row for each way, of the places by package: how often near, and how far compared with the `PRESENT` way's places.

    The ratio is a geometric mean over cases; its interval is over packages, as cases of one are alike.
    """
    rows = []
    ways = next(iter(found.values()))[0]
    for way in ways:
        every = [case[way] for cases in found.values() for case in cases]
        logs = [[math.log(case[way] / case[PRESENT]) for case in cases] for cases in found.values()]
        ratio = bootstrap([(sum(each), len(each)) for each in logs], ratio_of_sums)
        moved = [log for each in logs for log in each if log]
        near = ", ".join(f"{sum(each <= most for each in every)}" for most in (1, 5, 20))
        farther = f"{sum(log > 0 for log in moved)} farther, {sum(log < 0 for log in moved)} nearer"
        farness = (
            f"{math.exp(ratio.estimate):.2f} (95 % {math.exp(ratio.low):.2f} to {math.exp(ratio.high):.2f}), {farther}"
        )
        rows.append((way, f"within 1, 5, 20: {near}; {'1' if way == PRESENT else farness}"))
    return rows


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.suspects", description=__doc__)
    parser.add_argument("cases", type=Path, metavar="DIR")
    parser.add_argument("--hunks", type=int, default=3, help="only fixes of at most so many places")
    given = parser.parse_args()
    try:
        cases = load_cases(given.cases)
    except BadCase as problem:
        parser.error(str(problem))
    few = [case for case in cases if case.solution and int(case.labels.get("hunks", 1)) <= given.hunks]
    found: dict[str, list[dict[str, float]]] = {}
    for case, places_of in measured(few):
        found.setdefault(case.labels.get("project", case.id), []).append(places_of)
    if not found:
        parser.error(f"none of the {len(few)} cases with at most {given.hunks} places fails here")
    fixes = sum(map(len, found.values()))
    show(f"places of developers' lines among the suspects: {fixes} past fixes of {len(found)} packages", report(found))


if __name__ == "__main__":
    main()
