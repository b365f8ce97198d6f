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
        "handled_error",
        """
        def f(a, b):
            if not a:
                return None
            x = a.index(b)
            return x
        """,
        """
        def f(a, b):
            if not a:
                return None
            try:
                x = a.index(b)
            except ValueError:
                return None
            return x
        """,
        {"error": "ValueError"},
    ),
    (
        "missing_raise",
        """
        def f(a, b):
            if a < b:
                ValueError("too small")
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError("too small")
            return a
        """,
        {},
    ),
    (
        "return_to_raise",
        """
        def f(a, b):
            if a < b:
                return None
            return a
        """,
        """
        def f(a, b):
            if a < b:
                raise ValueError
            return a
        """,
        {"error": "Failed", "message": "DID NOT RAISE <class 'ValueError'>"},
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
        "synthesised_filter",
        """
        def under(rows: list[int], limit: int):
            return [row for row in rows]
        """,
        """
        def under(rows: list[int], limit: int):
            return [row for row in rows if row < limit]
        """,
        {},
    ),
    (
        "missing_branch",
        """
        def balance(text: str):
            depth = 0
            for c in text:
                if c == "<":
                    depth += 1
            return depth
        """,
        """
        def balance(text: str):
            depth = 0
            for c in text:
                if c == "<":
                    depth += 1
                else:
                    depth -= 1
            return depth
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
