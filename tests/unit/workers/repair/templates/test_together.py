"""A slip that was repeated is put right everywhere at once."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "flipped_truths",
        """
        def below(rows, limit):
            for row in rows:
                if row >= limit:
                    return True
            return False
        """,
        """
        def below(rows, limit):
            for row in rows:
                if row >= limit:
                    return False
            return True
        """,
        {},
    ),
    (
        "number_everywhere",
        """
        def week(day):
            return day // 6, day % 6
        """,
        """
        def week(day):
            return day // 7, day % 7
        """,
        {},
    ),
    (
        "string_everywhere",
        """
        def middle(word):
            if len(word) < 3:
                return " "
            return word[1] if word[1] else " "
        """,
        """
        def middle(word):
            if len(word) < 3:
                return ""
            return word[1] if word[1] else ""
        """,
        {},
    ),
    (
        "name_everywhere",
        """
        def spread(low, high):
            return low * 2 + low
        """,
        """
        def spread(low, high):
            return high * 2 + high
        """,
        {},
    ),
    (
        "whole_chain",
        """
        def near(a, b, c):
            return a == b and b == c and a == c
        """,
        """
        def near(a, b, c):
            return a == b or b == c or a == c
        """,
        {},
    ),
    (
        "comparison_everywhere",
        """
        def inside(a, x, b):
            return a < x < b
        """,
        """
        def inside(a, x, b):
            return a <= x <= b
        """,
        {},
    ),
    (
        "exchanged_signs",
        """
        def height(steps):
            at = 0
            for s in steps:
                if s == "u":
                    at -= 1
                else:
                    at += 1
            return at
        """,
        """
        def height(steps):
            at = 0
            for s in steps:
                if s == "u":
                    at += 1
                else:
                    at -= 1
            return at
        """,
        {},
    ),
    (
        "cased_strings",
        """
        def told(ok):
            return "pass" if ok else "fail"
        """,
        """
        def told(ok):
            return "Pass" if ok else "Fail"
        """,
        {},
    ),
    (
        "number_everywhere",
        """
        def odd(n):
            if n < 1:
                return 0
            return [k for k in range(1, n - 1) if k % 2]
        """,
        """
        def odd(n):
            if n < 2:
                return 0
            return [k for k in range(2, n - 1) if k % 2]
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
