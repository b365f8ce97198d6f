"""Aliases become copies where copies belong."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "iterated_copy",
        """
        def f(a, b):
            for x in a:
                if x == b:
                    a.remove(x)
            return a
        """,
        """
        def f(a, b):
            for x in list(a):
                if x == b:
                    a.remove(x)
            return a
        """,
        {},
    ),
    (
        "missing_copy",
        """
        def f(a, b):
            result = a
            result.append(b)
            return result
        """,
        """
        def f(a, b):
            result = list(a)
            result.append(b)
            return result
        """,
        {},
    ),
    (
        "missing_copy",
        """
        def f(a, b):
            return [[0] * a] * b
        """,
        """
        def f(a, b):
            return [[0] * a for _ in range(b)]
        """,
        {},
    ),
    (
        "missing_copy",
        """
        import re

        def f(a):
            return a
        """,
        """
        import re
        from copy import deepcopy

        def f(a):
            return deepcopy(a)
        """,
        {},
    ),
    (
        "superfluous_copy",
        """
        def f(a, b):
            queue = a.copy()
            queue.append(b)
            return a
        """,
        """
        def f(a, b):
            queue = a
            queue.append(b)
            return a
        """,
        {},
    ),
    (
        "mutable_default",
        """
        def put(x, bag=[]):
            bag.append(x)
            return bag
        """,
        """
        def put(x, bag=None):
            if bag is None:
                bag = []
            bag.append(x)
            return bag
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
