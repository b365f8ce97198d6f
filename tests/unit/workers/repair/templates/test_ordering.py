"""Wrong order and aggregates are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "sort_key",
        """
        def f(a, b):
            return sorted(a)[b]
        """,
        """
        def f(a, b):
            return sorted(a, key=len)[b]
        """,
        {},
    ),
    (
        "sort_direction",
        """
        def f(a, b):
            return sorted(a)[:b]
        """,
        """
        def f(a, b):
            return sorted(a, reverse=True)[:b]
        """,
        {},
    ),
    (
        "counterpart",
        """
        def f(a, b):
            return min(a, b)
        """,
        """
        def f(a, b):
            return max(a, b)
        """,
        {},
    ),
    (
        "reordered",
        """
        def f(a, b):
            for x in a:
                b.append(x)
            return b
        """,
        """
        def f(a, b):
            for x in reversed(a):
                b.append(x)
            return b
        """,
        {},
    ),
    (
        "sorted_by",
        """
        def shortest(names: list[str]):
            return names
        """,
        """
        def shortest(names: list[str]):
            return sorted(names, key=len)
        """,
        {},
    ),
    (
        "sorted_by",
        """
        def ranked(names: list[str]):
            ranks = {"low": 0, "high": 1}
            return sorted(names)
        """,
        """
        def ranked(names: list[str]):
            ranks = {"low": 0, "high": 1}
            return sorted(names, key=lambda x: ranks[x])
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
