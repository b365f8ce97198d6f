"""Evidence: what failing tests and messages show, and which edits it speaks for."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from memory.model import Failure
from workers.repair.candidates import Suspect
from workers.repair.classify import family_of
from workers.repair.engines.search.evidence import Evidence, evidence_of
from workers.repair.engines.search.search import SearchSpace

TEST = dedent(
    """\
    import pytest

    @pytest.mark.parametrize("name", ["release"])
    def test_it(name):
        assert opened(name, exists=False).size == 86400

    def test_other():
        assert closed("elsewhere", 7)
    """
)


def failure(message: str = "", error: str = "AssertionError") -> Failure:
    return Failure(
        error_type=error,
        family=family_of(error),
        message=message,
        frames=(),
        failing_tests=("tests/test_it.py::test_it[release]",),
    )


def evidence(message: str = "", error: str = "AssertionError") -> Evidence:
    return evidence_of(failure(message, error), {"tests/test_it.py": TEST})


def test_only_the_failing_tests_speak() -> None:
    """Literals, keyword arguments and names of the failing test and of its parameters, and of no other test."""
    shown = evidence()
    assert shown.numbers == ("86400",)
    assert "release" in shown.strings
    assert "elsewhere" not in shown.strings
    assert shown.keywords == ("exists=False",)
    assert {"opened", "exists", "size"} <= shown.words
    assert "closed" not in shown.words


@pytest.mark.parametrize(
    ("message", "by_one"),
    [
        ("assert 4 == 5\n +  where 4 = f(1)", True),
        ("assert [1, 2] == [1, 2, 3]\n  \n  Right contains one more item: 3", True),
        ("assert [1, 2] == [1, 3]", True),
        ("Lists differ: [1, 4] != [1, 5]\n\nFirst differing element 1", True),
        ("assert 4 == 9", False),
        ("assert True == False", False),
        ("assert 'a' == 'b'", False),
        ("assert [0, ...] == [1, ...]", False),
        ("'NoneType' object is not iterable", False),
    ],
)
def test_what_is_off_by_one(message: str, by_one: bool) -> None:
    """Numbers, lengths, and the first elements that differ."""
    assert evidence(message).by_one is by_one


def test_a_text_that_is_not_as_expected() -> None:
    """The change says what is there in place of what, with what is around it, in both directions."""
    one, other = evidence("assert 'no file' == 'no such file'").changes
    assert (one.before, one.actual, one.expected, one.behind) == ("no", "", " such", " fi")
    assert (other.actual, other.expected) == (" such", "")


def test_the_operands_say_what_a_message_abbreviates() -> None:
    """The values that were compared speak in full where the message leaves out their middle; what is no literal says nothing."""
    message = "assert 'a long te...that is cut' == 'another lon...that is cut'"
    texts = ("a long text of many words that is cut", "another long text of words that is cut")
    shown = replace(failure(message), operands=(repr(texts[0]), repr(texts[1])))
    assert texts in evidence_of(shown, {}).pairs
    unread = replace(failure("assert 4 == 5"), operands=("<Row 4>", "5"))
    assert evidence_of(unread, {}).pairs == ((4, 5),)


def test_small_and_shown_edits_come_first() -> None:
    """Of two edits the smaller one, and the one whose words the test shows; of two functions the one that it calls."""
    shown = evidence()
    plain = shown.relevance("a", "b")
    assert shown.relevance("a", "b + c * d") < plain
    assert shown.relevance("a", "exists") > plain
    assert shown.place("a = b", "opened") > shown.place("a = b", "f")
    assert 0 < plain <= 1


def test_a_step_comes_first_where_a_value_is_off_by_one() -> None:
    """One more, one less, or with the bound instead of without it."""
    shown = evidence("assert 4 == 5")
    other = shown.relevance("n", "m")
    assert shown.relevance("n", "n + 1") > other
    assert shown.relevance("3", "4") > other
    assert shown.relevance("<", "<=") > other
    assert shown.relevance("3", "7") == shown.relevance("3", "8")


def test_what_the_message_names_comes_first() -> None:
    """A statement with the attribute that is missing comes before one without it."""
    shown = evidence("'Shop' object has no attribute 'currency'", "AttributeError")
    assert shown.place("return self.currency", "f") > shown.place("return self.price", "f")


def order(source: str, message: str, error: str = "AssertionError") -> list[str]:
    suspects = [Suspect(path="it.py", line=n, score=0.9) for n in range(1, source.count("\n") + 1)]
    sources = {"it.py": source, "tests/test_it.py": TEST}
    found = SearchSpace(sources=sources, suspects=suspects, failure=failure(message, error)).proposed()
    return [candidate.source for candidate, _ in zip(found, range(60), strict=False)]


def test_the_order_follows_the_failure() -> None:
    """The same function's off-by-one comes earlier where the assertion shows one."""
    source = "def opened(rows, n):\n    kept = rows[n]\n    if kept > n:\n        return kept * n\n    return n\n"
    right = source.replace("rows[n]", "rows[n - 1]")
    assert order(source, "assert 4 == 5").index(right) < order(source, "assert 4 == 9").index(right)


def test_what_the_failing_test_uses_of_its_file_speaks_too() -> None:
    """Data of the module and fixtures that the test names hold what it expects; what it does not name says nothing."""
    text = "DATA = 'wanted'\nOTHER = 'unused'\ndef given():\n    return 7\ndef test_it(given):\n    f(given, DATA)\n"
    shown = evidence_of(failure(), {"tests/test_it.py": text})
    assert shown.strings == ("wanted",)
    assert shown.numbers == ("7",)
