"""What a run of a proof is challenged by: perturbed tests that must fail, and canaries, one of which must fail and one pass.

The report of a run comes from a process that imports the candidate, so it is a claim. A challenge holds it to values that
only this side knows, made anew for each run.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from workers.repair.classify import is_test_path
from workers.repair.judging.perturbed_tests import perturbed, random_word
from workers.sandbox.report import FAILURES, TestOutcome, TestReport, TestResult

MOST_FILES = 4
"""Test files that are perturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """Two tests at the end of a test file, by their ids: `failing` raises an error with `word`, `passing` does nothing.

    `text` is that file with them.
    """

    path: str
    text: str
    failing: str
    passing: str
    word: str

    def are_right_in(self, report: TestReport) -> bool:
        """Whether a run reports of them what is true."""
        found = {result.id: result for result in report.results if result.id in (self.failing, self.passing)}
        if len(found) < 2:
            return False
        failing, passing = found[self.failing], found[self.passing]
        rightly = (failing.outcome, failing.error_type) == (TestOutcome.FAILED, "AssertionError")
        return rightly and self.word in failing.message and passing.outcome is TestOutcome.PASSED

    def without(self, report: TestReport) -> TestReport:
        """The report less the canaries."""
        return replace(report, results=tuple(r for r in report.results if r.id not in (self.failing, self.passing)))


def canaries(tree: Path, tests: Iterable[str], rng: random.Random) -> Canaries | None:
    """Canaries in the file of the first test whose name pytest's default finds in a Python file; None without one."""
    for test in tests:
        path, _, name = test.partition("::")
        text = _text(tree, path) if name.rpartition("::")[2].startswith("test") or not name else ""
        if text:
            failing, passing, word = f"test_{random_word(rng)}", f"test_{random_word(rng)}", random_word(rng)
            added = f"\n\ndef {failing}():\n    raise AssertionError({word!r})\n\n\ndef {passing}():\n    pass\n"
            return Canaries(
                path=path, text=text + added, failing=f"{path}::{failing}", passing=f"{path}::{passing}", word=word
            )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """Perturbed test files by path; `functions` are the ids of what must fail in them.

    A message with a word of `survived` says that an assertion passed where it expects something else.
    """

    files: Mapping[str, str]
    functions: tuple[str, ...]
    survived: frozenset[str]

    def includes(self, test: str) -> bool:
        """Whether a test, or what a file or class holds, was perturbed."""
        name = test.partition("[")[0]
        return any(each == name or each.startswith(f"{name}::") for each in self.functions)

    def passing_in(self, report: TestReport) -> tuple[str, ...]:
        """The tests of a run that passed, or in which an assertion did."""
        failed = self.failed_in(report)
        ran = (*FAILURES, TestOutcome.PASSED, TestOutcome.XPASSED)
        return tuple(r.id for r in self._results(report) if r.outcome in ran and r.id not in failed)

    def failed_in(self, report: TestReport) -> frozenset[str]:
        """The tests of a run that failed at what they expect."""
        failed = (result for result in self._results(report) if result.outcome in FAILURES)
        return frozenset(r.id for r in failed if not any(word in r.message for word in self.survived))

    def _results(self, report: TestReport) -> list[TestResult]:
        return [result for result in report.results if result.id.partition("[")[0] in self.functions]


def perturbation(tree: Path, failing: Sequence[str], rng: random.Random) -> Perturbation:
    """The failing tests perturbed, as far as their functions are found in files of the tree."""
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for test in failing:
        path, _, name = test.partition("::")
        wanted[path].update({name} if name else ())
    made = {path: perturbed(_text(tree, path), names, rng) for path, names in list(wanted.items())[:MOST_FILES]}
    found = {path: each for path, each in made.items() if each is not None}
    return Perturbation(
        files={path: each.text for path, each in found.items()},
        functions=tuple(f"{path}::{name}" for path, each in found.items() for name in each.functions),
        survived=frozenset(each.survived for each in found.values()),
    )


def is_plain(tree: Path, test: str) -> bool:
    """Whether a test may run without pytest: nothing in its file or in a conftest.py above says that fixtures always apply."""
    path = test.partition("::")[0]
    above = [str(parent / "conftest.py") for parent in PurePosixPath(path).parents]
    texts = [_text(tree, each) for each in (path, *above)]
    return bool(texts[0]) and not any("autouse" in text or "pytest_" in text for text in texts)


def _text(tree: Path, path: str) -> str:
    """The text of a Python file of tests; empty for any other file."""
    file = tree / path
    if not is_test_path(path) or file.suffix != ".py" or file.is_symlink() or not file.is_file():
        return ""
    return file.read_bytes().decode(errors="replace")
