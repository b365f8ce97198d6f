from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from memory.model import Severity
from workers.ports import CompletedRun, Ending
from workers.review.detectors.detector import Category, DetectorFailed, RawFinding
from workers.review.detectors.reports import ReportContext, findings_in, read_report
from workers.review.suggestions import apply_edits

TEXT = "x = 1\nname = '😀é'; y = eval(x)\nlast = 3\n"
GIVEN = ReportContext(tool="lens", sources={"pkg/a b.py": TEXT}, category=Category.STYLE)
PLACE = {
    "artifactLocation": {"uri": "pkg/a%20b.py"},
    "region": {"startLine": 2, "startColumn": 19, "endLine": 2, "endColumn": 23},
}


def log(*results: Mapping[str, object], **run: object) -> str:
    rules = [
        {"id": "no-eval", "properties": {"tags": ["security"], "security-severity": "9.1"}},
        {"id": "slow", "defaultConfiguration": {"level": "error"}, "properties": {"tags": ["performance"]}},
    ]
    whole = {"tool": {"driver": {"name": "lens", "rules": rules}}, "results": list(results)} | run
    return json.dumps({"version": "2.1.0", "$schema": "x", "runs": [whole]})


def result(**more: object) -> dict[str, object]:
    return {
        "ruleId": "no-eval",
        "message": {"text": "eval is\nevil"},
        "locations": [{"physicalLocation": PLACE}],
    } | more


def test_a_sarif_result_becomes_a_finding() -> None:
    """Place, rule, category and severity survive; columns in UTF-16 become characters."""
    (found,) = read_report(log(result()), "sarif", GIVEN)
    assert found == RawFinding(
        path="pkg/a b.py",
        line=2,
        end_line=2,
        column=18,
        tool="lens",
        rule="no-eval",
        category=Category.SECURITY,
        severity=Severity.CRITICAL,
        message="eval is evil",
    )


@pytest.mark.parametrize(
    ("more", "category", "severity"),
    [
        ({"ruleId": "slow"}, Category.PERFORMANCE, Severity.MAJOR),
        ({"ruleId": "slow", "level": "note"}, Category.PERFORMANCE, Severity.INFO),
        ({"ruleId": "unknown"}, Category.STYLE, Severity.MINOR),
        ({"ruleId": "", "ruleIndex": 1}, Category.PERFORMANCE, Severity.MAJOR),
        ({"ruleId": "", "rule": {"index": 0}}, Category.SECURITY, Severity.CRITICAL),
    ],
)
def test_sarif_levels_and_tags_are_mapped(more: dict[str, object], category: Category, severity: Severity) -> None:
    """The result's level, else the rule's, else a warning; tags name the category."""
    (found,) = read_report(log(result(**more)), "sarif", GIVEN)
    assert (found.category, found.severity) == (category, severity)


def test_a_rule_without_nul_is_kept() -> None:
    """PostgreSQL refuses the character, and rules are columns there."""
    (found,) = read_report(log(result(ruleId="no\0eval")), "sarif", GIVEN)
    assert found.rule == "no\ufffdeval"


def test_a_sarif_fix_becomes_edits() -> None:
    """What the fix replaces is what stands at its place, and only a fix of the same file is taken."""
    replacement = {"deletedRegion": PLACE["region"], "insertedContent": {"text": "safe"}}
    change = {"artifactLocation": {"uri": "file:///workspace/pkg/a%20b.py"}, "replacements": [replacement]}
    (found,) = read_report(log(result(fixes=[{"artifactChanges": [change]}])), "sarif", GIVEN)
    assert found.fix is not None
    assert apply_edits(TEXT, found.fix.edits) == TEXT.replace("eval", "safe")
    assert not found.fix.safe


