from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.model import Finding, Severity
from workers.diffs import changed_lines, parse_diff, touched_lines, unified
from workers.review.detectors.detector import MODEL, Category, RawFinding
from workers.review.findings import beside, is_on, is_severe, merged, seen_in

SOURCE = """\
import os


class Basket:
    def total(self, prices=[]):
        if prices == None:
            return 0
        return sum(prices)
"""


def raw(line: int, rule: str = "E711", **changes: object) -> RawFinding:
    found = RawFinding(
        path="shop/basket.py",
        line=line,
        end_line=line,
        column=1,
        tool="ruff",
        rule=rule,
        category=Category.CORRECTNESS,
        severity=Severity.MINOR,
        message="m",
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def security(line: int, rule: str, tool: str, **changes: object) -> RawFinding:
    return raw(line, rule, tool=tool, category=Category.SECURITY, **changes)


def findings(source: str, *found: RawFinding) -> tuple[Finding, ...]:
    return tuple(each.finding for each in seen_in(found, {"shop/basket.py": source}))


def mark(source: str, *found: RawFinding) -> str:
    (finding,) = findings(source, *found)
    return finding.fingerprint


@given(st.integers(min_value=0, max_value=50))
def test_shifted_lines_keep_the_fingerprint(lines: int) -> None:
    """Code inserted above moves a finding without making it another."""
    assert mark("# new\n" * lines + SOURCE, raw(6 + lines)) == mark(SOURCE, raw(6))


def test_reindented_and_reformatted_lines_keep_the_fingerprint() -> None:
    """White space is no part of what a finding is."""
    head, body = SOURCE.split("        if", 1)
    deeper = "        if" + body.replace("prices == None", "prices  ==  None")
    nested = head + "        if prices:\n" + "".join(f"    {line}\n" for line in deeper.splitlines())
    assert mark(nested, raw(7)) == mark(SOURCE, raw(6))


def test_edits_elsewhere_keep_the_fingerprint() -> None:
    """Only the finding's own lines and the names around it count."""
    edited = SOURCE.replace("return 0", "return None").replace("import os", "import sys")
    assert mark(edited, raw(6)) == mark(SOURCE, raw(6))


@pytest.mark.parametrize(
    "other",
    [
        mark(SOURCE.replace("prices == None", "costs == None"), raw(6)),
        mark(SOURCE.replace("def total", "def sum"), raw(6)),
        mark(SOURCE, raw(6, "E712")),
        mark(SOURCE.replace("class Basket", "class Cart"), raw(6)),
    ],
)
def test_another_name_rule_or_function_is_another_finding(other: str) -> None:
    """Names, the rule and the enclosing function tell findings apart."""
    assert other != mark(SOURCE, raw(6))


def test_identical_lines_in_one_function_are_numbered() -> None:
    """The same line twice is two findings, and inserting code between them changes neither."""
    source = "def f(x):\n    a(x == None)\n    a(x == None)\n"
    apart = source.replace("    a(x", "    y()\n    a(x")
    together = [finding.fingerprint for finding in findings(source, raw(3), raw(2))]
    assert len(set(together)) == 2
    assert [finding.fingerprint for finding in findings(apart, raw(5), raw(3))] == together


def test_a_file_that_does_not_parse_still_has_findings() -> None:
    """A syntax error has no function around it, but a fingerprint; a place past the end is drawn to the last line."""
    (finding,) = findings("def broken(:\n", raw(2, "invalid-syntax"))
    assert (finding.line, finding.end_line, finding.anchor) == (1, 1, "def broken(:")


def test_findings_come_in_one_order() -> None:
    """Path and line order findings, whatever order the tools reported them in."""
    assert findings(SOURCE, raw(6), raw(1, "F401")) == findings(SOURCE, raw(1, "F401"), raw(6))


def test_what_both_tools_say_is_said_once() -> None:
    """ruff's S602 and bandit's B602 on one line are one finding, graded by bandit."""
    twins = [security(3, "S602", "ruff"), security(3, "B602", "bandit", severity=Severity.CRITICAL)]
    (one,) = merged(twins)
    assert (one.rule, one.tool, one.severity) == ("S602", "ruff", Severity.CRITICAL)


def test_twins_on_different_lines_are_two() -> None:
    """The same rule elsewhere in the file is another finding."""
    assert len(merged([security(3, "S602", "ruff"), security(5, "B602", "bandit")])) == 2


def test_a_bare_except_that_passes_is_said_once() -> None:
    """Three rules complain about `except: pass`; one is enough."""
    found = [raw(3, "E722"), security(3, "S110", "ruff"), security(3, "B110", "bandit")]
    assert [each.rule for each in merged(found)] == ["E722"]


@pytest.mark.parametrize(
    ("comment", "found", "silent"),
    [
        ("# nosec", security(1, "S602", "ruff"), True),
        ("# nosec B602", security(1, "S602", "ruff"), True),
        ("# nosec B101", security(1, "S602", "ruff"), False),
        ("# noqa", security(1, "B602", "bandit"), True),
        ("# noqa: E501, S602", security(1, "B602", "bandit"), True),
        ("# noqa: S603", security(1, "B602", "bandit"), False),
        ("# nosec", raw(1, "F401"), False),
    ],
)
def test_a_comment_for_one_tool_answers_the_other(comment: str, found: RawFinding, silent: bool) -> None:
    """Whoever silenced bandit's rule has silenced ruff's copy of it, and the other way round, and nothing else."""
    assert (findings(f"run('ls', shell=True)  {comment}\n", found) == ()) == silent


def test_only_findings_on_changed_lines_are_kept() -> None:
    """A finding counts as changed when any of its lines was added or rewritten."""
    changed = changed_lines(parse_diff(unified("shop/basket.py", SOURCE.replace("return 0", "return None"), SOURCE)))
    found = findings(SOURCE, raw(7), raw(6, "B1", end_line=8), raw(1, "F401"))
    assert {(each.line, is_on(each, changed)) for each in found} == {(7, True), (6, True), (1, False)}


def test_a_guess_of_a_default_is_on_the_header_of_its_function() -> None:
    """bandit's range of it is the function: no change of the body brings up a default that was there before."""
    (found,) = findings(SOURCE, security(5, "B107", "bandit", end_line=8))
    assert (found.line, found.end_line) == (5, 5)
    both = findings(SOURCE, security(6, "S107", "ruff"), security(5, "B107", "bandit", end_line=8))
    assert [each.rule for each in both] == ["S107"]
    (found,) = findings('def f(\n    password="x",\n):\n    return 1\n', security(1, "B107", "bandit", end_line=4))
    assert (found.line, found.end_line) == (1, 3)


def test_a_hole_is_severe() -> None:
    """Trivia is not, whatever it is about."""
    trivia, hole = findings(SOURCE, raw(5, "B006"), security(8, "S307", "ruff", severity=Severity.MAJOR))
    assert is_severe(hole)
    assert not is_severe(trivia)


@pytest.mark.parametrize(
    ("new", "lines"),
    [
        (SOURCE.replace("        return sum", "        prices = prices\n        return sum"), [6]),
        (SOURCE.replace("        return sum(prices)\n", ""), [6]),
        (SOURCE.replace("    def", "    size = 1\n\n    def").replace("import os", "import re"), []),
        (SOURCE.replace("import os", "import re"), []),
    ],
    ids=["a line added", "a line removed", "the class around it", "the module"],
)
def test_what_is_in_a_touched_function_is_beside_the_change(new: str, lines: list[int]) -> None:
    """It counts for the innermost function or class; what is in none is beside nothing."""
    touched = touched_lines(parse_diff(unified("shop/basket.py", SOURCE, new)))
    found = findings(new, raw(1, "F401"), raw(6 if lines else new[: new.index("if prices")].count("\n") + 1))
    assert [each.line for each in beside(found, touched, {"shop/basket.py": new})] == lines


def test_a_secret_is_said_by_the_rule_that_knows_it_best() -> None:
    """A guess at a hard-coded password gives way to a secret on the same line, and to none on another."""
    guesses = [security(3, "S105", "ruff"), security(3, "B105", "bandit"), security(5, "S106", "ruff")]
    found = [*guesses, security(3, "SEC001", "secrets", severity=Severity.CRITICAL)]
    assert [(each.rule, each.line) for each in merged(found)] == [("SEC001", 3), ("S106", 5)]


@pytest.mark.parametrize(
    ("rule", "tool", "known"),
    [("name-defined", "mypy", "F821"), ("no-redef", "mypy", "F811")],
)
def test_what_ruff_says_of_a_line_no_other_detector_repeats(rule: str, tool: str, known: str) -> None:
    """The measured rule speaks, and alone."""
    assert [each.rule for each in merged([raw(3, rule, tool=tool), raw(3, known)])] == [known]
    assert len(merged([raw(3, rule, tool=tool), raw(4, known)])) == 2


def test_no_comment_silences_our_own_security_rules() -> None:
    """Comments answer the tools that they were made for."""
    text = "token = 'x'  # noqa  # nosec\n"
    assert len(findings(text, security(1, "SEC001", "secrets"))) == 1


def test_an_anchor_that_a_detector_gives_replaces_the_source() -> None:
    """What is not to be kept is not kept, and the finding still has an identity."""
    (found,) = findings("token = 'x'\n", security(1, "SEC001", "secrets", anchor="token = ..."))
    assert found.anchor == "token = ..."


def model(line: int, severity: Severity = Severity.MINOR, **changes: object) -> RawFinding:
    return raw(line, "model-correctness", tool=MODEL, severity=severity, **changes)


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        (model(6), ["E711"]),
        (model(5, end_line=6), ["E711"]),
        (model(7), ["E711", "model-correctness"]),
        (model(6, category=Category.SECURITY), ["E711", "model-correctness"]),
        (model(6, Severity.MAJOR), ["E711", "model-correctness"]),
    ],
    ids=["same line", "lines in common", "another line", "another category", "of much more harm"],
)
def test_what_a_tool_says_a_model_does_not_repeat(said: RawFinding, rules: list[str]) -> None:
    """A tool's word stands for the model's of the same lines and category, unless that tells of much more harm."""
    assert sorted(each.rule for each in merged([said, raw(6)])) == rules


def test_two_findings_of_a_model_stand_beside_each_other() -> None:
    """Only a tool takes a model's word from it."""
    assert len(merged([model(6), model(6, message="other")])) == 2


def test_a_models_words_are_no_part_of_the_fingerprint() -> None:
    """Other words, another severity and another column of the same line are the same finding."""
    one, other = model(6), model(6, Severity.MAJOR, message="Something else entirely", column=5)
    assert mark(SOURCE, one) == mark(SOURCE, other)


def test_a_message_is_short() -> None:
    """Tools repeat a name of the code, which may be as long as its file; an import over many lines is one."""
    (finding,) = findings(SOURCE, raw(6, message=f"`{'a.' * 80_000}` imported but unused"))
    assert (len(finding.message), finding.message[-1]) == (500, "…")
