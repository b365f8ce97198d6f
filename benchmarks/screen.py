"""Candidates per second and core: the fork screen against what else there is, on a real package.

The screen and `python -m pytest -x -q`, a process for each candidate, judge the same candidates by the same tests in the
same sandbox, one after the other.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from benchmarks.repair.cases import BadCase
from benchmarks.report import show, spread
from workers.repair.candidates import Candidate, ScreenVerdict
from workers.repair.classify import failure_of
from workers.repair.engines.search.localise import suspects
from workers.repair.engines.search.search import SearchSpace
from workers.repair.reproduce import ScreeningTests, reproduce, screening_tests, sources_of
from workers.repair.running.candidate_runner import verdict_from
from workers.repair.running.forkserver import cores
from workers.repair.running.runner_pool import pool_for
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.run_tests import run_tests

COMMAND = ("python", "-m", "pytest", "-x", "-q")

PACKAGE, VERSION, MODULE = "toolz", "1.0.0", "toolz/itertoolz.py"
SHA256 = "2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02"
SDIST = Path(".cache/sdists", f"{PACKAGE}-{VERSION}.tar.gz")
RIGHT, WRONG = "return tuple(collections.deque(seq, n))", "return tuple(collections.deque(n, seq))"
"""The bug that is planted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Verdicts by candidate, and their seconds; `opening` is what had to be done before the first."""

    plausible: dict[tuple[str, str], bool]
    seconds: float
    opening: float = 0.0

    @property
    def rate(self) -> float:
        """Candidates per second."""
        return len(self.plausible) / self.seconds

    @property
    def rate_with_opening(self) -> float:
        """Candidates per second, with the time of the opening."""
        return len(self.plausible) / (self.seconds + self.opening)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The same candidates, judged in a fork each, in shared forks, by a judge for each core, and in fresh processes."""

    forks: Timed
    shared: Timed
    cores: Timed
    fresh: Timed

    @property
    def alike(self) -> int:
        """How many verdicts are the same all four ways."""
        ways = (self.forks.plausible, self.shared.plausible, self.cores.plausible)
        return sum(all(way[key] == passes for way in ways) for key, passes in self.fresh.plausible.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A project with a bug, the tests that judge, and candidates."""

    project: Project
    wanted: ScreeningTests
    candidates: tuple[Candidate, ...]


def unpacked(at: Path) -> Path:
    """The package's source distribution below `at`. Raises BadCase where it cannot be downloaded."""
    if not SDIST.is_file() or hashlib.sha256(SDIST.read_bytes()).hexdigest() != SHA256:
        _download()
    subprocess.run(["tar", "--extract", "--file", SDIST, "--directory", at], check=True)
    return at / f"{PACKAGE}-{VERSION}"


def _download() -> None:
    SDIST.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SDIST.parent) as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "2", "--timeout", "20"]
        options = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", scratch]
        done = subprocess.run(
            [*pip, *options, "--requirement", str(wanted)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise BadCase(f"{PACKAGE} {VERSION} could not be downloaded: {reason}")
        (Path(scratch) / SDIST.name).replace(SDIST)


def subject(at: Path, count: int) -> Subject:
    """The package with its bug, below `at`; its tests are named one by one, so that nothing else is collected.

    `count` candidates of all strategies, the likeliest. Raises BadCase where the package cannot be downloaded.
    """
    tree = unpacked(at)
    text = (tree / MODULE).read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1, f"{RIGHT!r} is in {MODULE} once"
    (tree / MODULE).write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    project = discover(tree, python=Path(sys.executable), test_command=f"python -m pytest -q {PACKAGE}")
    reproduction = reproduce(Bubblewrap(), project)
    failure = failure_of(reproduction.failing_report)
    assert failure is not None, "the planted bug fails tests"
    sources = sources_of(project)
    suspected = suspects(failure, reproduction.lines, reproduction.passing, sources=sources)
    return Subject(
        project=replace(project, test_command=COMMAND),
        wanted=screening_tests(reproduction, failure, suspected),
        candidates=tuple(islice(SearchSpace(sources=sources, suspects=suspected, failure=failure).proposed(), count)),
    )


def screened(tried: Subject, judges: int, *, together: bool) -> Timed:
    """Every candidate in a fork of a pytest that has collected, its own one or, `together`, one that it may share."""
    begun = time.perf_counter()
    with pool_for(Bubblewrap(), tried.project, tried.wanted, runners=judges, together=together) as screen:
        assert not screen.note, screen.note
        opened = time.perf_counter()
        verdicts = list(screen.verdicts(tried.candidates, deadline=lambda: False))
        ended = time.perf_counter()
    return Timed(plausible=_plausible(verdicts), seconds=ended - opened, opening=opened - begun)


def apart(tried: Subject) -> Timed:
    """Every candidate in a fresh process of its own."""
    begun = time.perf_counter()
    verdicts = [_apart(tried, candidate) for candidate in tried.candidates]
    return Timed(plausible=_plausible(verdicts), seconds=time.perf_counter() - begun)


def _apart(tried: Subject, candidate: Candidate) -> ScreenVerdict:
    tests = (*tried.wanted.failing, *tried.wanted.covering)
    overlay = {candidate.path: candidate.source.encode()}
    run = run_tests(Bubblewrap(), tried.project, tests=tests, overlay=overlay)
    return verdict_from(candidate, run.report, tried.wanted)


def _plausible(verdicts: list[ScreenVerdict]) -> dict[tuple[str, str], bool]:
    return {(v.candidate.path, v.candidate.source): v.plausible for v in verdicts}


def measured(tried: Subject, number: int) -> Run:
    """One run, its parts close together: a busy machine slows them alike."""
    run = Run(
        forks=screened(tried, 1, together=False),
        shared=screened(tried, 1, together=True),
        cores=screened(tried, cores(), together=True),
        fresh=apart(tried),
    )
    rates = f"{run.forks.rate:.0f} a second in a fork each, {run.shared.rate:.0f} in shared ones"
    sys.stderr.write(f"run {number + 1}: {rates}, {run.fresh.rate:.2f} fresh\n")
    return run


def run(runs: int, count: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="apprentice-screen-") as scratch:
        tried = subject(Path(scratch), count)
        made = [measured(tried, number) for number in range(runs)]
    forks = [each.forks.rate for each in made]
    rows = [
        ("one fork a candidate, one judge, per second", spread(forks, 1)),
        ("forks shared, one judge, per second", spread([each.shared.rate for each in made], 1)),
        (f"the same with {cores()} judges", spread([each.cores.rate for each in made], 1)),
        ("fresh pytest -x -q each, per second", spread([each.fresh.rate for each in made], 2)),
        ("seconds of a fresh pytest", spread([1 / each.fresh.rate for each in made], 2)),
        ("ratio within a run, per core", spread([each.forks.rate / each.fresh.rate for each in made], 1)),
        ("ratio with forks shared", spread([each.shared.rate / each.fresh.rate for each in made], 1)),
        ("ratio, opening counted in", spread([each.forks.rate_with_opening / each.fresh.rate for each in made], 1)),
        ("verdicts alike", f"{sum(each.alike for each in made)} of {len(tried.candidates) * runs}"),
    ]
    tests = f"{len(tried.wanted.failing)} failing and {len(tried.wanted.covering)} covering tests"
    show(f"screen: {len(tried.candidates)} candidates, {tests} of {PACKAGE}, {runs} runs", rows)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screen", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=40)
    given = parser.parse_args()
    run(given.runs, given.candidates)


if __name__ == "__main__":
    main()
