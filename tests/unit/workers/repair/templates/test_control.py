"""Missing and wrong jumps are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_jump",
        """
        def f(a, b):
            for x in a:
                if x == b:
                    found = x
            return found
        """,
        """
        def f(a, b):
            for x in a:
                if x == b:
                    found = x
                    break
            return found
        """,
        {},
    ),
    (
        "wrong_jump",
        """
        def f(a, b):
            for x in a:
                if x is None:
                    break
                b.append(x)
            return b
        """,
        """
        def f(a, b):
            for x in a:
                if x is None:
                    continue
                b.append(x)
            return b
        """,
        {},
    ),
    (
        "wrong_branching",
        """
        def f(a, b):
            if a:
                a.pop()
            return b
        """,
        """
        def f(a, b):
            while a:
                a.pop()
            return b
        """,
        {},
    ),
    (
        "else_for_loop",
        """
        def f(a, b):
            for x in a:
                if x == b:
                    break
            else:
                return None
            return b
        """,
        """
        def f(a, b):
            for x in a:
                if x == b:
                    break
            return None
            return b
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
