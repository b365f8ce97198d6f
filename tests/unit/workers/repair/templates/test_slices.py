"""A whole is cut to the part that was meant."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "part_of_whole",
        """
        def rest(text: str, start: int):
            while not text.isalpha() and is_late(text):
                start += 1
            return start
        """,
        """
        def rest(text: str, start: int):
            while not text.isalpha() and is_late(text[start:]):
                start += 1
            return start
        """,
        {},
    ),
    (
        "part_of_whole",
        """
        def head(rows: list[int], n: int):
            return sum(row for row in rows if row)
        """,
        """
        def head(rows: list[int], n: int):
            return sum(row for row in rows[:n] if row)
        """,
        {},
    ),
    (
        "part_of_whole",
        """
        def steps(rows):
            return [i * x for i, x in enumerate(rows)]
        """,
        """
        def steps(rows):
            return [i * x for i, x in enumerate(rows)][1:]
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
