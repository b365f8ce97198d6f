"""The part of a change that breaks tests: the smallest part without which they pass, shown by running them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.model import Proof, SuiteCount
from workers.diffs import split_lines, unified
from workers.line_matching import LineMatcher
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.suggestions import RunTests
from workers.sandbox.checkout_files import is_test_file
from workers.sandbox.report import TestReport

MAX_TRIALS = 12
"""Parts that are taken back in turn, each in a run of the broken tests; and as often several parts at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A patch of the head that takes a part of the change back, and the proof that the broken tests pass with it.

    `lines` are those of the part at the head, by path, or beside what it removed.
    """

    patch: str
    proof: Proof
    lines: Mapping[str, frozenset[int]]

    def placed(self, tests: ComparedTests, touched: Mapping[str, frozenset[int]]) -> ComparedTests:
        """The tests that it breaks at a changed line of it, where they were placed at another one that they run too."""
        there = [
            (path, line) for path in self.lines for line in sorted(self.lines[path] & touched.get(path, frozenset()))
        ]
        broken = (
            replace(test, path=there[0][0], line=there[0][1])
            if there and test.id in self.proof.passed_after and (test.path, test.line) not in there
            else test
            for test in tests.broken
        )
        return replace(tests, broken=tuple(broken))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Lines `start`..`end` of a file of the head, counted from 0, that were `old` at the base."""

    path: str
    start: int
    end: int
    old: tuple[str, ...]

    @property
    def lines(self) -> range:
        """Its lines, counted from 1; those beside it where it only removed some."""
        return range(self.start + 1, self.end + 1) if self.start < self.end else range(self.start, self.start + 2)

    def holds(self, test: BrokenTest) -> bool:
        """Whether the test passes through a line of it, or one beside what it removed."""
        return test.path == self.path and test.line in self.lines


@dataclass(frozen=True, slots=True)
class CulpritSearch:
    """Takes one part of a change back after another. `before` and `after` are the texts of its files, by path.

    Tests are left as they are. No run begins after `deadline`, a point of time.monotonic().
    """

    run: RunTests
    before: Mapping[str, str]
    after: Mapping[str, str]
    command: str
    deadline: float

    def culprit(self, tests: ComparedTests) -> Culprit | None:
        """The first part, or several, without which all broken tests pass and no other fails.

        What the broken tests pass through is tried first; never all of the change, which would say nothing.
        """
        broken = [test for test in tests.broken if not test.added]
        names = [test.id for test in broken if test.id]
        for parts in self._trials(broken) if broken else ():
            if time.monotonic() > self.deadline:
                return None
            if _passes(names, self.run(names, _overlay(self._without(parts)))) and (
                found := self._proven(parts, names, tests)
            ):
                return found
        return None

    def _trials(self, broken: Sequence[BrokenTest]) -> Iterator[tuple[_Part, ...]]:
        """Single parts; then those that the broken tests pass through, and those of each file, where they are not all."""
        parts = sorted(self._parts(), key=lambda part: -sum(part.holds(test) for test in broken))
        yield from ((part,) for part in parts[:MAX_TRIALS])
        touched = tuple(part for part in parts if any(map(part.holds, broken)))
        files = (tuple(part for part in parts if part.path == path) for path in {part.path: None for part in parts})
        several = [some for some in dict.fromkeys([touched, *files]) if 1 < len(some) < len(parts)]
        yield from several[:MAX_TRIALS]

    def _parts(self) -> Iterator[_Part]:
        for path, text in self.after.items():
            if is_test_file(path) or path not in self.before:
                continue
            old, new = split_lines(self.before[path]), split_lines(text)
            for kind, low, high, start, end in LineMatcher(old, new).get_opcodes():
                if kind != "equal":
                    yield _Part(path=path, start=start, end=end, old=tuple(old[low:high]))

    def _without(self, parts: Sequence[_Part]) -> dict[str, str]:
        texts = dict[str, str]()
        for part in sorted(parts, key=lambda part: part.start, reverse=True):
            lines = split_lines(texts.get(part.path, self.after[part.path]))
            texts[part.path] = "".join([*lines[: part.start], *part.old, *lines[part.end :]])
        return texts

    def _proven(self, parts: Sequence[_Part], names: Sequence[str], tests: ComparedTests) -> Culprit | None:
        """The whole suite with it: nothing fails that did not fail at the head too, and no test is gone."""
        if time.monotonic() > self.deadline:
            return None
        texts = self._without(parts)
        report = self.run((), _overlay(texts))
        if not report.started:
            return None
        known = {*tests.failing_before, *tests.flaky, *tests.unknown, *(test.id for test in tests.broken if test.added)}
        new = [result.id for result in report.failing() if result.id not in known]
        if new or not _passes(names, report) or len(report.passing()) < tests.passed + len(names):
            return None
        before = SuiteCount(
            passed=tests.passed, failed=len(known) + len(names), skipped=report.count().skipped, collected=tests.ran
        )
        proof = Proof(
            failed_before=tuple(names),
            passed_after=tuple(names),
            before=before,
            suite=report.count(),
            repeats=2,
            command=self.command,
        )
        patch = "".join(unified(path, self.after[path], text) for path, text in texts.items())
        lines = {path: frozenset(n for part in parts if part.path == path for n in part.lines) for path in texts}
        return Culprit(patch=patch, proof=proof, lines=lines)


def _overlay(texts: Mapping[str, str]) -> dict[str, bytes | None]:
    return {path: text.encode() for path, text in texts.items()}


def _passes(names: Sequence[str], report: TestReport) -> bool:
    """Whether each test passed, and each test of each file that could not be collected; of no test, any."""
    passed, failed = {each.id for each in report.passing()}, {each.id for each in report.failing()}
    return bool(passed) and all(
        name in passed
        or ("::" not in name and name not in failed and any(each.startswith(f"{name}::") for each in passed))
        for name in names
    )
