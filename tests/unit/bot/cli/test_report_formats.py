"""SARIF, rdjsonl and commands of GitHub's runner, from reviews as values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from bot.cli.console import FailOn, Format
from bot.cli.report_formats import cannot_run, github, rdjsonl, sarif
from bot.cli.review_output import files_of, rendered, write
from bot.cli.review_report import report_of
from bot.local import LocalReview
from memory.model import Confidence, Severity
from tests.reviewed import BREAKS, BROKEN, HEAD, PROOF, SILENT, culprit, finding, repaired, review, suggestion

SUGGESTED = finding(suggestion=suggestion(1, 2, "ONE\n"))
EVERYTHING = review(
    finding(fingerprint="1" * 32),
    finding(Severity.CRITICAL, "a hole", fingerprint="2" * 32, rule="S602", category="security", line=3, end_line=4),
    replace(SUGGESTED, fingerprint="3" * 32),
    tests=replace(BREAKS, whole=False, trouble="the time was up", failing_before=("tests/test_b.py::test_old",)),
    not_read="logo.png",
    culprit=culprit("one\nTWO\nthree\nfour\nfive\n"),
    fix=repaired("one\nthree\nfour\nfive\nsix\n"),
)


def run_of(result: LocalReview) -> dict[str, Any]:
    document = json.loads(sarif(report_of(result), 1))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def lines_of(result: LocalReview) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rdjsonl(report_of(result)).splitlines()]


def applied(text: str, region: dict[str, int], inserted: str, column: str, line: str) -> str:
    """A text with one region replaced, as both formats define it: without columns, whole lines but for the last line feed."""
    lines = text.split("\n")
    starts = [sum(len(each) + 1 for each in lines[:number]) for number in range(len(lines) + 1)]
    first, last = region[f"start{line}"], region[f"end{line}"]
    begin = starts[first - 1] + region.get(f"start{column}", 1) - 1
    given = region.get(f"end{column}", 0)
    end = starts[last - 1] + (given - 1 if given else len(lines[last - 1]))
    return text[:begin] + inserted + text[end:]


def by_sarif(fix: dict[str, Any]) -> str:
    """The head with a fix."""
    text, (change,) = HEAD, fix["artifactChanges"]
    for each in reversed(change["replacements"]):
        text = applied(text, each["deletedRegion"], each.get("insertedContent", {}).get("text", ""), "Column", "Line")
    return text


def by_rdjson(suggestions: list[dict[str, Any]]) -> str:
    text = HEAD
    for each in reversed(suggestions):
        region = {f"{side}{key}": value for side, place in each["range"].items() for key, value in place.items()}
        text = applied(text, region, each["text"], "column", "line")
    return text


EDITED = [
    "one\nTWO\nthree\nfour\nfive\n",
    "one\nthree\nfour\nfive\n",
    "zero\none\ntwo\nthree\nfour\nfive\n",
    "one\ntwo\nthree\nfour\nfive\nsix\n",
    "ONE\ntwo\nthree\nnew\nfour\n",
    "",
]


@pytest.mark.parametrize("after", EDITED)
def test_a_proven_repair_is_edits_in_each_format(after: str) -> None:
    """Who applies the fix of SARIF, or all suggestions of rdjsonl, gets what was proven, to the letter."""
    result = review(tests=BREAKS, fix=repaired(after))
    _, repair = run_of(result)["results"]
    assert by_sarif(repair["fixes"][0]) == after
    parts = [line for line in lines_of(result) if line["code"]["value"] == "proven-repair"]
    assert by_rdjson([each for part in parts for each in part["suggestions"]]) == after


@pytest.mark.parametrize(("start", "end", "text"), [(1, 2, "ONE\n"), (2, 2, ""), (5, 5, "FIVE\nSIX\n")])
def test_a_proven_suggestion_is_an_edit_in_each_format(start: int, end: int, text: str) -> None:
    """It replaces its lines, and reviewdog's comment is on these lines: on others it would refuse the suggestion."""
    lines = HEAD.splitlines(keepends=True)
    after = "".join([*lines[: start - 1], text, *lines[end:]])
    result = review(finding(suggestion=suggestion(start, end, text)))
    assert by_sarif(run_of(result)["results"][0]["fixes"][0]) == after
    (line,) = lines_of(result)
    assert by_rdjson(line["suggestions"]) == after
    assert line["location"]["range"] == {"start": {"line": start}, "end": {"line": end}}
    where = f"line {start}" if start == end else f"lines {start}-{end}"
    assert f"suggested for {where}, applied and tested: 3 tests passed" in github(report_of(result))


