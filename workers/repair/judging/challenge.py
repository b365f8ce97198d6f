"""What a run of a proof is challenged by: twins of failing tests, and canaries, one of which must fail and one pass.

The report of a run comes from a process that imports the candidate, so it is a claim. A challenge holds it to values that
only this side knows, new for each run.
"""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memory.parsing import parsed
from workers.repair.judging.perturbed_tests import Twins, random_word, with_twins
from workers.repair.reproduce import LARGEST_SOURCE
from workers.sandbox.checkout_files import is_file
from workers.sandbox.report import TestOutcome, TestReport, TestResult
from workers.sandbox.test_ids import file_of, function_of, includes

MAX_FILES = 4
"""Test files that get twins."""


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

    @property
    def tests(self) -> tuple[str, str]:
        """The ids of both."""
        return self.failing, self.passing

    def are_right_in(self, report: TestReport) -> bool:
        """Whether a run reports of them what is true."""
        found = {result.id: result for result in report.results if result.id in self.tests}
        if len(found) < 2:
            return False
        failing, passing = found[self.failing], found[self.passing]
        rightly = (failing.outcome, failing.error_type) == (TestOutcome.FAILED, "AssertionError")
        return rightly and self.word in failing.message and passing.outcome is TestOutcome.PASSED


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
class TwinRun:
    """The files of a run with twins, by path; `twins` are those in them, by the ids of their functions."""

    files: Mapping[str, str]
    twins: Mapping[str, Twins]

    @property
    def tests(self) -> tuple[str, ...]:
        """The ids of all twins."""
        pairs = ((file_of(test), twin) for test, twin in self.twins.items())
        return tuple(f"{path}::{name}" for path, twin in pairs for name in (twin.right, twin.perturbed))

    def includes(self, test: str) -> bool:
        """Whether a test, or what a file or class holds, has twins."""
        return bool(self._of(test))

    def lost(self, tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
        """Those of `tests` with twins in whose right twins an assertion does not hold."""
        return tuple(test for test in tests if self.includes(test) and not self._holds(test, report))

    def surviving(self, tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
        """The functions whose perturbed twin passed, or in which all assertions held, with any parameters.

        Those too in which one of `tests` came to no assertion; with other parameters it may.
        """
        return tuple(
            test
            for test, twin, results in self._of_perturbed(report)
            if any(result.outcome in PASSES or twin.survived in result.message for result in results)
            or self._ended_with(twin.idle, test, tests, report)
        )

    def returning(self, tests: Sequence[str], report: TestReport) -> bool:
        """Whether a twin of one of `tests` returned early, where it may assert nothing: candidates are not challenged by that.

        With other parameters it may, but for a perturbed twin where the right one does not.
        """
        for test, twin, results in self._of_perturbed(report):
            right, perturbed = twin.returned
            also = sum(perturbed in each.message for each in results)
            if also > len(self._right_with(right, test, report)) or self._ended_with(right, test, tests, report):
                return True
        return False

    def _ended_with(self, word: str, function: str, tests: Sequence[str], report: TestReport) -> bool:
        """Whether the right twin of a function ended with a word for any of these tests."""
        ended = [function + parameters for parameters in self._right_with(word, function, report)]
        return any(includes(test, ended) for test in tests)

    def _right_with(self, word: str, function: str, report: TestReport) -> list[str]:
        """The parameters with which the right twin of a function ended with a word."""
        right = f"{file_of(function)}::{self.twins[function].right}"
        return [each.id.removeprefix(right) for each in _results(report, right) if word in each.message]

    def failed(self, report: TestReport) -> int:
        """How many functions have a perturbed twin in which an assertion failed, as it must."""
        seen = self._of_perturbed(report)
        return sum(any(twin.failed in result.message for result in results) for _, twin, results in seen)

    def _of_perturbed(self, report: TestReport) -> Iterator[tuple[str, Twins, list[TestResult]]]:
        """Each function with its twins, and the results of the perturbed one with any parameters."""
        for test, twin in self.twins.items():
            yield test, twin, _results(report, f"{file_of(test)}::{twin.perturbed}")

    def _holds(self, test: str, report: TestReport) -> bool:
        """Whether the right twins of a test hold; a file or class may have functions that pytest takes for no tests."""
        parameters = test.removeprefix(function_of(test))
        found = [(twin, _results(report, f"{file_of(test)}::{twin.right}", parameters)) for twin in self._of(test)]
        ran = [(twin, results) for twin, results in found if results]
        ends = (({twin.held, twin.returned[0], twin.idle}, each.message) for twin, results in ran for each in results)
        return bool(ran) and all(any(word in message for word in words) for words, message in ends)

    def _of(self, test: str) -> list[Twins]:
        name = function_of(test)
        return [twin for each, twin in self.twins.items() if each == name or each.startswith(f"{name}::")]


PASSES = (TestOutcome.PASSED, TestOutcome.XPASSED)


def _results(report: TestReport, function: str, parameters: str = "") -> list[TestResult]:
    """The results of a function, with one set of parameters or all."""
    return [r for r in report.results if function_of(r.id) == function and r.id.endswith(parameters)]


def twin_run(tree: Path, failing: Sequence[str], rng: random.Random) -> TwinRun:
    """Twins of the failing tests, as far as their functions are found in files of the tree."""
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for test in failing:
        path, _, name = test.partition("::")
        wanted[path].update({name} if name else ())
    made = {path: with_twins(_text(tree, path), names, rng) for path, names in list(wanted.items())[:MAX_FILES]}
    found = {path: each for path, each in made.items() if each is not None}
    return TwinRun(
        files={path: each.text for path, each in found.items()},
        twins={f"{path}::{twin.function}": twin for path, each in found.items() for twin in each.twins},
    )


def defines(tree: Path, path: str, tests: Collection[str]) -> bool:
    """Whether a file defines any of `tests`, named as pytest's ids have them after the file; examples in docstrings are none."""
    module = parsed(_text(tree, path))
    names = {getattr(node, "name", "") for node in module.body} if module else set()
    return any(file_of(test).partition("[")[0] in names for test in tests)


def is_plain(tree: Path, test: str) -> bool:
    """Whether a test may run without pytest: nothing in its file or in a conftest.py above says that fixtures always apply."""
    path = file_of(test)
    above = [str(parent / "conftest.py") for parent in PurePosixPath(path).parents]
    texts = [_text(tree, each) for each in (path, *above)]
    return bool(texts[0]) and not any("autouse" in text or "pytest_" in text for text in texts)


def _text(tree: Path, path: str) -> str:
    """The text of a Python file of the tree; empty for any other path, which untrusted code may have reported."""
    file = tree / path
    pure = PurePosixPath(path)
    named = not pure.is_absolute() and ".." not in pure.parts and file.suffix == ".py" and is_file(file)
    if not named or file.resolve() != tree.resolve() / path or file.stat().st_size > LARGEST_SOURCE:
        return ""
    return file.read_bytes().decode(errors="replace")
