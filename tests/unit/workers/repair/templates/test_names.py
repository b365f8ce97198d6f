"""A variable or function taken for another is put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "variable_misuse",
        """
        def f(a, b):
            first = a.pop()
            last = b.pop()
            return first + first
        """,
        """
        def f(a, b):
            first = a.pop()
            last = b.pop()
            return first + last
        """,
        {},
    ),
    (
        "variable_misuse",
        """
        def f(a, b):
            return a + bb
        """,
        """
        def f(a, b):
            return a + b
        """,
        {"error": "NameError", "message": "name 'bb' is not defined"},
    ),
    (
        "callable_misuse",
        """
        def to_cents(x):
            return x * 100

        def to_euros(x):
            return x / 100

        def shown(price):
            return to_euros(price)
        """,
        """
        def to_cents(x):
            return x * 100

        def to_euros(x):
            return x / 100

        def shown(price):
            return to_cents(price)
        """,
        {},
    ),
    (
        "callable_misuse",
        """
        def f(rows):
            for i, row in callable(rows):
                print(i, row)
        """,
        """
        def f(rows):
            for i, row in enumerate(rows):
                print(i, row)
        """,
        {"error": "TypeError"},
    ),
    (
        "callable_misuse",
        """
        def first(rows):
            return next(iter(rows))

        def f(rows):
            return len(iter(rows))
        """,
        """
        def first(rows):
            return next(iter(rows))

        def f(rows):
            return next(iter(rows))
        """,
        {"error": "TypeError"},
    ),
    (
        "type_misuse",
        """
        def f(a):
            return isinstance(a, dict)
        """,
        """
        def f(a):
            return isinstance(a, list)
        """,
        {},
    ),
    (
        "wrong_target",
        """
        def f(a, b):
            low, high = a, b
            low = min(low, 3)
            return low, high
        """,
        """
        def f(a, b):
            low, high = a, b
            high = min(low, 3)
            return low, high
        """,
        {},
    ),
    (
        "variable_for_attribute",
        """
        class Jar:
            def __init__(self, size):
                self.size = size

            def grow(self, size):
                return size + size
        """,
        """
        class Jar:
            def __init__(self, size):
                self.size = size

            def grow(self, size):
                return self.size + size
        """,
        {},
    ),
    (
        "misnamed_definition",
        """
        def parse_lin(text):
            return text.split()
        """,
        """
        def parse_line(text):
            return text.split()
        """,
        {"error": "ImportError", "message": "cannot import name 'parse_line' from 'it' (/x/it.py)"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
