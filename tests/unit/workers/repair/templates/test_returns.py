"""Wrong and missing returns are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_final_return",
        """
        class Box:
            def __init__(self, width):
                self._width = width

            def width(self):
                "How wide it is."
        """,
        """
        class Box:
            def __init__(self, width):
                self._width = width

            def width(self):
                "How wide it is."
                return self._width
        """,
        {},
    ),
    (
        "missing_return",
        """
        from parsing import Parser

        def parsed(text, strict):
            return Parser(text, strict=strict).run()

        def parser(text, strict):
            pass
        """,
        """
        from parsing import Parser

        def parsed(text, strict):
            return Parser(text, strict=strict).run()

        def parser(text, strict):
            pass
            return Parser(text, strict=strict)
        """,
        {},
    ),
    (
        "expression_to_return",
        """
        def f(a, b):
            a + b
        """,
        """
        def f(a, b):
            return a + b
        """,
        {},
    ),
    (
        "expression_to_return",
        """
        def f(a, b):
            a.strip()
            return a
        """,
        """
        def f(a, b):
            a = a.strip()
            return a
        """,
        {},
    ),
    (
        "missing_return",
        """
        def f(a, b):
            if a:
                b = b + 1
            else:
                return 0
            return None
        """,
        """
        def f(a, b):
            if a:
                b = b + 1
                return b
            else:
                return 0
            return None
        """,
        {},
    ),
    (
        "missing_final_return",
        """
        def f(a, b):
            total = 0
            for x in a:
                total += x
        """,
        """
        def f(a, b):
            total = 0
            for x in a:
                total += x
            return total
        """,
        {},
    ),
    (
        "return_value",
        """
        def f(a, b):
            best = max(a)
            return b
        """,
        """
        def f(a, b):
            best = max(a)
            return best
        """,
        {},
    ),
    (
        "return_to_other",
        """
        def f(a, b):
            for x in a:
                return x + b
        """,
        """
        def f(a, b):
            for x in a:
                yield x + b
        """,
        {},
    ),
    (
        "yield_to_other",
        """
        def f(a, b):
            for x in a:
                yield x
        """,
        """
        def f(a, b):
            for x in a:
                yield from x
        """,
        {},
    ),
    (
        "assignment_to_return",
        """
        def f(a, b):
            b = a * 2
        """,
        """
        def f(a, b):
            return a * 2
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
