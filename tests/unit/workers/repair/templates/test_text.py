"""Text put together wrongly is put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_f_prefix",
        """
        def f(a, b):
            return "{a} of {b}"
        """,
        """
        def f(a, b):
            return f"{a} of {b}"
        """,
        {},
    ),
    (
        "percent_arguments",
        """
        def f(a, b):
            return "%s" % a
        """,
        """
        def f(a, b):
            return "%s" % (a,)
        """,
        {"error": "TypeError", "message": "not all arguments converted during string formatting"},
    ),
    (
        "percent_arguments",
        """
        def f(a, b):
            return "%s=%s" % (b, a)
        """,
        """
        def f(a, b):
            return "%s=%s" % (a, b)
        """,
        {},
    ),
    (
        "format_conversion",
        """
        def f(a, b):
            return f"{a} {b}"
        """,
        """
        def f(a, b):
            return f"{a!r} {b}"
        """,
        {},
    ),
    (
        "joined_values",
        """
        def f(a, b):
            return ",".join(a)
        """,
        """
        def f(a, b):
            return ",".join(map(str, a))
        """,
        {"error": "TypeError", "message": "sequence item 0: expected str instance, int found"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