def test_what_passed_or_was_suppressed_is_no_finding() -> None:
    """Nor is what stands nowhere."""
    results = [result(kind="pass"), result(suppressions=[{"kind": "inSource"}]), result(locations=[])]
    assert read_report(log(*results), "sarif", GIVEN) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "wrote no SARIF"),
        ("{}", "wrote no SARIF"),
        ('{"version": "1.0.0", "runs": []}', "2.1 is read"),
        (log(results=None), "did not succeed"),
        (log(invocations=[{"executionSuccessful": False}]), "did not succeed"),
        (log(result(locations=[{"physicalLocation": {"artifactLocation": {"uri": "/etc/passwd"}}}])), "was not given"),
        (log(result())[:-20], "wrote no SARIF"),
    ],
)
def test_a_broken_sarif_log_is_a_failure(text: str, reason: str) -> None:
    """Never an empty list."""
    with pytest.raises(DetectorFailed, match=reason):
        read_report(text, "sarif", GIVEN)


DIAGNOSTIC = {
    "message": "eval is evil",
    "location": {
        "path": "./pkg/a b.py",
        "range": {"start": {"line": 2, "column": 22}, "end": {"line": 2, "column": 26}},
    },
    "severity": "ERROR",
    "code": {"value": "L001", "url": "https://example.org"},
    "suggestions": [{"range": {"start": {"line": 2, "column": 22}, "end": {"line": 2, "column": 26}}, "text": "safe"}],
}


def test_rdjson_becomes_findings_with_fixes() -> None:
    """Both forms say the same; columns in bytes become characters."""
    (whole,) = read_report(json.dumps({"source": {"name": "l"}, "diagnostics": [DIAGNOSTIC]}), "rdjson", GIVEN)
    (line,) = read_report(json.dumps(DIAGNOSTIC) + "\n\n", "rdjsonl", GIVEN)
    assert whole == line
    assert (whole.rule, whole.line, whole.column, whole.severity) == ("L001", 2, 18, Severity.MAJOR)
    assert whole.fix is not None
    assert apply_edits(TEXT, whole.fix.edits) == TEXT.replace("eval", "safe")


def test_an_rdjson_range_without_columns_is_of_whole_lines() -> None:
    """So is its suggestion."""
    place = {"start": {"line": 1}, "end": {"line": 2}}
    said = {
        "message": "m",
        "location": {"path": "pkg/a b.py", "range": place},
        "severity": 2,
        "suggestions": [{"range": place, "text": "one = 1"}],
    }
    (found,) = read_report(json.dumps(said), "rdjsonl", GIVEN)
    assert (found.line, found.end_line, found.severity, found.rule) == (1, 2, Severity.MINOR, "lens")
    assert found.fix is not None
    assert apply_edits(TEXT, found.fix.edits) == "one = 1\nlast = 3\n"


def ended(stdout: str, exit_code: int) -> CompletedRun:
    return CompletedRun(
        exit_code=exit_code, ending=Ending.EXITED, stdout=stdout, stderr="boom", report=b"", seconds=0.1
    )


@pytest.mark.parametrize(
    ("stdout", "exit_code", "format_", "reason"),
    [
        ("", 0, "sarif", "wrote no SARIF"),
        ("", 0, "rdjson", "wrote no rdjson"),
        ("", 2, "rdjsonl", "exit code 2: boom"),
        ("{}\n", 0, "rdjsonl", "wrote no rdjsonl"),
        ('{"diagnostics": []}', 3, "rdjson", "exit code 3: boom"),
    ],
)
def test_a_tool_that_failed_is_never_clean(stdout: str, exit_code: int, format_: str, reason: str) -> None:
    """Broken and empty reports of tools that failed are failures."""
    with pytest.raises(DetectorFailed, match=reason):
        findings_in(ended(stdout, exit_code), format_, GIVEN)


def test_a_tool_that_found_nothing_is_clean() -> None:
    """An empty report of a tool that ended well is believed, and findings are, whatever the exit code."""
    assert findings_in(ended("", 0), "rdjsonl", GIVEN) == []
    assert findings_in(ended('{"diagnostics": []}', 1), "rdjson", GIVEN) == []
    assert len(findings_in(ended(json.dumps(DIAGNOSTIC), 7), "rdjsonl", GIVEN)) == 1
