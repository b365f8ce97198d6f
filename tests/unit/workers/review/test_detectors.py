from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from memory.model import Severity
from workers.ports import CompletedRun, Ending
from workers.review.detectors.detector import (
    MAX_PART_CHARACTERS,
    MAX_PART_FILES,
    Category,
    Detection,
    DetectorFailed,
    RawFinding,
    SourceTree,
    in_parts,
)
from workers.review.detectors.linters import bandit_findings, ruff_findings
from workers.review.detectors.rules import RUFF_SELECT, is_of, is_test_path, is_wanted, kind_of, ruff_equivalent


def ended(stdout: object, *, exit_code: int = 1, stderr: str = "") -> CompletedRun:
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return CompletedRun(exit_code=exit_code, ending=Ending.EXITED, stdout=text, stderr=stderr, report=b"", seconds=0.1)


def place(row: int, column: int) -> dict[str, int]:
    return {"row": row, "column": column}


def diagnostic(code: str | None = "F401", path: str = "pkg/a.py", **more: object) -> dict[str, object]:
    known = {
        "cell": None,
        "code": code,
        "filename": f"/workspace/{path}",
        "location": place(2, 8),
        "end_location": place(3, 1),
        "message": "`os` imported but unused",
        "fix": None,
        "noqa_row": 2,
    }
    return known | more


def edits(applicability: str) -> dict[str, object]:
    edit = {"content": "", "location": place(2, 1), "end_location": place(3, 1)}
    return {"applicability": applicability, "edits": [edit], "message": "Remove"}


def test_ruffs_json_becomes_findings_with_fixes() -> None:
    """Places, rule and fix survive; a range that ends before the first column ends on the line above."""
    (found,) = ruff_findings(ended([diagnostic(fix=edits("safe"))])).findings
    assert (found.path, found.line, found.end_line, found.rule) == ("pkg/a.py", 2, 2, "F401")
    assert (found.category, found.severity) == (Category.MAINTAINABILITY, Severity.MINOR)
    assert found.fix is not None
    assert found.fix.safe
    assert found.fix.edits[0].end_line == 3


@pytest.mark.parametrize(("applicability", "safe"), [("unsafe", False), ("display", None)])
def test_a_fix_that_is_only_for_display_is_none(applicability: str, safe: bool | None) -> None:
    """Unsafe fixes are marked, those that ruff itself would never make are dropped."""
    (found,) = ruff_findings(ended([diagnostic(fix=edits(applicability))])).findings
    assert (found.fix and found.fix.safe) == safe


def test_of_many_syntax_errors_in_a_file_the_first_is_said() -> None:
    """Errors that follow from an error are noise."""
    said = [diagnostic("invalid-syntax"), diagnostic("invalid-syntax"), diagnostic(None, "b.py")]
    found = ruff_findings(ended(said)).findings
    assert [(each.path, each.rule) for each in found] == [("pkg/a.py", "invalid-syntax"), ("b.py", "invalid-syntax")]


def test_syntax_that_a_newer_python_reads_is_not_critical() -> None:
    """A file may be for newer versions than the oldest that the project names, and stays out of the summary as it was."""
    message = "Cannot use `type` alias statement on Python 3.10 (syntax was added in Python 3.12)"
    newer, broken = ruff_findings(
        ended([diagnostic("invalid-syntax", message=message), diagnostic("invalid-syntax", "b.py")])
    ).findings
    assert (newer.severity, broken.severity) == (Severity.MAJOR, Severity.CRITICAL)


def test_a_file_that_ruff_cannot_open_is_unread() -> None:
    """An I/O error is no finding: the file was not read."""
    detection = ruff_findings(ended([diagnostic("E902", message="Permission denied")]))
    assert detection == Detection(unread={"pkg/a.py": "Permission denied"})


