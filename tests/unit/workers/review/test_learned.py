"""A repository's own conventions, and changes that go against them."""

from __future__ import annotations

import pytest

from memory.model import Convention
from workers.review.detectors.detector import Delta, HeadTree
from workers.review.detectors.learned import MOST_A_FILE, Learned, rule_of, standing
from workers.review.edits import apply_edits

OPTIONAL = Convention(before="Optional[str]", after="str | None", places=48, files=9, sha="c0ffee" + "0" * 34)


OTHERS = {"b.py": "x = 1\n"}


def delta(text: str, added: frozenset[int] | None = None) -> Delta:
    lines = frozenset(range(1, text.count("\n") + 1)) if added is None else added
    head = HeadTree(sources={"a.py": text}, target_version="py312")
    return Delta(head=head, base={}, added={"a.py": lines}, touched=frozenset({"a.py"}))


def test_what_is_brought_back_is_said_with_its_remedy() -> None:
    """The outermost expression, with how often it was replaced; the remedy stays one expression."""
    text = "def f(x: Optional[str]) -> str:\n    return x\n"
    (found,) = Learned([OPTIONAL], lambda: OTHERS).compare(delta(text), ["a.py"]).findings
    assert (
        found.message
        == "`Optional[str]` was replaced by `str | None` in 48 places of 9 files here, last in c0ffee000000."
    )
    assert (found.line, found.rule) == (1, rule_of(OPTIONAL))
    assert found.fix is not None
    assert not found.fix.safe, "only tests can tell that it may be replaced"
    assert apply_edits(text, found.fix.edits) == text.replace("Optional[str]", "str | None")


def test_parentheses_where_they_are_needed() -> None:
    """What binds less tightly than what is around it."""
    text = 'é = "é", [*Optional[str].x]\n'
    (found,) = Learned([OPTIONAL], lambda: OTHERS).compare(delta(text), ["a.py"]).findings
    assert found.fix is not None
    assert apply_edits(text, found.fix.edits) == text.replace("Optional[str]", "(str | None)")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("x: Optional[str]\n", frozenset[int]()),
        ("x: Optional[int]\n", None),
        ('x = "Optional[str]"\n', None),
        ("Optional[str] = 1\n", None),
    ],
)
def test_what_is_no_such_thing(text: str, added: frozenset[int] | None) -> None:
    """Lines that did not change, other expressions, words in a text, and what is assigned to."""
    assert Learned([OPTIONAL], lambda: OTHERS).compare(delta(text, added), ["a.py"]).findings == ()


@pytest.mark.parametrize(("count", "said"), [(9, True), (10, False)])
def test_what_still_stands_is_no_convention(count: int, said: bool) -> None:
    """Up to a fifth of the replaced places may be left in the code that the change began from."""
    sources = {f"m{number}.py": "x: Optional[str]\n" for number in range(count)}
    found = Learned([OPTIONAL], lambda: sources).compare(delta("x: Optional[str]\n"), ["a.py"]).findings
    assert bool(found) is said


def test_what_does_not_parse_is_unread() -> None:
    """And without conventions no file is read at all."""
    detection = Learned([OPTIONAL], lambda: OTHERS).compare(delta("def (:\n"), ["a.py"])
    assert detection.unread == {"a.py": "it does not parse"}
    assert not Learned([], dict).reads("a.py")


def test_standing_counts_by_structure() -> None:
    """However it is laid out, and whatever else holds the words."""
    texts = ["a = f( x )\nb = f(x)\n# f(x)\n", "f(x) + g(f(x))\n", "def broken(:\n f(x)"]
    assert standing({"f(x)", "g(f(x))"}, texts) == {"f(x)": 4, "g(f(x))": 1}


def test_odd_lines_are_survived() -> None:
    """A byte order mark, a number too long to be written, and more of the like than anybody wants to hear."""
    text = "\ufeff[Optional[str], 0x" + "f" * 4_000 + "]\n" + "x: Optional[str]\n" * 50
    found = Learned([OPTIONAL], lambda: OTHERS).compare(delta(text), ["a.py"]).findings
    assert len(found) == MOST_A_FILE
    first = next(each for each in found if each.line == 1)
    assert first.fix is not None
    assert apply_edits(text, first.fix.edits) == text.replace("Optional[str]", "str | None", 1)


def test_of_a_checkout_that_was_not_read_nothing_is_known() -> None:
    """A tree beyond the bounds may hold the old expression anywhere."""
    assert Learned([OPTIONAL], dict).compare(delta("x: Optional[str]\n"), ["a.py"]).findings == ()


def test_the_remedy_is_where_it_was_made() -> None:
    """Another expression of the same text on the line does not vouch for it."""
    product = Convention(before="a", after="b + c", places=9, files=3, sha="f" * 40)
    text = "x = a * (b + c)\n"
    (found,) = Learned([product], lambda: OTHERS).compare(delta(text), ["a.py"]).findings
    assert found.fix is not None
    assert apply_edits(text, found.fix.edits) == "x = (b + c) * (b + c)\n"
