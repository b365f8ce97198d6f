"""The templates of `expressions`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "whole_for_element",
        """
        def changes(rows: list[int]):
            n = 0
            for i in range(len(rows) // 2):
                if n != rows[-i - 1]:
                    n += 1
            return n
        """,
        """
        def changes(rows: list[int]):
            n = 0
            for i in range(len(rows) // 2):
                if rows[i] != rows[-i - 1]:
                    n += 1
            return n
        """,
        {},
    ),
    (
        "variable_for_expression",
        """
        def total(rows, seen):
            count = len(rows)
            return seen[count] + count
        """,
        """
        def total(rows, seen):
            count = len(rows)
            return count + count
        """,
        {},
    ),
    (
        "reused_target",
        """
        def relax(edges, best):
            for i, j in edges:
                edges[i, j] = min(best[j], best[i] + 1)
        """,
        """
        def relax(edges, best):
            for i, j in edges:
                best[j] = min(best[j], best[i] + 1)
        """,
        {},
    ),
    (
        "reused_expression",
        """
        def share(part: int, rows: list[int]):
            whole = sum(rows) / len(rows)
            return part / whole
        """,
        """
        def share(part: int, rows: list[int]):
            whole = sum(rows) / len(rows)
            return part / len(rows)
        """,
        {},
    ),
    (
        "reused_expression",
        """
        def turned(c, by):
            return chr((ord(c) - ord("a") + by) % 26 + ord(c))
        """,
        """
        def turned(c, by):
            return chr((ord(c) - ord("a") + by) % 26 + ord("a"))
        """,
        {},
    ),
    (
        "missing_method",
        """
        def kinds(text: str):
            return len(set(text))
        """,
        """
        def kinds(text: str):
            return len(set(text.lower()))
        """,
        {},
    ),
    (
        "both_sides",
        """
        def same(a: str, b: str):
            return a == b
        """,
        """
        def same(a: str, b: str):
            return a.lower() == b.lower()
        """,
        {},
    ),
    (
        "both_sides",
        """
        def holds(text: str, part: str):
            return part in text
        """,
        """
        def holds(text: str, part: str):
            return part.lower() in text.lower()
        """,
        {},
    ),
    (
        "both_sides",
        """
        def is_known(number, numbers):
            return number not in numbers
        """,
        """
        def is_known(number, numbers):
            return str(number) not in map(str, numbers)
        """,
        {},
    ),
    (
        "both_sides",
        """
        def is_alias(word: str):
            return word == "AS"
        """,
        """
        def is_alias(word: str):
            return word.upper() == "AS"
        """,
        {},
    ),
    (
        "both_sides",
        """
        def is_alias(word: str):
            return "As" != word
        """,
        """
        def is_alias(word: str):
            return "as" != word.lower()
        """,
        {},
    ),
    (
        "extreme_of_two",
        """
        def tops(rows: list[int]):
            best = 0
            for row in rows:
                best = row
            return best
        """,
        """
        def tops(rows: list[int]):
            best = 0
            for row in rows:
                best = max(best, row)
            return best
        """,
        {},
    ),
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
        "extreme_of_two",
        """
        def f(a, b):
            return "0" * (a - b)
        """,
        """
        def f(a, b):
            return "0" * max(a - b, 0)
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


def test_texts_have_no_running_extreme(edits: Callable[..., set[str]]) -> None:
    """What gives a text is no operand of `max` and `min`; what gives something unknown may be."""
    before = "def f(path: str, base):\n    return path.{}()\n"
    assert edits("extreme_of_two", before.format("size"))
    assert not edits("extreme_of_two", before.format("lower"))
