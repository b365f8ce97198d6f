"""A condition stands for a value that may be None."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "unguarded_condition",
        """
        def f(a, limit=None):
            return [x for x in a if x.days <= limit]
        """,
        """
        def f(a, limit=None):
            return [x for x in a if limit is None or x.days <= limit]
        """,
        {"error": "TypeError", "message": "'<=' not supported between instances of 'int' and 'NoneType'"},
    ),
    (
        "unguarded_condition",
        """
        def f(a, limit=None):
            return [x for x in a if x and x.days <= limit]
        """,
        """
        def f(a, limit=None):
            return [x for x in a if x and limit is not None and x.days <= limit]
        """,
        {"error": "TypeError", "message": "'<=' not supported between instances of 'int' and 'NoneType'"},
    ),
    (
        "unguarded_condition",
        """
        def f(a, limit=None):
            return a in limit
        """,
        """
        def f(a, limit=None):
            return limit is not None and a in limit
        """,
        {"error": "TypeError", "message": "argument of type 'NoneType' is not iterable"},
    ),
    (
        "unguarded_condition",
        """
        def f(a, b):
            while b or a.next.ready:
                a = a.next
            return a
        """,
        """
        def f(a, b):
            while b or (a.next is not None and a.next.ready):
                a = a.next
            return a
        """,
        {"error": "AttributeError", "message": "'NoneType' object has no attribute 'ready'"},
    ),
    (
        "unguarded_condition",
        """
        class Box:
            def fits(self, n):
                return n < self.limit
        """,
        """
        class Box:
            def fits(self, n):
                return self.limit is None or n < self.limit
        """,
        {"error": "TypeError", "message": "'<=' not supported between instances of 'int' and 'NoneType'"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
