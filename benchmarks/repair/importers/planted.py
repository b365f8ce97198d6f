"""Bugs planted into real packages, as cases: what `benchmarks.slips` does to code that the package's suite then detects.

The judge is the rest of the suite. Of each package's test functions a random half is taken out of the files that the
engine gets, one that detects the bug put back where none was left; what parametrization makes of a function goes with
it, and tests that have no definition of their own stay. The held-out folder holds the test files whole, so a patch is
correct when it behaves as the suite wants where the engine could not look.

Bugs lie on lines that the suite runs, one to a function while there are others, as many of each kind as can be had.
A bug counts as detected when a test that runs it fails, the suite is still collected, and no test is endless.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.planting import compiles
from benchmarks.repair.cases import BadCase, write_case, write_tree
from benchmarks.repair.importers.halves import Unit, half, unit_of, units_of, without
from benchmarks.repair.importers.sdists import PACKAGES, Package, unpacked
from benchmarks.slips import Planting, plantings
from workers.ports import Limits
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import Project, TestRun, discover, run_tests

BUDGET_SECONDS = 60.0
COUNT = 200
MOST_TESTS = 250
"""So many of the tests that run a bug are asked whether they detect it."""

DETECTION = Limits(cpu_seconds=20)
ATTEMPTS_A_BUG = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A module with a bug in it, and the tests that fail for it."""

    path: str
    planting: Planting
    source: str
    failing: tuple[str, ...]


