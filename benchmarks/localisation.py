"""How near the suspects come to the fault, and what watching the lines costs: over cases whose faulty line is known.

Compared are the suspects that a repair starts from, and what they would be by coverage alone (Ochiai) and by the traceback
alone. A line's rank is 1 more than the number of lines that are more suspect; of equals, the middle. Each case's traced tests
are run again without tracing, in pairs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.report import show, spread
from memory.model import Failure
from workers.errors import ApprenticeError
from workers.repair.candidates import Suspect
from workers.repair.classify import failure_of
from workers.repair.localise import suspects
from workers.repair.reproduce import Reproduction, companions, reproduce
from workers.repair.selection import sources_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.testing import run_tests

DEPTHS = (1, 3, 10, 30)
AROUND = 1
"""A statement that was dropped is found when a line beside its place is."""

NOWHERE = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """One case: the rank of its faulty line by each way, infinite where it is no suspect, and traced over plain seconds."""

    case: str
    ranks: Mapping[str, float]
    overhead: float


def located(case: Case) -> Located | None:
    """Where a case's fault is found; None when nothing fails."""
    project = discover(case.repository, python=None, test_command=case.test_command)
    seen = reproduce(Bubblewrap(), project)
    failure = failure_of(seen.failing_report)
    if failure is None:
        return None
    sources = sources_of(project)
    ways: dict[str, tuple[Failure, Reproduction]] = {
        "both, and what the tests speak of": (failure, seen),
        "coverage alone": (replace(failure, frames=(), message=""), seen),
        "the traceback alone": (failure, replace(seen, lines={}, passing=())),
    }
    place = (case.labels["module"], int(case.labels["line"]))
    found = {
        way: rank(suspects(known, told.lines, told.passing, sources=sources), place)
        for way, (known, told) in ways.items()
    }
    return Located(case=case.id, ranks=found, overhead=overhead(project, seen))


def rank(listed: Sequence[Suspect], place: tuple[str, int]) -> float:
    """The rank of a line, or of the most suspect one beside it."""
    path, line = place
    own = max((s.score for s in listed if s.path == path and abs(s.line - line) <= AROUND), default=None)
    if own is None:
        return NOWHERE
    return 1 + sum(s.score > own for s in listed) + (sum(s.score == own for s in listed) - 1) / 2


def overhead(project: Project, seen: Reproduction) -> float:
    """How many times as long the traced tests take as they do untraced, the start of pytest included."""
    failing = [result.id for result in seen.failing_report.failing()]
    tests = (*failing, *companions(seen.failing_report))

    def seconds(*, trace: bool) -> float:
        begun = time.monotonic()
        run_tests(Bubblewrap(), project, tests=tests, trace=trace)
        return time.monotonic() - begun

    plain = seconds(trace=False)
    return seconds(trace=True) / plain


def main() -> None:
    """Entry point; exit code 2 for what was asked wrongly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.localisation", description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="case folders that name their `module` and `line`")
    parser.add_argument("--only", default="*", metavar="GLOB", help="the cases whose id fits")
    given = parser.parse_args()
    try:
        cases = [case for case in load_cases(given.cases, given.only) if {"module", "line"} <= case.labels.keys()]
    except BadCase as problem:
        parser.error(str(problem))
    made: list[Located] = []
    for case in cases:
        try:
            found = located(case)
        except ApprenticeError as problem:
            print(f"{case.id} did not run: {problem}", flush=True)
            continue
        if found is not None:
            made.append(found)
            print(f"{case.id}: {', '.join(f'{way} {place:g}' for way, place in found.ranks.items())}", flush=True)
    if not made:
        parser.error("no case with a `module` and a `line` could be run")
    report(made)


def report(made: Sequence[Located]) -> None:
    """Print the table."""
    rows = []
    for way in made[0].ranks:
        ranks = [each.ranks[way] for each in made]
        shares = (f"{sum(r <= depth for r in ranks) / len(ranks):.0%} in the first {depth}" for depth in DEPTHS)
        rows.append((way, f"{', '.join(shares)}; median rank {statistics.median(ranks):g}"))
    rows.append(("traced over untraced", spread([each.overhead for each in made])))
    show(f"the faulty line of {len(made)} cases among the suspects", rows)


if __name__ == "__main__":
    main()
