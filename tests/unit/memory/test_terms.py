"""Terms: what two pieces of source share, and where a pattern fits."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.terms import NotSource, Term, pattern, read, size, written
from memory.unify import Generalisation, filled, matched


def shared(one: str, other: str) -> str:
    found = Generalisation().of(pattern(one), pattern(other))
    return "" if found is None else written(found)


def expressions() -> st.SearchStrategy[str]:
    """Expressions of a few names and constants, some levels deep."""
    leaves = st.sampled_from(["a", "b", "self.size", "1", "'x'", "None"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "<", "and"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(st.sampled_from(["f", "len"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
            st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]" if t[0][0] not in "1'N" else f"[{t[0]}, {t[1]}]"),
        ),
        max_leaves=6,
    )


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("a.x + f(b)", "c.x + f(d[0])", "__0_Name__.x + f(__1_expr__)"),
        ("a + a", "b + b", "__0_Name__ + __0_Name__"),
        ("a + b", "b + a", "__0_Name__ + __1_Name__"),
        ("a < b", "a + b", "__0_expr__"),
        ("f(1)", "f(1, 2)", "__0_Call__"),
        ("a.first", "a.last", "a.__0_word__"),
        ("return a", "x = a", ""),
        ("return f(a)", "return f(b)", "return f(__0_Name__)"),
    ],
)
def test_what_is_common(one: str, other: str, common: str) -> None:
    """Structure stays, what differs is a hole, the same difference the same hole; statements of two kinds share nothing."""
    assert shared(one, other) == common


@given(expressions(), expressions())
def test_both_are_instances(one: str, other: str) -> None:
    """Whatever two expressions share fits both of them, and filled with what it fits gives them back."""
    found = Generalisation().of(pattern(one), pattern(other))
    assert found is not None
    for source in (one, other):
        bound: dict[int, Term] = {}
        assert matched(found, pattern(source), bound)
        assert filled(found, bound) == pattern(source)


@given(expressions(), expressions())
def test_the_order_does_not_matter(one: str, other: str) -> None:
    """What is common to two is the same whichever comes first."""
    assert shared(one, other) == shared(other, one)


@given(expressions(), expressions())
def test_a_pattern_is_kept_as_text(one: str, other: str) -> None:
    """Written and read again, a pattern is the same."""
    found = Generalisation().of(pattern(one), pattern(other))
    assert found is not None
    assert pattern(written(found)) == found


@given(expressions())
def test_alike_is_nothing_lost(one: str) -> None:
    """An expression with itself shares all of itself."""
    assert Generalisation().of(pattern(one), pattern(one)) == pattern(one)
    assert size(pattern(one)) > 0


@pytest.mark.parametrize(
    "source", ["def", "x" * 3000, "(" * 500 + ")" * 500, "-" * 200 + "a", "1e999", "__0_Name__ + 1", "a\0b"]
)
def test_what_cannot_be_read_is_refused(source: str) -> None:
    """Text that does not parse, is too long or too deep, or looks like one of our holes, is no source."""
    with pytest.raises(NotSource):
        read(source)


def test_a_body_of_dots_is_any_body() -> None:
    """A header fits whatever stands below it."""
    assert matched(read("if a:\n    ..."), read("if a:\n    b()\n    c()"), {})
    assert matched(read("if a:\n    ..."), read("if a:\n    b()\nelse:\n    c()"), {})
    assert not matched(read("if a:\n    ..."), read("while a:\n    b()"), {})


def test_reading_runs_nothing() -> None:
    """What is read is only parsed."""
    read("raise SystemExit(ast)")
    assert isinstance(ast.parse("1"), ast.Module)
