"""Wrong boolean structure is put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "negation",
        """
        def f(a, b):
            if a.open:
                return b
            return None
        """,
        """
        def f(a, b):
            if not a.open:
                return b
            return None
        """,
        {},
    ),
    (
        "negation",
        """
        def f(a, b):
            return 1 if not a else 2
        """,
        """
        def f(a, b):
            return 1 if a else 2
        """,
        {},
    ),
    (
        "boolean_operator",
        """
        def f(a, b):
            return a.paid and b.paid
        """,
        """
        def f(a, b):
            return a.paid or b.paid
        """,
        {},
    ),
    (
        "swapped_sides",
        """
        def f(a, b):
            return a.alias() or a.name(b) if b else None
        """,
        """
        def f(a, b):
            return a.name(b) or a.alias() if b else None
        """,
        {},
    ),
    (
        "boolean_grouping",
        """
        def f(a, b):
            return a.x or a.y and b
        """,
        """
        def f(a, b):
            return (a.x or a.y) and b
        """,
        {},
    ),
    (
        "negated_group",
        """
        def f(a, b):
            return not (a and b)
        """,
        """
        def f(a, b):
            return not a and b
        """,
        {},
    ),
    (
        "sign",
        """
        def f(a, b):
            return a.offset
        """,
        """
        def f(a, b):
            return -a.offset
        """,
        {},
    ),
    (
        "swapped_comparison",
        """
        def f(a, b):
            return a in b
        """,
        """
        def f(a, b):
            return b in a
        """,
        {},
    ),
    (
        "missing_symmetry",
        """
        def right(a, b, c):
            return a * a + b * b == c * c
        """,
        """
        def right(a, b, c):
            return a * a + b * b == c * c or b * b + c * c == a * a or c * c + a * a == b * b
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
