"""What a model says, held against the code."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from memory.model import Severity
from tests.unit.workers.agent.reviewed import AFTER, PATH, candidate, delta, finding
from workers.agent.findings import (
    LONGEST_MESSAGE,
    MAX_FINDINGS,
    CritiqueVerdicts,
    ReportedFindings,
    checked,
    raw_of,
    unlike,
)
from workers.llm.structured import schema_of
from workers.review.detectors.detector import Category
from workers.review.findings import seen_in
from workers.review.suggestions import apply_edits, drafts


@pytest.mark.parametrize(
    ("differing", "lines"),
    [
        pytest.param({}, (3, 3), id="as said"),
        pytest.param({"quote": "   total   = sum(sums[1:])  "}, (3, 3), id="white space"),
        pytest.param({"line": 1, "end_line": 2}, (3, 4), id="moved"),
        pytest.param({"line": 900, "end_line": 900}, (3, 3), id="beyond the end"),
        pytest.param({"line": -3, "end_line": -9}, (3, 3), id="backwards"),
        pytest.param({"quote": "\n    total = sum(sums[1:])\n    return total"}, (3, 3), id="several lines"),
    ],
)
def test_the_quote_tells_the_line(differing: Mapping[str, object], lines: tuple[int, int]) -> None:
    """A finding stands where its quote does: at its line, or at the only changed line that reads so."""
    (found,) = checked([finding(**differing)], {PATH}, delta())
    assert (found.line, found.end_line) == lines


@pytest.mark.parametrize(
    "differing",
    [
        pytest.param({"quote": "total = sum(sums[2:])"}, id="stands nowhere"),
        pytest.param({"quote": ""}, id="nothing"),
        pytest.param({"quote": " \n "}, id="blank"),
        pytest.param({"line": 1, "end_line": 1, "quote": "def paid(sums):"}, id="an old line"),
        pytest.param({"line": 9, "quote": "def paid(sums):"}, id="an old line elsewhere"),
        pytest.param({"end_line": 9}, id="over the end"),
        pytest.param({"path": "shop/other.py"}, id="another file"),
        pytest.param({"path": "../../etc/passwd"}, id="outside"),
        pytest.param({"title": " \u200b "}, id="no words"),
    ],
)
def test_what_stands_nowhere_is_not_said(differing: Mapping[str, object]) -> None:
    """A finding that cannot be found on changed lines is dropped."""
    assert checked([finding(**differing)], {PATH}, delta()) == []


def test_a_quote_that_stands_twice_corrects_nothing() -> None:
    """Of two lines that read alike neither is guessed."""
    twice = delta("", "a = 1\nb = 2\na = 1\n")
    assert checked([finding(line=2, end_line=2, quote="a = 1")], {PATH}, twice) == []


def test_as_many_as_were_asked_for_and_each_once() -> None:
    """Repetitions of a line are one; what is over the limit is not read."""
    assert len(checked([finding()] * 3, {PATH}, delta())) == 1
    lines = "".join(f"x{n} = {n}\n" for n in range(40))
    many = [finding(line=n + 1, end_line=n + 1, quote=f"x{n} = {n}") for n in range(40)]
    assert len(checked(many, {PATH}, delta("", lines))) == MAX_FINDINGS


def test_unlike() -> None:
    """Another category on other lines is another finding; the same first line, or lines in common, are not."""
    one = candidate(line=3, end_line=5)
    same = candidate(line=3, end_line=3, category=Category.SECURITY)
    within = candidate(line=5, end_line=6)
    other = candidate(line=5, end_line=6, category=Category.SECURITY)
    assert unlike([same, within, other], [one]) == [other]


def test_words_are_made_harmless_and_short() -> None:
    """What people see is one line without hidden letters and credentials, within what is shown of a message."""
    (found,) = checked(
        [finding(title="a\u202e\nb <!-- c -->", explanation="https://x.example ghp_" + "A1" * 20 + " y" * 400)],
        {PATH},
        delta(),
    )
    assert found.title == "a b"
    assert found.explanation.startswith("https://x.example [secret removed] y y")
    assert len(found.message) <= LONGEST_MESSAGE + 2
    assert found.message.endswith("…")


@pytest.mark.parametrize("category", ["security", "correctness", "performance", "maintainability"])
def test_rules_are_a_closed_set(category: str) -> None:
    """The rule is the category's, whatever is said."""
    (found,) = checked([finding(category=category)], {PATH}, delta())
    raw = raw_of(found, AFTER)
    assert (raw.tool, raw.rule, raw.severity) == ("model", f"model-{category}", Severity.MAJOR)


@pytest.mark.parametrize(
    ("text", "end"),
    [(AFTER, "\n"), (AFTER.replace("\n", "\r\n"), "\r\n"), ("\ufeff" + AFTER, "\n")],
    ids=["lines", "carriage returns", "byte order mark"],
)
def test_a_replacement_is_a_fix_of_whole_lines(text: str, end: str) -> None:
    """It replaces exactly its lines, keeps how they end, and is not taken to be safe."""
    fix = raw_of(candidate(replacement="    total = sum(sums)"), text).fix
    assert fix is not None
    assert not fix.safe
    assert apply_edits(text, fix.edits) == text.replace(f"sums[1:]){end}", f"sums){end}")


def test_a_replacement_at_the_end_of_a_file() -> None:
    """A last line without a line feed stays without one; an empty text deletes."""
    text = AFTER.rstrip("\n")
    fix = raw_of(candidate(line=4, end_line=4, replacement="    return total + 0\n"), text).fix
    gone = raw_of(candidate(line=2, end_line=2, replacement=""), text).fix
    assert fix is not None
    assert apply_edits(text, fix.edits) == text + " + 0"
    assert gone is not None
    assert apply_edits(text, gone.edits) == text.replace('    """In cents."""\n', "")


@pytest.mark.parametrize(
    "differing",
    [
        {"replacement": None},
        {"replacement": "    total = sum(sums)  # \u202e"},
        {"replacement": "    key = 'ghp_" + "A1" * 20 + "'"},
        {"replacement": "    pass\n" * 100},
        {"replacement": "    total = sum(sums)", "path": "tests/test_till.py"},
    ],
    ids=["none", "hidden letters", "a credential", "too long", "a test"],
)
def test_what_is_no_remedy(differing: Mapping[str, object]) -> None:
    """Nothing with what nobody sees, nothing over a page, and nothing in tests, which would vouch for themselves."""
    assert raw_of(candidate(**differing), AFTER).fix is None


def test_a_replacement_that_does_not_parse_is_no_suggestion() -> None:
    """What would break the file never gets as far as a test run."""
    raw = raw_of(candidate(replacement="    total = sum(sums"), AFTER)
    assert drafts(seen_in([raw], {PATH: AFTER}), {PATH: AFTER}, {PATH: frozenset({2, 3, 4})}) == []


def test_schemas_are_strict() -> None:
    """Endpoints that check schemas strictly take both: every property required, and no others."""
    for kind in (ReportedFindings, CritiqueVerdicts):
        inner = schema_of(kind).parameters["$defs"]
        assert isinstance(inner, dict)
        for part in inner.values():
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
