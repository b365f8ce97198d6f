"""The templates of `values`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "singleton",
        """
        def f(a, b):
            a.done = False
            return b
        """,
        """
        def f(a, b):
            a.done = True
            return b
        """,
        {},
    ),
    (
        "number",
        """
        def f(a, b):
            best = 1
            for x in a:
                best *= x * 7
            return best
        """,
        """
        def f(a, b):
            best = 1
            for x in a:
                best *= x * 1
            return best
        """,
        {},
    ),
    (
        "number",
        """
        def f(a, b):
            return a * 60
        """,
        """
        def f(a, b):
            return a * 3600
        """,
        {"message": "assert 60 == 3600"},
    ),
    (
        "string",
        """
        def f(a, b):
            b["colour"] = 1
            return a["color"]
        """,
        """
        def f(a, b):
            b["colour"] = 1
            return a["colour"]
        """,
        {"error": "KeyError", "message": "'color'"},
    ),
    (
        "empty_container",
        """
        def f(a, b):
            seen = {}
            seen.add(a)
            return seen
        """,
        """
        def f(a, b):
            seen = set()
            seen.add(a)
            return seen
        """,
        {},
    ),
    (
        "constant_for_variable",
        """
        def f(a, b):
            return a.ljust(10)
        """,
        """
        def f(a, b):
            return a.ljust(b)
        """,
        {},
    ),
    (
        "string",
        """
        def opens(text):
            return text.count("(")
        """,
        """
        def opens(text):
            return text.count("[")
        """,
        {},
    ),
    (
        "string",
        """
        def planets():
            '''Mercury, then Jupiter.'''
            return "Jupyter"
        """,
        """
        def planets():
            '''Mercury, then Jupiter.'''
            return "Jupiter"
        """,
        {},
    ),
    (
        "list_or_element",
        """
        def parts(rows):
            return []
        """,
        """
        def parts(rows):
            return [[]]
        """,
        {},
    ),
    (
        "missing_conversion",
        """
        def f(a, b):
            return a * b
        """,
        """
        def f(a, b):
            return int(a) * b
        """,
        {"error": "TypeError"},
    ),
    (
        "wrong_conversion",
        """
        def f(a, b):
            return int(a) + b
        """,
        """
        def f(a, b):
            return float(a) + b
        """,
        {},
    ),
    (
        "rounding",
        """
        def f(a, b):
            return round(a / b)
        """,
        """
        def f(a, b):
            return round(a / b, 2)
        """,
        {},
    ),
    (
        "text_and_other",
        """
        def f(a, b):
            return "count: " + b
        """,
        """
        def f(a, b):
            return "count: " + str(b)
        """,
        {"error": "TypeError", "message": 'can only concatenate str (not "int") to str'},
    ),
    (
        "text_encoding",
        """
        def f(a, b):
            b.write(a)
            return b
        """,
        """
        def f(a, b):
            b.write(a.encode())
            return b
        """,
        {"error": "TypeError", "message": "a bytes-like object is required, not 'str'"},
    ),
    (
        "element_or_whole",
        """
        def f(a, b):
            return a.split(b)
        """,
        """
        def f(a, b):
            return a.split(b)[0]
        """,
        {},
    ),
    (
        "single_element",
        """
        def f(a, b):
            return a,
        """,
        """
        def f(a, b):
            return a
        """,
        {},
    ),
    (
        "swapped_elements",
        """
        def f(a, b):
            return [a.index(b), b]
        """,
        """
        def f(a, b):
            return [b, a.index(b)]
        """,
        {},
    ),
    (
        "iterated_copy",
        """
        def f(a, b):
            for x in a:
                if x == b:
                    a.remove(x)
            return a
        """,
        """
        def f(a, b):
            for x in list(a):
                if x == b:
                    a.remove(x)
            return a
        """,
        {},
    ),
    (
        "missing_copy",
        """
        def f(a, b):
            result = a
            result.append(b)
            return result
        """,
        """
        def f(a, b):
            result = list(a)
            result.append(b)
            return result
        """,
        {},
    ),
    (
        "missing_copy",
        """
        def f(a, b):
            return [[0] * a] * b
        """,
        """
        def f(a, b):
            return [[0] * a for _ in range(b)]
        """,
        {},
    ),
    (
        "missing_copy",
        """
        import re

        def f(a):
            return a
        """,
        """
        import re
        from copy import deepcopy

        def f(a):
            return deepcopy(a)
        """,
        {},
    ),
    (
        "superfluous_copy",
        """
        def f(a, b):
            queue = a.copy()
            queue.append(b)
            return a
        """,
        """
        def f(a, b):
            queue = a
            queue.append(b)
            return a
        """,
        {},
    ),
    (
        "mutable_default",
        """
        def put(x, bag=[]):
            bag.append(x)
            return bag
        """,
        """
        def put(x, bag=None):
            if bag is None:
                bag = []
            bag.append(x)
            return bag
        """,
        {},
    ),
    (
        "regex_detail",
        r"""
        import re

        def f(text):
            return re.match(r'^%s$' % text)
        """,
        r"""
        import re

        def f(text):
            return re.match(r'\A%s\Z' % text)
        """,
        {},
    ),
    (
        "regex_detail",
        r"""
        import re

        DOTTED = re.compile(r"\w+.\w+")
        """,
        r"""
        import re

        DOTTED = re.compile(r"\w+\.\w+")
        """,
        {},
    ),
    (
        "regex_detail",
        r"""
        import re

        def f(text):
            return re.sub("[0-9]*", "", text)
        """,
        r"""
        import re

        def f(text):
            return re.sub(r"[0-9]+", "", text)
        """,
        {},
    ),
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
    (
        "flipped_truths",
        """
        def below(rows, limit):
            for row in rows:
                if row >= limit:
                    return True
            return False
        """,
        """
        def below(rows, limit):
            for row in rows:
                if row >= limit:
                    return False
            return True
        """,
        {},
    ),
    (
        "number_everywhere",
        """
        def week(day):
            return day // 6, day % 6
        """,
        """
        def week(day):
            return day // 7, day % 7
        """,
        {},
    ),
    (
        "string_everywhere",
        """
        def middle(word):
            if len(word) < 3:
                return " "
            return word[1] if word[1] else " "
        """,
        """
        def middle(word):
            if len(word) < 3:
                return ""
            return word[1] if word[1] else ""
        """,
        {},
    ),
    (
        "name_everywhere",
        """
        def spread(low, high):
            return low * 2 + low
        """,
        """
        def spread(low, high):
            return high * 2 + high
        """,
        {},
    ),
    (
        "whole_chain",
        """
        def near(a, b, c):
            return a == b and b == c and a == c
        """,
        """
        def near(a, b, c):
            return a == b or b == c or a == c
        """,
        {},
    ),
    (
        "comparison_everywhere",
        """
        def inside(a, x, b):
            return a < x < b
        """,
        """
        def inside(a, x, b):
            return a <= x <= b
        """,
        {},
    ),
    (
        "exchanged_signs",
        """
        def height(steps):
            at = 0
            for s in steps:
                if s == "u":
                    at -= 1
                else:
                    at += 1
            return at
        """,
        """
        def height(steps):
            at = 0
            for s in steps:
                if s == "u":
                    at += 1
                else:
                    at -= 1
            return at
        """,
        {},
    ),
    (
        "cased_strings",
        """
        def told(ok):
            return "pass" if ok else "fail"
        """,
        """
        def told(ok):
            return "Pass" if ok else "Fail"
        """,
        {},
    ),
    (
        "number_everywhere",
        """
        def odd(n):
            if n < 1:
                return 0
            return [k for k in range(1, n - 1) if k % 2]
        """,
        """
        def odd(n):
            if n < 2:
                return 0
            return [k for k in range(2, n - 1) if k % 2]
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
