"""Missing guards are put in."""

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
        "default_before",
        """
        def f(a, b):
            a.append(b)
            return a
        """,
        """
        def f(a, b):
            if a is None:
                a = []
            a.append(b)
            return a
        """,
        {"error": "AttributeError"},
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
        "conditional_expression",
        """
        def f(a, b):
            ratio = a / b
            return ratio
        """,
        """
        def f(a, b):
            ratio = a / b if b else 0
            return ratio
        """,
        {"error": "ZeroDivisionError"},
    ),
    (
        "default_value",
        """
        def f(a, b):
            return [x + b for x in a]
        """,
        """
        def f(a, b):
            return [x + b for x in a or []]
        """,
        {"error": "TypeError"},
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
        "missing_first_value",
        """
        def f(a, b):
            for word in b:
                a[word] += 1
            return a
        """,
        """
        def f(a, b):
            for word in b:
                a[word] = a.get(word, 0) + 1
            return a
        """,
        {"error": "KeyError"},
    ),
    (
        "call_default",
        """
        def f(a, b):
            a.pop(b)
            return a
        """,
        """
        def f(a, b):
            a.pop(b, None)
            return a
        """,
        {"error": "KeyError"},
    ),
    (
        "missing_first_value",
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k] += f"{v};"
            return d
        """,
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k] = d.get(k, "") + f"{v};"
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
