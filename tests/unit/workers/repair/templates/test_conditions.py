"""The templates of `conditions`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "replaced_condition",
        """
        def f(text, port):
            if port:
                text, port = text.split(":", 1)
            return text, port
        """,
        """
        def f(text, port):
            if ":" in text:
                text, port = text.split(":", 1)
            return text, port
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(prices, name):
            if name:
                return prices[name]
            return 0
        """,
        """
        def f(prices, name):
            if name in prices:
                return prices[name]
            return 0
        """,
        {"error": "KeyError"},
    ),
    (
        "dropped_condition",
        """
        def f(a, b):
            if a.ready and b:
                return a
            return None
        """,
        """
        def f(a, b):
            if a.ready:
                return a
            return None
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(name, rows):
            if name is None:
                return rows.pop()
            return name
        """,
        """
        def f(name, rows):
            if not rows:
                return rows.pop()
            return name
        """,
        {},
    ),
    (
        "replaced_condition",
        """
        def f(low, high):
            if low.empty or high.empty:
                return None
            return low

        def g(low, high):
            if high:
                return None
            return high
        """,
        """
        def f(low, high):
            if low.empty or high.empty:
                return None
            return low

        def g(low, high):
            if low.empty or high.empty:
                return None
            return high
        """,
        {},
    ),
    (
        "conditional_branches",
        """
        def f(a, b):
            return a if a < b else 0
        """,
        """
        def f(a, b):
            return 0 if a < b else a
        """,
        {},
    ),
    (
        "negation",
        """
        def f(a, b):
            if a.open:
                return b
            return None
        """,
        """
        def f(a, b):
            if not a.open:
                return b
            return None
        """,
        {},
    ),
    (
        "negation",
        """
        def f(a, b):
            return 1 if not a else 2
        """,
        """
        def f(a, b):
            return 1 if a else 2
        """,
        {},
    ),
    (
        "boolean_operator",
        """
        def f(a, b):
            return a.paid and b.paid
        """,
        """
        def f(a, b):
            return a.paid or b.paid
        """,
        {},
    ),
    (
        "swapped_sides",
        """
        def f(a, b):
            return a.alias() or a.name(b) if b else None
        """,
        """
        def f(a, b):
            return a.name(b) or a.alias() if b else None
        """,
        {},
    ),
    (
        "swapped_comparison",
        """
        def f(a, b):
            return a in b
        """,
        """
        def f(a, b):
            return b in a
        """,
        {},
    ),
    (
        "unasked_element",
        """
        def f(args):
            if args[0] == "self":
                args = args[1:]
            return args
        """,
        """
        def f(args):
            if args and args[0] == "self":
                args = args[1:]
            return args
        """,
        {"error": "IndexError", "message": "list index out of range"},
    ),
    (
        "unasked_element",
        """
        def f(line, lines, index):
            while line.endswith("+") or lines[index].isspace():
                line, index = lines[index], index + 1
            return line
        """,
        """
        def f(line, lines, index):
            while line.endswith("+") or (index < len(lines) and lines[index].isspace()):
                line, index = lines[index], index + 1
            return line
        """,
        {"error": "IndexError", "message": "list index out of range"},
    ),
    (
        "unasked_element",
        """
        def f(rows, name):
            return [row for row in rows if row[name] > 1]
        """,
        """
        def f(rows, name):
            return [row for row in rows if name not in row or row[name] > 1]
        """,
        {"error": "KeyError", "message": "'size'"},
    ),
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
    (
        "accepted_types",
        """
        class Key:
            pass

        def f(a):
            return isinstance(a, str)
        """,
        """
        class Key:
            pass

        def f(a):
            return isinstance(a, Key)
        """,
        {},
    ),
    (
        "accepted_types",
        """
        def f(self, item):
            if isinstance(item, int):
                return self.fixed[item]
        """,
        """
        def f(self, item):
            if isinstance(item, (int, slice)):
                return self.fixed[item]
        """,
        {"error": "KeyError"},
    ),
    (
        "accepted_types",
        """
        import ast
        def f(a):
            return isinstance(a.ctx, ast.Load)
        """,
        """
        import ast
        def f(a):
            return isinstance(a.ctx, (ast.Load, ast.Del))
        """,
        {},
    ),
    (
        "accepted_types",
        """
        from shop import Key, Lock
        def f(a):
            return isinstance(a, Key)
        """,
        """
        from shop import Key, Lock
        def f(a):
            return isinstance(a, (Key, Lock))
        """,
        {},
    ),
    (
        "accepted_types",
        """
        def f(a):
            return isinstance(a, (int, bool))
        """,
        """
        def f(a):
            return isinstance(a, int)
        """,
        {},
    ),
    (
        "truth_or_none",
        """
        def f(a):
            if a.limit:
                return a.limit
        """,
        """
        def f(a):
            if a.limit is not None:
                return a.limit
        """,
        {},
    ),
    (
        "truth_or_none",
        """
        def f(a):
            if a is None:
                return 1
        """,
        """
        def f(a):
            if not a:
                return 1
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