def make(into: Path, *, seed: int, count: int = COUNT) -> None:
    """Write `count` case folders into `into`, but for packages whose cases are there from before. Raises BadCase."""
    into.mkdir(parents=True, exist_ok=True)
    left = count
    for number, package in enumerate(PACKAGES):
        quota = -(-left // (len(PACKAGES) - number))
        made = f"{package.name} {package.version}, {quota} bugs, seed {seed}\n"
        mark = into / f"{package.name}.txt"
        if not mark.is_file() or mark.read_text(encoding="utf-8") != made:
            _plant(package, into, quota, seed)
            mark.write_text(made, encoding="utf-8")
        planted = len(_cases_of(package, into))
        left -= planted
        sys.stderr.write(f"{planted} bugs in {package.name}, {left} to go\n")


def _plant(package: Package, into: Path, quota: int, seed: int) -> None:
    for case in _cases_of(package, into):
        shutil.rmtree(case)
    with tempfile.TemporaryDirectory(prefix="apprentice-planted-") as scratch:
        subject = Subject(package, unpacked(package, Path(scratch)), seed)
        for place, bug in enumerate(subject.bugs(quota)):
            subject.write(into, place, bug)


def _cases_of(package: Package, into: Path) -> list[Path]:
    return list(into.glob(f"{package.name}-[0-9][0-9]"))


class Subject:
    """A package to plant bugs in, whose own suite passes."""

    def __init__(self, package: Package, tree: Path, seed: int) -> None:
        self._package = package
        self._project = discover(tree, python=None, test_command=package.test_command)
        self._seed = f"{package.name}:{seed}"
        self._traced = _traced(self._project, package)
        self._tests = _test_files(tree, {result.id for result in self._traced.report.results})
        self._hidden = half(self._units, self._seed)
        seen = {path: text.encode() for path, text in without(self._tests, self._hidden).items()}
        _demand(run_tests(Bubblewrap(), self._project, overlay=seen).report, package)

    def bugs(self, count: int) -> list[Bug]:
        """So many detected bugs, or as many as can be found with some patience."""
        found: list[Bug] = []
        for path, planting in self._candidates(count * ATTEMPTS_A_BUG):
            if len(found) == count:
                break
            source = planting.applied(self._source(path))
            failing = self._failing(path, planting, source)
            if failing:
                found.append(Bug(path=path, planting=planting, source=source, failing=failing))
        return found

    def write(self, into: Path, number: int, bug: Bug) -> None:
        """The case's folder."""
        name = f"{self._package.name}-{number:02d}"
        seen = without(self._tests, self._hidden_from(bug))
        kind = bug.planting.slip.kind
        write_case(
            into / name,
            name=name,
            files={bug.path: bug.source},
            test_command=self._package.test_command,
            budget_seconds=BUDGET_SECONDS,
            held_out=self._tests,
            solution={bug.path: self._source(bug.path)},
            labels={
                "project": self._package.name,
                "kind": kind,
                "module": bug.path,
                "line": str(bug.planting.slip.line),
                "package_lines": str(self._lines),
            },
        )
        repository = into / name / "repository"
        shutil.copytree(self._project.tree, repository, dirs_exist_ok=True)
        write_tree(repository, seen | {bug.path: bug.source})

    @cached_property
    def _units(self) -> list[Unit]:
        return units_of(self._tests)

    @cached_property
    def _covering(self) -> Mapping[str, Mapping[int, Sequence[str]]]:
        """The tests that run a line, by path."""
        found: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for test, paths in self._traced.lines.items():
            for path, lines in paths.items():
                for line in lines if test and path not in self._tests else ():
                    found[path][line].append(test)
        return found

    @cached_property
    def _lines(self) -> int:
        return sum(len(self._source(path).splitlines()) for path in self._covering)

    def _source(self, path: str) -> str:
        return (self._project.tree / path).read_text(encoding="utf-8")

    def _candidates(self, most: int) -> list[tuple[str, Planting]]:
        """Slips in lines that run, kind by kind in turn, functions without a bug before others."""
        rng = random.Random(self._seed)
        kinds: dict[str, list[tuple[str, Planting]]] = defaultdict(list)
        for path in sorted(self._covering):
            if not {"test", "tests"} & set(Path(path).parts):
                for planting in plantings(self._source(path), self._seed):
                    if self._running(path, planting):
                        kinds[planting.slip.kind].append((path, planting))
        for slips in kinds.values():
            rng.shuffle(slips)
        return list(_in_turn(kinds, most))

    def _running(self, path: str, planting: Planting) -> list[str]:
        """Some of the tests that run the bug, in a fixed order."""
        tests = sorted({test for line in planting.lines for test in self._covering[path].get(line, ())})
        return tests if len(tests) <= MOST_TESTS else sorted(random.Random(self._seed).sample(tests, MOST_TESTS))

    def _failing(self, path: str, planting: Planting, source: str) -> tuple[str, ...]:
        """The tests that detect it; none where it breaks more than tests."""
        if not compiles(source):
            return ()
        run = run_tests(
            Bubblewrap(),
            self._project,
            tests=self._running(path, planting),
            overlay={path: source.encode()},
            limits=DETECTION,
        )
        failing = run.report.failing()
        if not run.report.complete or any("::" not in each.id or each.error_type == "Timeout" for each in failing):
            return ()
        return tuple(each.id for each in failing)

    def _hidden_from(self, bug: Bug) -> frozenset[Unit]:
        """The hidden half, less one function that detects the bug where all that do would be hidden."""
        detecting = [unit_of(test, self._units) for test in bug.failing]
        if all(unit in self._hidden for unit in detecting):
            return self._hidden - {random.Random(f"{self._seed}:{bug.planting.slip}").choice(detecting)}
        return self._hidden


def _in_turn(kinds: Mapping[str, Sequence[tuple[str, Planting]]], most: int) -> Iterator[tuple[str, Planting]]:
    """One of each kind after another; those of functions that had their turn come last."""
    used: set[tuple[str, str]] = set()
    waiting = {kind: list(slips) for kind, slips in sorted(kinds.items())}
    for _ in range(most):
        for slips in waiting.values():
            if slips:
                fresh = next((each for each in slips if (each[0], each[1].function) not in used), slips[0])
                slips.remove(fresh)
                used.add((fresh[0], fresh[1].function))
                yield fresh


def _traced(project: Project, package: Package) -> TestRun:
    """Which lines each test runs. What fails only because it is traced (it counts references, say) does no harm."""
    run = run_tests(Bubblewrap(), project, trace=True)
    failing = [each.id for each in run.report.failing()]
    if run.report.complete and failing:
        _demand(run_tests(Bubblewrap(), project, tests=failing).report, package)
    elif failing or not run.report.complete:
        _demand(run.report, package)
    return run


def _demand(report: TestReport, package: Package) -> None:
    """Raises BadCase unless all tests pass: of a suite that fails without a bug nothing could be told."""
    if not report.complete or not report.passing() or report.failing():
        failing = ", ".join(each.id for each in report.failing()[:3])
        raise BadCase(f"the suite of {package.name} {package.version} fails here: {report.trouble or failing}")


def _test_files(tree: Path, tests: Collection[str]) -> dict[str, str]:
    """The texts of the modules whose tests ran, and of those beside them that may define tests for them."""
    ran = {name for test in tests if (name := test.partition("::")[0]).endswith(".py")}
    beside = {path.relative_to(tree).as_posix() for name in ran for path in _siblings(tree / name)}
    return {path: (tree / path).read_text(encoding="utf-8") for path in sorted(ran | beside)}


def _siblings(test: Path) -> Iterator[Path]:
    return test.parent.glob("*.py") if test.parent.name in ("test", "tests") else iter(())
