"""A key that is seen for the first time gets its entry."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_entry",
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k].append(v)
            return d
        """,
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d.setdefault(k, []).append(v)
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
    (
        "missing_entry",
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k].add(v)
            return d
        """,
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d.setdefault(k, set()).add(v)
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
    (
        "missing_entry",
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k].update(v)
            return d
        """,
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d.setdefault(k, {}).update(v)
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
    (
        "missing_entry",
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d[k][v] = b
            return d
        """,
        """
        def f(a, b):
            d = {}
            for k, v in a:
                d.setdefault(k, {})[v] = b
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
    (
        "plain_dictionary",
        """
        from collections import defaultdict


        def f(a, b):
            d = {}
            for k, v in a:
                d[k].append(v)
            return d
        """,
        """
        from collections import defaultdict


        def f(a, b):
            d = defaultdict(list)
            for k, v in a:
                d[k].append(v)
            return d
        """,
        {"error": "KeyError", "message": "'a'"},
    ),
    (
        "plain_dictionary",
        """
        from collections import defaultdict


        def f(a, b):
            d = {}
            for k, v in a:
                d[k] += v
            return d
        """,
        """
        from collections import defaultdict


        def f(a, b):
            d = defaultdict(int)
            for k, v in a:
                d[k] += v
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