def test_bandits_json_becomes_findings_and_unread_files() -> None:
    """Grades become severities, files it could not parse are unread."""
    result = {
        "filename": "././pkg/a.py",
        "test_id": "B602",
        "issue_severity": "HIGH",
        "issue_text": "shell",
        "line_number": 4,
        "line_range": [4, 5],
        "col_offset": 4,
    }
    error = {"filename": "././b.py", "reason": "syntax error"}
    detection = bandit_findings(ended({"errors": [error], "results": [result]}, exit_code=0))
    (found,) = detection.findings
    assert (found.path, found.line, found.end_line, found.severity) == ("pkg/a.py", 4, 5, Severity.CRITICAL)
    assert detection.unread == {"b.py": "syntax error"}


def test_bandits_lines_are_numbers() -> None:
    """A report with anything else among them is a failure of the tool, and no finding is lost in silence."""
    result = {
        "filename": "a.py",
        "test_id": "B602",
        "issue_severity": "HIGH",
        "issue_text": "shell",
        "line_number": 4,
        "line_range": [4, 5],
        "col_offset": 4,
    }
    assert len(bandit_findings(ended({"errors": [], "results": [result]})).findings) == 1
    with pytest.raises(DetectorFailed, match="bandit failed"):
        bandit_findings(ended({"errors": [], "results": [result | {"line_range": [4, "five"]}]}))


def test_bandits_guess_of_a_password_is_not_repeated() -> None:
    """Its message quotes the value; a comment goes to more people than the code."""
    result = {
        "filename": "././pkg/a.py",
        "test_id": "B105",
        "issue_severity": "LOW",
        "issue_text": "Possible hardcoded password: 'hunter2: really'",
        "line_number": 4,
        "line_range": [4],
        "col_offset": 4,
    }
    (found,) = bandit_findings(ended({"errors": [], "results": [result]}), everything=True).findings
    assert found.message == "Possible hardcoded password"


@pytest.mark.parametrize("read", [ruff_findings, bandit_findings])
@pytest.mark.parametrize(
    ("completed", "reason"),
    [
        (ended("", exit_code=2, stderr="warning: x\nerror: invalid rule"), "exit code 2: error: invalid rule"),
        (ended("", exit_code=101, stderr=""), "exit code 101: it wrote nothing"),
        (ended("not json", exit_code=0), "exit code 0: not json"),
        (ended({"other": 1}, exit_code=0, stderr="odd"), "exit code 0: odd"),
    ],
)
def test_a_tool_that_fails_says_so(
    read: Callable[[CompletedRun], Detection], completed: CompletedRun, reason: str
) -> None:
    """A strange exit code or answer is a failure with the tool's last words, never an empty list."""
    with pytest.raises(DetectorFailed, match=reason):
        read(completed)


class Reader:
    """Reads files, but crashes on any part that holds a poisonous one."""

    def __init__(self, *poison: str) -> None:
        self._poison = set(poison)
        self.runs = 0

    def __call__(self, paths: Sequence[str]) -> Detection:
        self.runs += 1
        if not self._poison.isdisjoint(paths):
            raise DetectorFailed("it crashed")
        return Detection(findings=tuple(_finding(path) for path in paths))


def tree(paths: Sequence[str], text: str = "") -> SourceTree:
    return SourceTree(sources=dict.fromkeys(paths, text), target_version="py311")


def _finding(path: str) -> RawFinding:
    return RawFinding(
        path=path,
        line=1,
        end_line=1,
        column=1,
        tool="t",
        rule="R",
        category=Category.STYLE,
        severity=Severity.INFO,
        message="",
    )


def test_one_bad_file_does_not_hide_its_neighbours() -> None:
    """A part that fails is halved until the culprit stands alone, and only that one is unread."""
    paths = [f"{n}.py" for n in range(50)]
    detection = in_parts(tree(paths), paths, Reader("17.py"))
    assert detection.unread == {"17.py": "it crashed"}
    assert {found.path for found in detection.findings} == set(paths) - {"17.py"}


def test_a_tool_that_always_fails_is_given_up() -> None:
    """The number of failures is bounded, and every file is accounted for."""
    paths = [f"{n}.py" for n in range(50)]
    reader = Reader(*paths)
    detection = in_parts(tree(paths), paths, reader, failures=5)
    assert set(detection.unread) == set(paths)
    assert reader.runs < 12


