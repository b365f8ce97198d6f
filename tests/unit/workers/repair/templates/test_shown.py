"""The templates of `shown`: what the failing test shows is put where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "text_as_expected",
        """
        def f(name):
            return f"Hallo {name}!"
        """,
        """
        def f(name):
            return f"Hello {name}!"
        """,
        "assert 'Hallo Ann!' == 'Hello Ann!'",
        "",
    ),
    (
        "text_as_expected",
        """
        def f(name):
            return "no such file " + name
        """,
        """
        def f(name):
            return "no such file: " + name
        """,
        "'no such file a.txt' != 'no such file: a.txt'",
        "",
    ),
    (
        "shown_keyword",
        """
        def f(path):
            return opened(path, exists=True)
        """,
        """
        def f(path):
            return opened(path, exists=False)
        """,
        "",
        "called.assert_called_with('a', exists=False)",
    ),
    (
        "shown_keyword",
        """
        def f(path, **more):
            return opened(path, **more)
        """,
        """
        def f(path, **more):
            return opened(path, timeout=3, **more)
        """,
        "",
        "called.assert_called_with('a', timeout=3)",
    ),
    (
        "shown_element",
        """
        UNITS = ("day", "week")
        """,
        """
        UNITS = ("day", "week", "weekday")
        """,
        "",
        "assert f('weekday')",
    ),
    (
        "shown_element",
        """
        UNITS = ["day", "weak", "week"]
        """,
        """
        UNITS = ["day", "week"]
        """,
        "",
        "",
    ),
    (
        "one_of_shown",
        """
        def f(name):
            return name == "version"
        """,
        """
        def f(name):
            return name in ("version", "release")
        """,
        "",
        "assert f('release')",
    ),
    (
        "string",
        """
        def f(name):
            raise ValueError("granulairty")
        """,
        """
        def f(name):
            raise ValueError("granularity")
        """,
        "",
        "assert raised == 'granularity'",
    ),
    (
        "number",
        """
        EXPIRES = 90
        """,
        """
        EXPIRES = 86400
        """,
        "",
        "assert expiry() == 86400",
    ),
    (
        "synthesised_condition",
        """
        def f(leaf):
            if leaf.type == "name":
                return 1
            return 0
        """,
        """
        def f(leaf):
            if leaf.type == "name" or leaf.type == "string":
                return 1
            return 0
        """,
        "",
        "assert f(Leaf('string'))",
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "message", "shown"), CASES)
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, message: str, shown: str
) -> None:
    """What the failing test or the message shows is what the edit brings in, to the letter."""
    test = f"def test_it():\n    {shown or 'pass'}\n"
    assert dedent(after).lstrip("\n") in edits(template, before, message=message, others={"tests/test_it.py": test})
