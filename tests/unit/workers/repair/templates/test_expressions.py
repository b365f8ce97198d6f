"""The templates of `expressions`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
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
        "called_on_other",
        """
        def ones(n: int, rows: list[int]):
            return rows.count("1")
        """,
        """
        def ones(n: int, rows: list[int]):
            return bin(n).count("1")
        """,
        {},
    ),
    (
        "element_for_aggregate",
        """
        def total(rows):
            return rows[-1]
        """,
        """
        def total(rows):
            return sum(rows)
        """,
        {},
    ),
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
        "case_of_literal",
        """
        def f(token):
            return token.value == "AS"
        """,
        """
        def f(token):
            return token.value.upper() == "AS"
        """,
        {},
    ),
    (
        "case_of_literal",
        """
        def f(token):
            return token.value in ("as", "by")
        """,
        """
        def f(token):
            return token.value.lower() in ("as", "by")
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
        "both_operands",
        """
        def gap(a: int, b: int):
            return a - b
        """,
        """
        def gap(a: int, b: int):
            return abs(a) - abs(b)
        """,
        {},
    ),
    (
        "mapped_elements",
        """
        def size(rows: list[int]):
            return sum(rows)
        """,
        """
        def size(rows: list[int]):
            return sum(abs(x) for x in rows)
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
        "sort_key",
        """
        def f(a, b):
            return sorted(a)[b]
        """,
        """
        def f(a, b):
            return sorted(a, key=len)[b]
        """,
        {},
    ),
    (
        "sort_direction",
        """
        def f(a, b):
            return sorted(a)[:b]
        """,
        """
        def f(a, b):
            return sorted(a, reverse=True)[:b]
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
        "reordered",
        """
        def f(a, b):
            for x in a:
                b.append(x)
            return b
        """,
        """
        def f(a, b):
            for x in reversed(a):
                b.append(x)
            return b
        """,
        {},
    ),
    (
        "sorted_by",
        """
        def shortest(names: list[str]):
            return names
        """,
        """
        def shortest(names: list[str]):
            return sorted(names, key=len)
        """,
        {},
    ),
    (
        "sorted_by",
        """
        def ranked(names: list[str]):
            ranks = {"low": 0, "high": 1}
            return sorted(names)
        """,
        """
        def ranked(names: list[str]):
            ranks = {"low": 0, "high": 1}
            return sorted(names, key=lambda x: ranks[x])
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
