from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from memory.model import Severity
from workers.messages.review import fixing_command
from workers.review.detectors.detector import Category, Detection, FixEdit, RawFinding, SourceTree, ToolFix
from workers.review.findings import seen_in
from workers.review.suggestions import (
    CHANGES_NO_CODE,
    MAX_TRIALS,
    ImportGraph,
    SuggestionDraft,
    SuggestionProver,
    changes_no_code,
    drafts,
    suggested,
    that_help,
)
from workers.sandbox.report import TestOutcome, TestReport, TestResult

SOURCES = {
    "m.py": "import os\nx = 1\n",
    "test_m.py": "import m\n",
}
CHANGED = {"m.py": frozenset({1, 2})}


def raw(rule: str = "F401", *, safe: bool = True, content: str = "", line: int = 1, path: str = "m.py") -> RawFinding:
    edit = FixEdit(line=line, column=1, end_line=line + 1, end_column=1, content=content)
    return RawFinding(
        path=path,
        line=line,
        end_line=line,
        column=1,
        tool="ruff",
        rule=rule,
        category=Category.MAINTAINABILITY,
        severity=Severity.MINOR,
        message="m",
        fix=ToolFix(edits=(edit,), safe=safe),
    )


def draft(*, safe: bool = True) -> SuggestionDraft:
    (made,) = drafts(seen_in([raw(safe=safe)], SOURCES), SOURCES, CHANGED)
    return made


def test_a_command_fixes_what_ruff_calls_safe() -> None:
    """A command is named for findings of one rule where ruff applies a fix of theirs by itself."""
    named = [
        fixing_command([replace(made.seen.finding, suggestion=made.suggestion)])
        for made in (draft(safe=True), draft(safe=False))
    ]
    assert named == ["ruff check --select F401 --fix", ""]


def report(passed: tuple[str, ...], failed: tuple[str, ...] = (), *, complete: bool = True) -> TestReport:
    outcomes = [(name, TestOutcome.PASSED) for name in passed] + [(name, TestOutcome.FAILED) for name in failed]
    results = tuple(TestResult(id=name, outcome=outcome, seconds=0.0) for name, outcome in outcomes)
    return TestReport(results=results, started=True, complete=complete)


@dataclass
class Suite:
    """A test suite that answers with a fixed report for the head, and another for any change of it."""

    before: TestReport
    after: TestReport
    runs: list[tuple[tuple[str, ...], bool]] = field(default_factory=list)

    def __call__(self, tests: tuple[str, ...], overlay: Mapping[str, bytes | None]) -> TestReport:
        self.runs.append((tests, bool(overlay)))
        return self.after if overlay else self.before


def prover(suite: Suite, *, sources: Mapping[str, str] = SOURCES, now: float = 0.0) -> SuggestionProver:
    return SuggestionProver(suite, ImportGraph(sources), command="python -m pytest", clock=lambda: now, deadline=1.0)


def test_a_suggestion_that_costs_no_test_is_proven() -> None:
    """What passed still passes; the proof names both runs, and what had failed before may go on failing."""
    suite = Suite(report(("a", "b"), ("c",)), report(("a", "b"), ("c",)))
    proof = prover(suite).proof(draft())
    assert proof is not None
    assert (proof.before.passed, proof.suite.passed, proof.suite.failed) == (2, 2, 1)
    assert proof.command == "python -m pytest test_m.py"
    assert suite.runs == [(("test_m.py",), False), (("test_m.py",), True)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (report(("a", "b")), report(("a",), ("b",))),
        (report(("a", "b")), report(("a",))),
        (report(("a",)), report(("a",), complete=False)),
        (report(("a",), complete=False), report(("a",))),
        (report((), ("a",)), report(("a",))),
        (report(()), report(())),
    ],
)
def test_what_costs_a_test_or_shows_nothing_is_not_proven(before: TestReport, after: TestReport) -> None:
    """A failure, a vanished test, a run cut short and a suite in which nothing passes prove nothing."""
    assert prover(Suite(before, after)).proof(draft()) is None


def test_of_tests_that_take_too_long_those_that_ended_speak() -> None:
    """The file in which time was up does not, nor do those after it."""
    cut = replace(report(("test_m.py::a", "test_m.py::b", "test_far.py::c"), complete=False), out_of_time=True)
    suite = Suite(cut, report(("test_m.py::a", "test_m.py::b")))
    proof = prover(suite, sources={**SOURCES, "test_far.py": "import m\n"}).proof(draft())
    assert proof is not None
    assert (proof.before.collected, proof.command) == (2, "python -m pytest test_m.py")
    assert suite.runs == [(("test_m.py", "test_far.py"), False), (("test_m.py",), True)]
    assert prover(suite, sources={**SOURCES, "test_far.py": "import m\n"}).proof(draft(safe=False)) is None
    lost = Suite(cut, report(("test_m.py::a",)))
    assert prover(lost, sources={**SOURCES, "test_far.py": "import m\n"}).proof(draft()) is None
    nothing = Suite(replace(report(("test_m.py::a",), complete=False), out_of_time=True), report(()))
    assert prover(nothing).proof(draft()) is None
    assert [with_change for _, with_change in nothing.runs] == [False]


