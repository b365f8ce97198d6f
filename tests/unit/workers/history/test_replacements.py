"""What a line replaced by what, and what of that people agree on."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.history.conventions import LEAST_PLACES, conventions
from memory.model import Convention, Replacement
from tests.unit.workers.history.conftest import Branch
from workers.history.replacements import pairs, replacements


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            "def f(x: Optional[str] = None) -> Dict[str, int]:",
            "def f(x: str | None = None) -> dict[str, int]:",
            [("Optional[str]", "str | None"), ("Dict", "dict")],
        ),
        ("    self.assertEquals(a, b)", "    self.assertEqual(a, b)", [("self.assertEquals", "self.assertEqual")]),
        ("x = clock.utcnow()", "x = clock.now(utc)", [("clock.utcnow()", "clock.now(utc)")]),
        ("super(Foo, self).f(a)", "super().f(a)", [("super(Foo, self)", "super()")]),
        ("if x == None:", "if x is None:", [("x == None", "x is None")]),
        ("return foo(a, b)  # why", "return foo(a, b, c=1)", [("foo(a, b)", "foo(a, b, c=1)")]),
        ("for k in d.keys():", "for k in d:", [("d.keys()", "d")]),
        ("x = 1  # old", "x = 1  # new", []),
        ("x = 1", "x = 2", []),
        ("from six import text_type", "from compat import text_type", []),
        ("if a:", "while a:", []),
        ("x = f(", "x = g((", []),
        ("y = x * a + k", "y = x * c - k", [("x * a + k", "x * c - k")]),
        ("y = a + k * 2", "y = a - k * 2", [("a + k * 2", "a - k * 2")]),
        ("y = x * a", "y = x * c", [("a", "c")]),
        ("x = " + "a + " * 200 + "b", "x = " + "a + " * 200 + "c", []),
        ("", "x = 1", []),
    ],
)
def test_what_differs_as_whole_expressions(before: str, after: str, found: list[tuple[str, str]]) -> None:
    """The smallest expressions that hold what differs; constants alone, imports and what is none are left out."""
    assert list(pairs(before, after)) == found


names = st.sampled_from(["a", "b.c", "f(x)", "d[k]", "'s'", "1"])


@given(st.lists(names, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=4))
def test_both_sides_are_always_expressions(old: list[str], new: list[str]) -> None:
    """Whatever two lines are, what is told of them can be parsed, differs, and stands in them."""
    before, after = f"x = g({', '.join(old)})", f"x = g({', '.join(new)})"
    for one, other in pairs(before, after):
        assert one != other
        assert all(ast.unparse(ast.parse(each, mode="eval")) == each for each in (one, other))
        assert one.replace(" ", "") in before.replace(" ", "")


def test_a_change_counts_places_by_file(branch: Branch) -> None:
    """Two places of one file are one replacement, and a moved line is none."""
    branch.commit({"a.py": "x = old(1)\ny = old(2)\n", "b.py": "z = old(3)\n"})
    sha = branch.commit({"a.py": "x = new(1)\ny = new(2)\n", "b.py": "\nz = old(3)\n"})
    (only,) = [each for past in branch.past() for each in replacements(past)]
    assert only == Replacement(sha=sha, position=1, path="a.py", before="old", after="new", places=2)


def test_no_credential_is_kept(branch: Branch) -> None:
    """What people took out of their code is not kept by us."""
    secret = "glpat-" + "a1B2" * 6
    branch.commit({"a.py": f"x = connect({secret!r})\ny = old(2)\n"})
    branch.commit({"a.py": "x = connect(token)\ny = new(2)\n"})
    found = [each.before for past in branch.past() for each in replacements(past)]
    assert found == ["old"]


def replaced(before: str, after: str, path: str = "a.py", places: int = LEAST_PLACES, position: int = 1) -> Replacement:
    return Replacement(sha=f"{position:040}", position=position, path=path, before=before, after=after, places=places)


def test_what_many_places_of_several_files_agree_on() -> None:
    """It takes places and files, and names the last change."""
    both = [replaced("old", "new"), replaced("old", "new", "b.py", position=2)]
    assert conventions(both) == (
        Convention(before="old", after="new", places=2 * LEAST_PLACES, files=2, sha=f"{2:040}"),
    )
    assert conventions(both[:1]) == ()
    assert conventions([replaced("old", "new", path, 1) for path in ("a.py", "b.py")]) == ()


@pytest.mark.parametrize("other", [replaced("old", "newer", places=3), replaced("new", "old", places=3)])
def test_disagreement_makes_no_convention(other: Replacement) -> None:
    """Nor what was taken back."""
    both = [replaced("old", "new"), replaced("old", "new", "b.py")]
    assert "old" not in {each.before for each in conventions([*both, other])}