def test_no_file_is_lost_between_parts() -> None:
    """Every file is read once, however many or large they are, and no part is larger than allowed but a single file."""
    paths = [f"{n}.py" for n in range(2 * MAX_PART_FILES + 1)]
    large = tree(paths, "x" * (MAX_PART_CHARACTERS // 3))
    for some in (tree(paths), large):
        reader = Reader()
        assert [found.path for found in in_parts(some, paths, reader).findings] == paths
        assert reader.runs == (3 if some is not large else 134)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("F821", (Category.CORRECTNESS, Severity.MAJOR)),
        ("F401", (Category.MAINTAINABILITY, Severity.MINOR)),
        ("invalid-syntax", (Category.CORRECTNESS, Severity.CRITICAL)),
        ("S602", (Category.SECURITY, Severity.MAJOR)),
        ("SIM115", (Category.CORRECTNESS, Severity.MINOR)),
        ("PERF101", (Category.PERFORMANCE, Severity.INFO)),
        ("NEW999", (Category.STYLE, Severity.INFO)),
        ("SLF001", (Category.STYLE, Severity.INFO)),
        ("FBT001", (Category.STYLE, Severity.INFO)),
        ("RUF006", (Category.CORRECTNESS, Severity.MAJOR)),
        ("RUF022", (Category.STYLE, Severity.INFO)),
        ("RET505", (Category.STYLE, Severity.INFO)),
        ("E741", (Category.STYLE, Severity.INFO)),
        ("G004", (Category.STYLE, Severity.INFO)),
        ("ISC004", (Category.CORRECTNESS, Severity.MINOR)),
    ],
)
def test_every_rule_has_a_category_and_a_severity(rule: str, kind: tuple[Category, Severity]) -> None:
    """The longest known prefix of a rule decides, of those with its letters: SLF001 is no rule of bandit's."""
    assert kind_of(rule) == kind


def test_what_we_select_ourselves_is_more_than_style() -> None:
    """Only what a project selects beside it may be a matter of taste; f-strings without a field are the one exception."""
    with_codes = [code for code in RUFF_SELECT if code[-1].isdigit()]
    assert {code for code in with_codes if kind_of(code)[0] is Category.STYLE} <= {"F541"}


@pytest.mark.parametrize("rule", ["E712", "RET503"])
def test_what_is_mostly_meant_is_a_choice(rule: str) -> None:
    """What is compared with True may be no truth value, and a function that ends without a value mostly means None."""
    assert not any(is_of(rule, code) for code in RUFF_SELECT)
    assert kind_of(rule)[0] is Category.STYLE


def test_bandits_rules_have_twins() -> None:
    """ruff's S rules carry bandit's numbers, but for a few."""
    assert [ruff_equivalent(rule) for rule in ("B602", "B613", "B703")] == ["S602", "PLE2502", "S308"]


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/a.py", True),
        ("pkg/tests/data/a.py", True),
        ("test_a.py", True),
        ("a_test.py", True),
        ("conftest.py", True),
        ("contest.py", False),
        ("src/testing/a.py", False),
        ("latest/a.py", False),
    ],
)
def test_test_files_are_told_by_pytests_conventions(path: str, test: bool) -> None:
    """Names and directories decide, nothing else."""
    assert is_test_path(path) == test


def test_noise_is_left_out_where_it_is_noise() -> None:
    """Security rules do not speak of tests, nor of files that they leave open, nor unused imports of a package's face."""
    assert not is_wanted("SIM115", "tests/test_a.py", Category.CORRECTNESS)
    assert is_wanted("SIM115", "a.py", Category.CORRECTNESS)
    assert not is_wanted("S105", "tests/test_a.py", Category.SECURITY)
    assert is_wanted("S105", "a.py", Category.SECURITY)
    assert is_wanted("PLE2502", "tests/test_a.py", Category.SECURITY)
    assert not is_wanted("F401", "pkg/__init__.py", Category.MAINTAINABILITY)
    assert is_wanted("F821", "pkg/__init__.py", Category.CORRECTNESS)