def test_the_head_is_run_once_for_the_same_tests() -> None:
    """Two suggestions that the same tests speak for share the run without them."""
    suite = Suite(report(("a",)), report(("a",)))
    by = prover(suite)
    by.proof(draft())
    by.proof(draft())
    assert [with_change for _, with_change in suite.runs] == [False, True, True]


def test_an_unsafe_fix_needs_tests_that_reach_its_module() -> None:
    """The whole suite vouches for a safe fix of a module that no test imports, but not for an unsafe one."""
    untested = {"m.py": SOURCES["m.py"], "test_n.py": "import n\n"}
    suite = Suite(report(("a",)), report(("a",)))
    assert prover(suite, sources=untested).proof(draft(safe=False)) is None
    assert suite.runs == []
    assert prover(suite, sources=untested).proof(draft()) is not None
    assert suite.runs[0] == ((), False)


def test_time_and_trials_are_limited() -> None:
    """After the deadline or the stated number of trials nothing more is run."""
    late = Suite(report(("a",)), report(("a",)))
    assert prover(late, now=2.0).proof(draft()) is None
    assert late.runs == []
    by = prover(Suite(report(("a",)), report(("a",))))
    proofs = [by.proof(draft()) for _ in range(MAX_TRIALS + 1)]
    assert [proof is None for proof in proofs] == [False] * MAX_TRIALS + [True]


def test_without_tests_only_safe_fixes_remain_and_without_proof() -> None:
    """Where nothing may be run, a safe fix is kept unproven and an unsafe one is dropped."""
    safe, unsafe = draft(), draft(safe=False)
    assert [each.proof for each in suggested([safe], None).values()] == [None]
    assert suggested([unsafe], None) == {}


def test_an_unsafe_fix_that_fails_its_tests_is_dropped() -> None:
    """Nothing is left of an unsafe fix that could not be proven."""
    suite = Suite(report(("a",)), report((), ("a",)))
    assert suggested([draft(safe=False)], prover(suite)) == {}


def test_a_fix_that_breaks_the_syntax_is_no_draft() -> None:
    """The file must parse with the suggestion."""
    assert drafts(seen_in([raw(content="def (:\n")], SOURCES), SOURCES, CHANGED) == []


TEXT = """def one():  # 1
    \'\'\'One.  \x20

    More.
    \'\'\'
    return "one"


def two():
    \'\'\'
    >>> two()
    2
    \'\'\'
    return 2
"""


@pytest.mark.parametrize(
    ("old", "new", "inert"),
    [
        ("  # 1", "", True),
        ("One.   ", "One.", True),
        ("One.   ", "The first.", False),
        ("One.   ", "\n    One.", True),
        ("One.   \n\n    More", "One. More", False),
        (">>> two()\n    2", ">>> two()\n    3", False),
        ('"one"', "'one'", True),
        ('"one"', '" one"', False),
        ("\n\n\n", "\n", True),
        ("return 2", "return (2", False),
    ],
)
def test_no_test_runs_for_what_changes_no_code(old: str, new: str, *, inert: bool) -> None:
    """Comments, layout and indentation of docstrings; an example in one, and other lines of it, are code: help prints them."""
    assert changes_no_code(TEXT, TEXT.replace(old, new, 1)) == inert


def test_what_changes_no_code_is_suggested_without_a_run() -> None:
    """Whatever the tests say, and whether or not they reach it."""
    sources = SOURCES | {"m.py": "# a comment\nx = 1\n"}
    (comment,) = drafts(seen_in([raw(safe=False)], sources), sources, CHANGED)
    suite = Suite(report(()), report(()))
    for given in (prover(suite), None):
        assert [each.proof for each in suggested([comment], given).values()] == [CHANGES_NO_CODE]
    assert suite.runs == []


class Said:
    """A detector that reports the given rules for every variant."""

    def __init__(self, *rules: str, unread: bool = False) -> None:
        self._rules = rules
        self._unread = unread

    def __call__(self, tree: SourceTree) -> Detection:
        found = [raw(rule, path=path) for path in tree.sources for rule in self._rules]
        return Detection(findings=tuple(found), unread=dict.fromkeys(tree.sources, "x") if self._unread else {})


@pytest.mark.parametrize(
    ("after", "helps"),
    [
        (Said(), True),
        (Said("E711"), True),
        (Said("F401", "E711"), False),
        (Said("B006"), False),
        (Said("E711", "E711"), False),
        (Said(unread=True), False),
    ],
)
def test_a_suggestion_must_help_by_the_detectors_word(after: Said, helps: bool) -> None:
    """Its own finding is gone, no rule is reported more often, and the file could be read with it."""
    seen = seen_in([raw("F401"), raw("E711", line=2)], SOURCES)
    found = [each for each in drafts(seen, SOURCES, CHANGED) if each.seen.finding.rule == "F401"]
    head = SourceTree(sources=SOURCES, target_version="py311")
    assert bool(that_help(found, head, seen, after)) == helps
