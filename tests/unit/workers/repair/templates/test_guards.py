"""The templates of `guards`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "none_guard",
        """
        def f(a, b):
            if b:
                return []
            return a.rows
        """,
        """
        def f(a, b):
            if b:
                return []
            if a is None:
                return []
            return a.rows
        """,
        {"error": "AttributeError"},
    ),
    (
        "empty_guard",
        """
        def f(a, b):
            return sum(a) / len(a)
        """,
        """
        def f(a, b):
            if not a:
                return 0
            return sum(a) / len(a)
        """,
        {"error": "ZeroDivisionError"},
    ),
    (
        "guarded_statement",
        """
        def f(a, b):
            a.close()
            return b
        """,
        """
        def f(a, b):
            if a is not None:
                a.close()
            return b
        """,
        {"error": "AttributeError"},
    ),
    (
        "subscript_to_get",
        """
        def f(a, b):
            return a[b] + 1
        """,
        """
        def f(a, b):
            return a.get(b, 0) + 1
        """,
        {"error": "KeyError"},
    ),
    (
        "raising_guard",
        """
        def f(rows, n):
            return rows[:n]
        """,
        """
        def f(rows, n):
            if n < 0:
                raise ValueError
            return rows[:n]
        """,
        {"error": "Failed", "message": "DID NOT RAISE ValueError"},
    ),
    (
        "caught_type",
        """
        def f(a, b):
            try:
                return a[b]
            except KeyError:
                return None
        """,
        """
        def f(a, b):
            try:
                return a[b]
            except (KeyError, IndexError):
                return None
        """,
        {"error": "IndexError", "message": "list index out of range"},
    ),
    (
        "raised_type",
        """
        def f(a, b):
            if a < b:
                raise TypeError("too small")
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError("too small")
            return a
        """,
        {"error": "TypeError"},
    ),
    (
        "conditioned_statement",
        """
        def common(a, b):
            found = []
            for x in a:
                for y in b:
                    found.append(x)
            return found
        """,
        """
        def common(a, b):
            found = []
            for x in a:
                for y in b:
                    if x == y:
                        found.append(x)
            return found
        """,
        {},
    ),
    (
        "synthesised_condition",
        """
        def price(n: int, kind: str):
            if kind == "bulk":
                return n
            return 2 * n
        """,
        """
        def price(n: int, kind: str):
            if kind == "bulk" and n > 0:
                return n
            return 2 * n
        """,
        {},
    ),
    (
        "synthesised_exit",
        """
        def first_over(rows: list[int], limit: int):
            found = -1
            for row in rows:
                found = row
            return found
        """,
        """
        def first_over(rows: list[int], limit: int):
            found = -1
            for row in rows:
                if row < limit:
                    continue
                found = row
            return found
        """,
        {},
    ),
    (
        "synthesised_exit",
        """
        def has_pair(rows: list[int]):
            last = None
            for row in rows:
                last = row
            return False
        """,
        """
        def has_pair(rows: list[int]):
            last = None
            for row in rows:
                if row == last:
                    return True
                last = row
            return False
        """,
        {},
    ),
    (
        "caught_type",
        """
        def f(a):
            try:
                return a.decode()
            except TypeError:
                return None
        """,
        """
        def f(a):
            try:
                return a.decode()
            except (TypeError, UnicodeDecodeError):
                return None
        """,
        {"error": "UnicodeDecodeError", "message": "'utf-8' codec can't decode"},
    ),
    (
        "caught_type",
        """
        def f(a):
            try:
                return a.size
            except (KeyError, ValueError):
                return None
        """,
        """
        def f(a):
            try:
                return a.size
            except (KeyError, ValueError, AttributeError):
                return None
        """,
        {"error": "AttributeError", "message": "no attribute 'size'"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
