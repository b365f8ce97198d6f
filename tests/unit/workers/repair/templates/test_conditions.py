"""Conditions that ask too much, too little, or the wrong thing are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "another_alternative",
        """
        def plural(word):
            '''
            >>> plural("fox")
            'foxes'
            '''
            return word + "es" if word[-1] == "s" else word + "s"
        """,
        """
        def plural(word):
            '''
            >>> plural("fox")
            'foxes'
            '''
            return word + "es" if word[-1] in ("s", "x") else word + "s"
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(text, port):
            if port:
                text, port = text.split(":", 1)
            return text, port
        """,
        """
        def f(text, port):
            if ":" in text:
                text, port = text.split(":", 1)
            return text, port
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(prices, name):
            if name:
                return prices[name]
            return 0
        """,
        """
        def f(prices, name):
            if name in prices:
                return prices[name]
            return 0
        """,
        {"error": "KeyError"},
    ),
    (
        "dropped_condition",
        """
        def f(a, b):
            if a.ready and b:
                return a
            return None
        """,
        """
        def f(a, b):
            if a.ready:
                return a
            return None
        """,
        {},
    ),
    (
        "extended_condition",
        """
        def f(a, b):
            if a > 3:
                return a
            return b
        """,
        """
        def f(a, b):
            if a > 3 and b is not None:
                return a
            return b
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(name, rows):
            if name is None:
                return rows.pop()
            return name
        """,
        """
        def f(name, rows):
            if not rows:
                return rows.pop()
            return name
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(low, high):
            if low.empty or high.empty:
                return None
            return low

        def g(low, high):
            if high:
                return None
            return high
        """,
        """
        def f(low, high):
            if low.empty or high.empty:
                return None
            return low

        def g(low, high):
            if low.empty or high.empty:
                return None
            return high
        """,
        {},
    ),
    (
        "constant_condition",
        """
        def f(a, b):
            if a:
                b.flush()
            return b
        """,
        """
        def f(a, b):
            if True:
                b.flush()
            return b
        """,
        {},
    ),
    (
        "conditional_branches",
        """
        def f(a, b):
            return a if a < b else 0
        """,
        """
        def f(a, b):
            return 0 if a < b else a
        """,
        {},
    ),
    (
        "none_or_falsy",
        """
        def f(a, b):
            if a:
                return a + b
            return b
        """,
        """
        def f(a, b):
            if a is not None:
                return a + b
            return b
        """,
        {},
    ),
    (
        "comprehension_filter",
        """
        def f(a, b):
            return [x + b for x in a]
        """,
        """
        def f(a, b):
            return [x + b for x in a if x is not None]
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
