"""Whether the fork screen says what fresh processes say: candidates for bugs in real packages, judged both ways.

Each candidate is judged in a fork, several at once as in a repair, and by a `python -m pytest` of its own with the same
tests. Compared are whether it is plausible and how many of the failing tests it made pass, of those that the screen runs
before it gives a candidate up. Ends with 1 when any verdicts differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import show
from benchmarks.subjects import BUGS, Bug, Subject, planted, prepared
from workers.ports import Limits
from workers.repair.baseline import Selection
from workers.repair.candidates import Candidate, Verdict
from workers.repair.judges import TIMEOUT
from workers.repair.screen import open_screen
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome
from workers.sandbox.testing import run_tests

FRESH = Limits(wall_seconds=60.0)
FRESH_TEST_SECONDS = 4.0
"""After so much processor time a test in a fresh process counts as endless."""

FIRST_FAILING = 5
"""So many failing tests the screen runs in any case (workers/repair/forked/trial.py)."""

STRIDE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one way says of a candidate: whether it is plausible, and how many failing tests passed until it was given up."""

    plausible: bool
    passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One candidate, judged in a fork and in a fresh process."""

    fork: Verdict
    fresh: Told

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        return Told(plausible=self.fork.plausible, passed=self.fork.passed) == self.fresh

    @property
    def reason(self) -> str:
        """What is known of a difference."""
        if self.fork.error_type == TIMEOUT:
            return "the fork was ended for taking too long"
        return f"the fork says {self.fork.error_type or 'that all pass'}: {self.fork.message[:200]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All candidates of one package. Seconds are those of forks and of fresh processes."""

    bug: Bug
    pairs: tuple[Pair, ...]
    tests: int
    seconds: tuple[float, float]

    @property
    def differing(self) -> tuple[Pair, ...]:
        """Where the ways differ."""
        return tuple(pair for pair in self.pairs if not pair.agree)


def compared(bug: Bug, count: int, jobs: int) -> Compared:
    """Judge `count` candidates both ways, with `jobs` fresh processes at once."""
    with tempfile.TemporaryDirectory(prefix="apprentice-agreement-") as scratch:
        subject = prepared(planted(bug, Path(scratch)), count, STRIDE)
        begun = time.monotonic()
        verdicts = screened(subject, jobs)
        between = time.monotonic()
        with ThreadPoolExecutor(jobs) as threads:
            fresh = list(threads.map(lambda tried: apart(subject.project, subject.wanted, tried), subject.candidates))
        ended = time.monotonic()
    pairs = (Pair(fork=verdicts[_key(one)], fresh=told) for one, told in zip(subject.candidates, fresh, strict=True))
    return Compared(
        bug=bug,
        pairs=tuple(pairs),
        tests=len(subject.wanted.failing) + len(subject.wanted.covering),
        seconds=(between - begun, ended - between),
    )


def screened(subject: Subject, judges: int) -> dict[tuple[str, str], Verdict]:
    """The fork screen's verdicts, by path and source."""
    wanted = subject.wanted
    with open_screen(
        Bubblewrap(),
        subject.project,
        failing=wanted.failing,
        covering=wanted.covering,
        seconds=wanted.seconds,
        endless=wanted.endless,
        judges=judges,
    ) as screen:
        assert not screen.note, screen.note
        return {_key(v.candidate): v for v in screen.verdicts(subject.candidates, deadline=lambda: False)}


def apart(project: Project, wanted: Selection, candidate: Candidate) -> Told:
    """What a fresh process says, counted as the screen counts."""
    report = run_tests(
        Bubblewrap(),
        project,
        tests=(*wanted.failing, *wanted.covering),
        overlay={candidate.path: candidate.source.encode()},
        limits=FRESH,
        test_seconds=FRESH_TEST_SECONDS,
    ).report
    passed = {result.id for result in report.results if result.outcome is TestOutcome.PASSED}
    return counted(wanted, passed, whole=report.complete)


def counted(wanted: Selection, passed: set[str], *, whole: bool) -> Told:
    """What a screen that stops at the first failure, once it has run the first failing tests, says of such outcomes."""
    counts = 0
    given_up = False
    for number, test in enumerate(wanted.failing):
        if given_up and number >= FIRST_FAILING:
            break
        counts += test in passed
        given_up |= test not in passed
    return Told(plausible=not given_up and passed.issuperset(wanted.covering) and whole, passed=counts)


def _key(candidate: Candidate) -> tuple[str, str]:
    return candidate.path, candidate.source


def row(result: Compared) -> tuple[str, str]:
    """One package's line."""
    same = len(result.pairs) - len(result.differing)
    plausible = sum(pair.fork.plausible for pair in result.pairs)
    forks, fresh = result.seconds
    told = f"{same} of {len(result.pairs)} alike, {plausible} plausible, {result.tests} tests"
    return result.bug.package, f"{told}, {forks:.0f} s in forks, {fresh:.0f} s in fresh processes"


def differences(results: Sequence[Compared]) -> list[str]:
    """Every disagreement in words."""
    return [
        f"{result.bug.package}: {pair.fork.candidate.path}:{pair.fork.candidate.line} {pair.fork.candidate.template}: "
        f"fork {pair.fork.plausible}/{pair.fork.passed}, fresh {pair.fresh.plausible}/{pair.fresh.passed}; {pair.reason}"
        for result in results
        for pair in result.differing
    ]


def run(bugs: Sequence[Bug], count: int, jobs: int) -> bool:
    """Measure and print; whether all agree."""
    results = []
    for bug in bugs:
        results.append(compared(bug, count, jobs))
        print(f"{': '.join(row(results[-1]))}", file=sys.stderr, flush=True)
    everything = sum(len(result.pairs) for result in results)
    differing = differences(results)
    show(
        f"agreement: fork screen and fresh processes, {count} candidates for a bug in each of {len(bugs)} packages",
        [*map(row, results), ("verdicts alike", f"{everything - len(differing)} of {everything}")],
        differing,
    )
    return not differing


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("--candidates", type=int, default=100, help="for each package")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--packages", nargs="*", default=[bug.package for bug in BUGS])
    given = parser.parse_args()
    bugs = [bug for bug in BUGS if bug.package in given.packages]
    if not run(bugs, given.candidates, given.jobs):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