def test_a_repair_that_tests_do_not_decide_on_is_no_edit() -> None:
    """It is shown as a diff, with the question; nobody applies it by a click."""
    disputed = replace(PROOF, confidence=Confidence.DISPUTED, plausible=2, clusters=2, alike=1, share=0.5)
    result = review(tests=BREAKS, fix=repaired("one\n", disputed))
    _, repair = run_of(result)["results"]
    assert "fixes" not in repair
    assert "-two" in repair["message"]["text"]
    shown = [line for line in lines_of(result) if line["code"]["value"] == "proven-repair"]
    assert [("suggestions" in line, "-two" in line["message"]) for line in shown] == [(False, True)]


def test_an_edit_with_a_credential_is_not_offered() -> None:
    """A format that writes it would leak it, and one that hides it would offer another edit."""
    key = "ghp_" + "a1B2" * 9
    result = review(finding(suggestion=suggestion(1, 1, f'token = "{key}"\n')))
    for format_ in Format:
        assert (key in rendered(result, format_, 0)) == (format_ in (Format.TEXT, Format.JSON))
    assert "fixes" not in run_of(result)["results"][0]


@pytest.mark.parametrize("format_", Format)
def test_each_format_has_everything(format_: Format) -> None:
    """Broken tests, what breaks and repairs them, findings, and what was not read or run: in every format."""
    text = rendered(EVERYTHING, format_, 1).replace("\\", "")
    for word in ("test_it", "S602", "F401", "logo.png", "the time was up", "TWO", "six", "ONE"):
        assert word in text, word


@pytest.mark.parametrize("format_", Format)
def test_tests_that_could_not_run_are_in_each_format(format_: Format) -> None:
    """A review without a verdict of the tests looks like none that passed."""
    assert "pytest is not installed" in rendered(review(tests=SILENT), format_, 2)
    assert "No test is broken" not in rendered(review(tests=SILENT), format_, 2)


def test_sarif_says_how_it_went() -> None:
    """Exit code, success, and one notification for each thing that was not done; a run has the name of its category."""
    run = run_of(EVERYTHING)
    (invocation,) = run["invocations"]
    notes = [
        (note["descriptor"]["id"], note["level"], note["message"]["text"])
        for note in invocation["toolExecutionNotifications"]
    ]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 1)
    assert notes == snapshot(
        [
            ("tests", "warning", "1 test failing without this change too: tests/test_b.py::test_old."),
            ("tests", "warning", "Not all tests ran: the time was up."),
            ("not-read", "note", "not read: binary"),
        ]
    )
    assert run["automationDetails"] == {"id": "apprentice/review/"}
    assert not run_of(review(tests=SILENT))["invocations"][0]["executionSuccessful"]


def test_sarif_results_have_what_code_scanning_needs() -> None:
    """A level, a rule with its help, a fingerprint of ours, and for security a score that GitHub reads."""
    run = run_of(EVERYTHING)
    rules = run["tool"]["driver"]["rules"]
    results = [(each["ruleId"], each["level"], rules[each["ruleIndex"]]["id"]) for each in run["results"]]
    assert results == [
        ("broken-test", "error", "broken-test"),
        ("breaking-part", "error", "breaking-part"),
        ("proven-repair", "note", "proven-repair"),
        ("S602", "error", "S602"),
        ("F401", "warning", "F401"),
        ("F401", "warning", "F401"),
    ]
    scores = {rule["id"]: rule["properties"].get("security-severity") for rule in rules}
    assert scores == {
        "broken-test": None,
        "breaking-part": None,
        "proven-repair": None,
        "S602": "9.5",
        "F401": None,
    }
    assert all(rule["help"]["text"] and rule["helpUri"].startswith("https://") for rule in rules)
    marks = [each["partialFingerprints"]["apprenticeFingerprint/v1"] for each in run["results"]]
    assert (len(set(marks)), marks[-1]) == (6, "3" * 32)


def test_a_hidden_finding_is_suppressed() -> None:
    """SARIF has it with the reason; where a comment or an annotation would show it, it is counted."""
    result = review(finding(message="of no use"), hidden=True)
    (only,) = run_of(result)["results"]
    assert [each["justification"] for each in only["suppressions"]] == ["3 of 3 rejected here; acceptance 0.01 ± 0.01"]
    assert github(report_of(result)) == snapshot(
        "::notice title=apprentice%3A hidden::1 finding hidden, as in a pull request: little use is expected\n"
    )
    assert [line["code"]["value"] for line in lines_of(result)] == ["hidden"]


@pytest.mark.parametrize(
    ("path", "uri"),
    [("a b/ä.py", "a%20b/%C3%A4.py"), ("x:y.py", "x%3Ay.py"), ("100%.py", "100%25.py"), ("a\udcff.py", "a%FF.py")],
)
def test_a_path_is_an_encoded_uri(path: str, uri: str) -> None:
    """Relative to the root, without a scheme by accident, with any byte that a name can have."""
    (only,) = run_of(review(finding(path=path)))["results"]
    place = only["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": uri, "uriBaseId": "SRCROOT"}


