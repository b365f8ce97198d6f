"""Candidates per second: the fork screen against one fresh `python -m pytest` a candidate, both in the sandbox.

Both judge the same candidates by the same tests, on a bug planted into the playground's parcel project.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.parcel import founded
from benchmarks.planting import Planted, plantable
from benchmarks.report import show, spread
from bot.playground.script import PROJECT
from workers.repair.baseline import Selection
from workers.repair.candidates import Candidate, Verdict
from workers.repair.classify import failure_of
from workers.repair.judges import verdict_from
from workers.repair.localise import suspects
from workers.repair.reproduce import reproduce
from workers.repair.screen import open_screen
from workers.repair.search import propose
from workers.repair.selection import judges, sources_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project
from workers.sandbox.testing import run_tests

BUG = ("src/parcel/money.py", "self.cents + other.cents", "self.cents - other.cents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Verdicts, and the seconds that they took; `opening` is what had to be done before the first."""

    verdicts: tuple[Verdict, ...]
    seconds: float
    opening: float = 0.0


def planted() -> Planted:
    """The bug: a sum that subtracts. It fails tests of several modules."""
    path, right, wrong = BUG
    edited = (PROJECT / path).read_text(encoding="utf-8").replace(right, wrong)
    found = [bug for bug in plantable(PROJECT) if (bug.path, bug.source) == (path, edited)]
    assert found, f"{right} stands no longer in {path}"
    return found[0]


def prepared(project: Project, count: int) -> tuple[Selection, list[Candidate]]:
    """The tests that judge, and the first `count` candidates that all strategies together propose."""
    reproduction = reproduce(Bubblewrap(), project)
    failure = failure_of(reproduction.failing_report)
    assert failure is not None, "the planted bug fails tests"
    sources = sources_of(project)
    suspected = suspects(failure, reproduction.lines, reproduction.passing, sources=sources)
    wanted = judges(reproduction, failure, suspected)
    return wanted, list(islice(propose(sources, suspected, failure, strategies=None), count))


def screened(project: Project, wanted: Selection, candidates: Sequence[Candidate]) -> Timed:
    """Every candidate in a fork of a pytest that has collected."""
    begun = time.perf_counter()
    with open_screen(
        Bubblewrap(), project, failing=wanted.failing, covering=wanted.covering, seconds=wanted.seconds
    ) as screen:
        opened = time.perf_counter()
        verdicts = tuple(screen.verdicts(candidates, deadline=lambda: False))
        ended = time.perf_counter()
    return Timed(verdicts=verdicts, seconds=ended - opened, opening=opened - begun)


def apart(project: Project, wanted: Selection, candidates: Sequence[Candidate]) -> Timed:
    """Every candidate in a fresh process of its own, with the same tests selected."""
    begun = time.perf_counter()
    verdicts = tuple(_apart(project, wanted, candidate) for candidate in candidates)
    return Timed(verdicts=verdicts, seconds=time.perf_counter() - begun)


def _apart(project: Project, wanted: Selection, candidate: Candidate) -> Verdict:
    tests = (*wanted.failing, *wanted.covering)
    overlay = {candidate.path: candidate.source.encode()}
    return verdict_from(candidate, run_tests(Bubblewrap(), project, tests=tests, overlay=overlay).report, wanted)


def agreed(one: Timed, other: Timed) -> int:
    """How many candidates both ways find plausible, or both implausible."""
    plausible = {(v.candidate.path, v.candidate.source): v.plausible for v in one.verdicts}
    return sum(plausible[v.candidate.path, v.candidate.source] == v.plausible for v in other.verdicts)


def run(runs: int, count: int) -> None:
    """Measure and print."""
    forks: list[Timed] = []
    fresh: list[Timed] = []
    with tempfile.TemporaryDirectory(prefix="apprentice-screen-") as scratch:
        project = founded(Path(scratch) / "parcel", planted())
        wanted, candidates = prepared(project, count)
        for _ in range(runs):
            forks.append(screened(project, wanted, candidates))
            fresh.append(apart(project, wanted, candidates))
    tried = len(candidates)
    pairs = list(zip(forks, fresh, strict=True))
    same = sum(agreed(one, other) for one, other in pairs)
    show(
        f"screen: {tried} candidates, {len(wanted.failing)} failing and {len(wanted.covering)} covering tests, {runs} runs",
        [
            ("fork screen, candidates per second", spread([tried / each.seconds for each in forks], 1)),
            ("fresh pytest each, candidates per second", spread([tried / each.seconds for each in fresh], 2)),
            ("ratio within a run", spread([other.seconds / one.seconds for one, other in pairs], 1)),
            (
                "ratio, the screen's opening counted in",
                spread([o.seconds / (n.seconds + n.opening) for n, o in pairs], 1),
            ),
            ("verdicts alike", f"{same} of {tried * runs}"),
        ],
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screen", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=60)
    given = parser.parse_args()
    run(given.runs, given.candidates)


if __name__ == "__main__":
    main()
