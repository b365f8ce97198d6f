"""The templates of `statements`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "exchanged_branches",
        """
        def f(a, b):
            if a > 0:
                return 1
            elif (
                a > b
            ):
                # more
                b = 1
                return b
            else:
                return 3
        """,
        """
        def f(a, b):
            if (
                a > b
            ):
                # more
                b = 1
                return b
            elif a > 0:
                return 1
            else:
                return 3
        """,
        {},
    ),
    (
        "exchanged_branches",
        """
        def f(a, b):
            if a > b:
                b = 1
                c = 2
            else:
                c = 3
            return b + c
        """,
        """
        def f(a, b):
            if a > b:
                c = 3
            else:
                b = 1
                c = 2
            return b + c
        """,
        {},
    ),
    (
        "outdented_statement",
        """
        def f(a, b):
            total = 0
            for x in a:
                total += x
                return total
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
        "indented_statement",
        """
        def f(a, b):
            for x in a:
                y = x + 1
            b.append(y)
            return b
        """,
        """
        def f(a, b):
            for x in a:
                y = x + 1
                b.append(y)
            return b
        """,
        {},
    ),
    (
        "missing_statement",
        """
        def f(rows, at):
            while rows:
                rows.remove(rows[at])
        """,
        """
        def f(rows, at):
            while rows:
                rows.remove(rows[at])
                at -= 1
        """,
        {},
    ),
    (
        "deleted_statement",
        """
        def f(a, b):
            b.sort()
            a.sort()
            return a
        """,
        """
        def f(a, b):
            a.sort()
            return a
        """,
        {},
    ),
    (
        "unwrapped_block",
        """
        def f(a, b):
            if b:
                a.sort()
                a.pop()
            return a
        """,
        """
        def f(a, b):
            a.sort()
            a.pop()
            return a
        """,
        {},
    ),
    (
        "hoisted_statement",
        """
        def f(a, b):
            for x in a:
                total = 0
                total += x
            return total
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
        "repeated_statement",
        """
        def f(a, b):
            if a:
                b.touch()
                a.save()
            else:
                a.drop()
            return a
        """,
        """
        def f(a, b):
            if a:
                b.touch()
                a.save()
            else:
                a.drop()
                b.touch()
            return a
        """,
        {},
    ),
    (
        "deleted_run",
        """
        def f(a, b):
            low = min(a)
            low = max(b)
            b = low
            return low
        """,
        """
        def f(a, b):
            low = min(a)
            return low
        """,
        {},
    ),
    (
        "missing_statement",
        """
        def count(rows: list[int]):
            n = 0
            for row in rows:
                print(row)
            return n
        """,
        """
        def count(rows: list[int]):
            n = 0
            for row in rows:
                print(row)
                n += 1
            return n
        """,
        {},
    ),
    (
        "missing_statement",
        """
        def middle(low: float, high: float):
            total = low + high
            return total
        """,
        """
        def middle(low: float, high: float):
            total = low + high
            total /= 2
            return total
        """,
        {},
    ),
    (
        "missing_statement",
        """
        def fenced(rows: list[int], mark: int):
            found = [0]
            for row in rows[:-1]:
                found.append(row)
                found.append(mark)
            return found
        """,
        """
        def fenced(rows: list[int], mark: int):
            found = [0]
            for row in rows[:-1]:
                found.append(row)
                found.append(mark)
            found.append(rows[-1])
            return found
        """,
        {},
    ),
    (
        "wrong_branching",
        """
        def f(a, b):
            if a:
                a.pop()
            return b
        """,
        """
        def f(a, b):
            while a:
                a.pop()
            return b
        """,
        {},
    ),
    (
        "returned_receiver",
        """
        class Rows:
            def __iter__(self):
                return self.made()
        """,
        """
        class Rows:
            def __iter__(self):
                return self
        """,
        {},
    ),
    (
        "returned_receiver",
        """
        class Rows:
            def add(self, row):
                if not row:
                    return
                self.rows.append(row)
                return self
        """,
        """
        class Rows:
            def add(self, row):
                if not row:
                    return self
                self.rows.append(row)
                return self
        """,
        {},
    ),
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
        "missing_call",
        """
        def load(stream):
            stream.seek(0)
            return stream.read()

        def size(stream):
            return len(stream.read())
        """,
        """
        def load(stream):
            stream.seek(0)
            return stream.read()

        def size(stream):
            stream.seek(0)
            return len(stream.read())
        """,
        {},
    ),
    (
        "missing_local",
        """
        def f(rows):
            '''All.'''
            for row in rows:
                found.append(row)
            else:
                found = []
            return found
        """,
        """
        def f(rows):
            '''All.'''
            found = []
            for row in rows:
                found.append(row)
            else:
                found = []
            return found
        """,
        {"error": "UnboundLocalError", "message": "cannot access local variable 'found'"},
    ),
    (
        "outdented_statement",
        """
        def f(rows):
            total = 0
            for row in rows:
                total += row
                mean = total / len(rows)
                log(mean)
                return mean
        """,
        """
        def f(rows):
            total = 0
            for row in rows:
                total += row
            mean = total / len(rows)
            log(mean)
            return mean
        """,
        {},
    ),
    (
        "indented_statement",
        """
        def f(rows):
            out = []
            for row in rows:
                name = row.name
            key = name.lower()
            out.append(key)
            return out
        """,
        """
        def f(rows):
            out = []
            for row in rows:
                name = row.name
                key = name.lower()
                out.append(key)
            return out
        """,
        {},
    ),
    (
        "missing_local",
        """
        def f(rows):
            for row in rows:
                seen.append(row)
            return seen
        """,
        """
        def f(rows):
            seen = []
            for row in rows:
                seen.append(row)
            return seen
        """,
        {"error": "NameError", "message": "name 'seen' is not defined"},
    ),
    (
        "missing_statement",
        """
        def f(rows):
            out = {}
            for row in rows:
                name = row.name
            return out
        """,
        """
        def f(rows):
            out = {}
            for row in rows:
                name = row.name
                out[name] = row
            return out
        """,
        {},
    ),
    (
        "missing_call",
        """
        def f(handle):
            handle.write("x")
            return handle.read()
        """,
        """
        def f(handle):
            handle.write("x")
            handle.seek(0)
            return handle.read()
        """,
        {},
    ),
    (
        "missing_call",
        """
        def f(path):
            handle = open(path)
            text = handle.read()
            return text
        """,
        """
        def f(path):
            handle = open(path)
            text = handle.read()
            handle.close()
            return text
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