def test_a_broken_test_is_where_the_change_breaks_it() -> None:
    """Else in its own file, else, where pytest cannot begin, in a file of the change: code scanning refuses a result without a place."""
    elsewhere = replace(BROKEN, path="", line=0)
    tests = replace(BREAKS, broken=(BROKEN, elsewhere, replace(elsewhere, id="")))
    found = [
        (
            each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            each["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for each in run_of(review(tests=tests))["results"]
    ]
    assert found == [("a.py", 2), ("tests/test_a.py", 1), ("a.py", 1)]


HOSTILE = "see [here](https://evil.example/x) @team <!-- x --> \x1b[31m fixes #1\n::error::forged\r\n##[error]"


def test_foreign_text_does_nothing_in_any_format() -> None:
    """No link, mention, command, closing word or control character of a finding's message is one of ours."""
    result = review(finding(message=HOSTILE))
    text = run_of(result)["results"][0]["message"]["text"]
    assert "[here]" not in text
    assert "https://" not in text
    (line,) = lines_of(result)
    assert "[here](" not in line["message"]
    assert "<!--" not in line["message"]
    commands = github(report_of(result))
    assert commands.count("\n") == 1
    assert commands.startswith("::warning file=a.py,line=1,endLine=1,title=F401::")
    for format_ in Format:
        assert "\x1b" not in rendered(result, format_, 0)
    for written in (text, line["message"], commands):
        assert "@team" not in written
        assert "fixes #1" not in written


def test_a_property_ends_where_it_should() -> None:
    """A file's name can hold what separates properties and what begins the message."""
    odd = "a,line=1::b%\r\n::error::c.py"
    assert github(report_of(review(finding(path=odd)))) == snapshot(
        "::warning file=a%2Cline=1%3A%3Ab%25%0D%0A%3A%3Aerror%3A%3Ac.py,line=1,endLine=1,title=F401::`os` imported but unused\n"
    )


def test_github_shows_ten_of_a_level() -> None:
    """The worst come first, and the tenth says how many more there are; ten are shown whole."""
    many = [finding(Severity.MINOR, f"number {n}", fingerprint=f"{n:032}", line=n, end_line=n) for n in range(1, 31)]
    worst = finding(Severity.MAJOR, "the worst", fingerprint="w" * 32, line=99, end_line=99)
    lines = github(report_of(review(*many, worst))).splitlines()
    assert (len(lines), lines[0].rpartition("::")[2], lines[-1]) == snapshot(
        (
            10,
            "the worst",
            "::warning title=apprentice::and 22 more: GitHub shows 10 of a level; apprentice review lists all",
        )
    )
    assert len(github(report_of(review(*many[:10]))).splitlines()) == 10


def test_what_breaks_many_tests_is_not_among_those_left_out() -> None:
    """The part of the change that does it comes after the first of them."""
    many = replace(BREAKS, broken=tuple(replace(BROKEN, id=f"test_a.py::test_{n}") for n in range(500)))
    lines = github(report_of(review(tests=many, culprit=culprit("one\n")))).splitlines()
    titles = [line.partition("title=")[2].partition("::")[0] for line in lines]
    assert titles[:3] == ["broken-test", "breaking-part", "broken-test"]
    assert (len(lines), "and 492 more" in lines[-1]) == (10, True)


def test_each_format_says_why_there_is_no_repair() -> None:
    why = "No repair was found, with 3 candidates in 60 s."
    result = review(tests=BREAKS)
    report = report_of(replace(result, reviewed=replace(result.reviewed, unrepaired=why)))
    assert all(why in text for text in (sarif(report, exit_code=1), rdjsonl(report), github(report)))


def test_the_runner_learns_why_nothing_ran() -> None:
    """As one annotation."""
    assert cannot_run("bubblewrap is missing:\ninstall it") == snapshot(
        "::error title=apprentice cannot run::bubblewrap is missing: install it\n"
    )


def test_a_report_replaces_a_link(tmp_path: Path) -> None:
    """A checkout can bring a link of the report's name: what it points to stays as it is."""
    private, report = tmp_path / "private", tmp_path / "review.sarif"
    private.write_text("mine", encoding="utf-8")
    report.symlink_to(private)
    assert write(review(), Format.JSON, files_of([f"sarif={report}"]), FailOn.TESTS) == 0
    assert (private.read_text(encoding="utf-8"), report.is_symlink()) == ("mine", False)
    assert json.loads(report.read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert sorted(tmp_path.iterdir()) == [private, report]


def test_no_finding_gives_no_line() -> None:
    """Nothing to say is an empty report, and a SARIF run without results."""
    assert (github(report_of(review())), rdjsonl(report_of(review())), run_of(review())["results"]) == ("", "", [])
