"""Wrong constants are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "singleton",
        """
        def f(a, b):
            a.done = False
            return b
        """,
        """
        def f(a, b):
            a.done = True
            return b
        """,
        {},
    ),
    (
        "number",
        """
        def f(a, b):
            best = 1
            for x in a:
                best *= x * 7
            return best
        """,
        """
        def f(a, b):
            best = 1
            for x in a:
                best *= x * 1
            return best
        """,
        {},
    ),
    (
        "number",
        """
        def f(a, b):
            return a * 60
        """,
        """
        def f(a, b):
            return a * 3600
        """,
        {"message": "assert 60 == 3600"},
    ),
    (
        "string",
        """
        def f(a, b):
            b["colour"] = 1
            return a["color"]
        """,
        """
        def f(a, b):
            b["colour"] = 1
            return a["colour"]
        """,
        {"error": "KeyError", "message": "'color'"},
    ),
    (
        "empty_container",
        """
        def f(a, b):
            seen = {}
            seen.add(a)
            return seen
        """,
        """
        def f(a, b):
            seen = set()
            seen.add(a)
            return seen
        """,
        {},
    ),
    (
        "constant_for_variable",
        """
        def f(a, b):
            return a.ljust(10)
        """,
        """
        def f(a, b):
            return a.ljust(b)
        """,
        {},
    ),
    (
        "string",
        """
        def opens(text):
            return text.count("(")
        """,
        """
        def opens(text):
            return text.count("[")
        """,
        {},
    ),
    (
        "string",
        """
        def planets():
            '''Mercury, then Jupiter.'''
            return "Jupyter"
        """,
        """
        def planets():
            '''Mercury, then Jupiter.'''
            return "Jupiter"
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
