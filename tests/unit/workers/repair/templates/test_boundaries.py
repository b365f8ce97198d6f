"""Off-by-one slips are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "integer_by_one",
        """
        def f(a, b):
            return a[b:][0] + 3
        """,
        """
        def f(a, b):
            return a[b:][0] + 2
        """,
        {},
    ),
    (
        "index_by_one",
        """
        def f(a, b):
            return a[b]
        """,
        """
        def f(a, b):
            return a[b - 1]
        """,
        {},
    ),
    (
        "index_by_one",
        """
        def f(a, b):
            return a[len(b) - 1]
        """,
        """
        def f(a, b):
            return a[len(b)]
        """,
        {},
    ),
    (
        "slice_bound",
        """
        def f(a, b):
            return a[:b]
        """,
        """
        def f(a, b):
            return a[:b + 1]
        """,
        {},
    ),
    (
        "slice_bound",
        """
        def f(a, b):
            return a[b:]
        """,
        """
        def f(a, b):
            return a[:b]
        """,
        {},
    ),
    (
        "slice_bound",
        """
        def f(a, b):
            return a[b:]
        """,
        """
        def f(a, b):
            return a[-b:]
        """,
        {},
    ),
    (
        "integer_by_one",
        """
        def f(a, b):
            return a - 1
        """,
        """
        def f(a, b):
            return a
        """,
        {},
    ),
    (
        "missing_slice",
        """
        def f(a, b):
            return float(a.text) / b
        """,
        """
        def f(a, b):
            return float(a.text[:-1]) / b
        """,
        {},
    ),
    (
        "missing_slice",
        """
        def f(a, b):
            return [line.strip() for line in a]
        """,
        """
        def f(a, b):
            return [line.strip() for line in a[1:]]
        """,
        {},
    ),
    (
        "range_bound",
        """
        def f(a, b):
            return [a * i for i in range(b)]
        """,
        """
        def f(a, b):
            return [a * i for i in range(1, b + 1)]
        """,
        {},
    ),
    (
        "expression_by_one",
        """
        def f(a, b):
            return len(a)
        """,
        """
        def f(a, b):
            return len(a) - 1
        """,
        {},
    ),
    (
        "length_or_end",
        """
        def f(a, i, n):
            return a[i : n]
        """,
        """
        def f(a, i, n):
            return a[i : i + n]
        """,
        {},
    ),
    (
        "length_or_end",
        """
        def f(a, i, n):
            return a[i : i + n]
        """,
        """
        def f(a, i, n):
            return a[i : n]
        """,
        {},
    ),
    (
        "length_or_end",
        """
        def f(a, i, n):
            return list(range(i, n))
        """,
        """
        def f(a, i, n):
            return list(range(i, i + n))
        """,
        {},
    ),
    (
        "length_or_end",
        """
        def f(a, i, n):
            return list(range(i, n + i))
        """,
        """
        def f(a, i, n):
            return list(range(i, n))
        """,
        {},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)


def test_only_amounts_are_shifted(edits: Callable[..., set[str]]) -> None:
    """A member, and what is asked for being the same, is no amount that could be one off."""
    source = "def f(a, b):\n    return [c for c in a if c {} b]\n"
    assert edits("expression_by_one", source.format("<"))
    for operator in ("in", "not in", "is", "is not"):
        assert not edits("expression_by_one", source.format(operator))
