"""Wrong arguments are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "swapped_arguments",
        """
        def f(a, b):
            return divmod(b, a)
        """,
        """
        def f(a, b):
            return divmod(a, b)
        """,
        {},
    ),
    (
        "superfluous_argument",
        """
        def f(a, b):
            return round(a, b)
        """,
        """
        def f(a, b):
            return round(a)
        """,
        {},
    ),
    (
        "missing_argument",
        """
        def area(width, height):
            return width * height

        def room(width, height):
            return area(width)
        """,
        """
        def area(width, height):
            return width * height

        def room(width, height):
            return area(width, height)
        """,
        {"error": "TypeError", "message": "area() missing 1 required positional argument: 'height'"},
    ),
    (
        "keyword_misuse",
        """
        def draw(colour, size):
            return colour, size

        def show(x):
            return draw(color=x, size=1)
        """,
        """
        def draw(colour, size):
            return colour, size

        def show(x):
            return draw(colour=x, size=1)
        """,
        {"error": "TypeError", "message": "draw() got an unexpected keyword argument 'color'"},
    ),
    (
        "misnamed_parameter",
        """
        def draw(color, size):
            return color * size
        """,
        """
        def draw(colour, size):
            return colour * size
        """,
        {"error": "TypeError", "message": "draw() got an unexpected keyword argument 'colour'"},
    ),
    (
        "missing_parameter",
        """
        class Door:
            def open():
                return True
        """,
        """
        class Door:
            def open(self):
                return True
        """,
        {"error": "TypeError", "message": "Door.open() takes 0 positional arguments but 1 was given"},
    ),
    (
        "spread_argument",
        """
        def f(a, b):
            return a(b)
        """,
        """
        def f(a, b):
            return a(*b)
        """,
        {"error": "TypeError"},
    ),
    (
        "unwrapped_call",
        """
        def f(a, b):
            return sorted(a) + b
        """,
        """
        def f(a, b):
            return a + b
        """,
        {},
    ),
    (
        "missing_call",
        """
        def f(a, b):
            return a.total + b
        """,
        """
        def f(a, b):
            return a.total() + b
        """,
        {"error": "TypeError"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
