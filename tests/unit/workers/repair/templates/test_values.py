"""The templates of `values`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from memory.model import Failure, Family
from workers.repair.candidates import Suspect
from workers.repair.engines.search.search import SearchSpace

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
        "swapped_elements",
        """
        def f(a, b):
            return f"{a!r}: {b.name}"
        """,
        """
        def f(a, b):
            return f"{b.name!r}: {a}"
        """,
        {},
    ),
    (
        "swapped_elements",
        """
        def f(a):
            return {k: str(v) for k, v in a.items()}
        """,
        """
        def f(a):
            return {str(v): k for k, v in a.items()}
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
        "integer_by_one",
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
        "integer_by_one",
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
    (
        "own_conversion",
        """
        def clean(text):
            return text.strip()
        def names(rows):
            found = []
            for row in rows:
                found.append(row.name)
            return found
        """,
        """
        def clean(text):
            return text.strip()
        def names(rows):
            found = []
            for row in rows:
                found.append(clean(row.name))
            return found
        """,
        {},
    ),
    (
        "own_conversion",
        """
        class P:
            def _norm(self, key):
                return key.lower()
            def get(self, key):
                return self.data[key]
        """,
        """
        class P:
            def _norm(self, key):
                return key.lower()
            def get(self, key):
                return self.data[self._norm(key)]
        """,
        {"error": "KeyError", "message": "'A'"},
    ),
    (
        "constant_for_variable",
        """
        def outer(limit):
            def inner(x):
                return x + 1
            return inner
        """,
        """
        def outer(limit):
            def inner(x):
                return x + limit
            return inner
        """,
        {},
    ),
    (
        "constant_for_variable",
        """
        def f(a, sep=","):
            return a.split(sep)
        """,
        """
        def f(a, sep=None):
            return a.split(sep)
        """,
        {},
    ),
    (
        "string_for_tuple",
        """
        def visit(tree):
            return find(tree, "c")

        def find(tree, names):
            return tree.name in names
        """,
        """
        def visit(tree):
            return find(tree, ("c",))

        def find(tree, names):
            return tree.name in names
        """,
        {},
    ),
    (
        "string_for_tuple",
        """
        def visit(tree):
            return find(tree, "c")

        def find(tree, names: Optional[Sequence[str]] = None):
            return tree.find(names)
        """,
        """
        def visit(tree):
            return find(tree, ("c",))

        def find(tree, names: Optional[Sequence[str]] = None):
            return tree.find(names)
        """,
        {},
    ),
    (
        "string_for_tuple",
        """
        def visit(tree):
            return find(tree, ("a", "b")) or find(tree, "c")
        """,
        """
        def visit(tree):
            return find(tree, ("a", "b")) or find(tree, ("c",))
        """,
        {},
    ),
    (
        "own_conversion",
        """
        class Filter:
            def walk(self, token):
                buffer = []
                buffer.append(token)
                return buffer

            def extract(self, token):
                yield token
        """,
        """
        class Filter:
            def walk(self, token):
                buffer = []
                buffer.extend(self.extract(token))
                return buffer

            def extract(self, token):
                yield token
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


def test_no_edit_adds_nothing(edits: Callable[..., set[str]]) -> None:
    """`n - 3` becomes `n - 1`, and never `n - 0`: that does nothing, and dropping the operand reads better."""
    found = edits("number", "def f(n):\n    return n - 3\n")
    assert "def f(n):\n    return n - 1\n" in found
    assert "def f(n):\n    return n - 0\n" not in found


def test_a_repeat_is_made_lazy_only_before_something(edits: Callable[..., set[str]]) -> None:
    """At the end of an expression a lazy `*` matches nothing at all."""
    found = edits("regex_detail", "import re\n\nENDS = re.compile(r'<.*>\\s*')\n")
    assert "import re\n\nENDS = re.compile(r'<.*?>\\s*')\n" in found
    assert "import re\n\nENDS = re.compile(r'<.*>\\s*?')\n" not in found


def test_of_a_difference_the_amount_comes_first() -> None:
    """`a - b` met where it should be `abs(a - b)`: of all conversions of a difference that one is the likeliest."""
    source = "def f(a, b, limit):\n    distance = a - b\n    return distance < limit\n"
    failure = Failure(error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=())
    found = SearchSpace(
        sources={"it.py": source}, suspects=[Suspect(path="it.py", line=2, score=0.9)], failure=failure
    ).proposed()
    difference = [c.source for c in found if c.template == "missing_conversion" and "(a - b)" in c.source]
    assert "abs(a - b)" in difference[0]


def test_of_keys_those_of_the_function_and_the_test_come_first() -> None:
    """A wrong key becomes one that the function asks for elsewhere and the failing test gives, before other strings."""
    source = dedent(
        """
        def f(options):
            if options["verify_aud"]:
                return "verify_bad"
            return options.get("verify_exp")
        """
    )
    test = "def test_it():\n    f({'verify_exp': 1})\n"
    failure = Failure(
        error_type="AssertionError",
        family=Family.ASSERTION,
        message="",
        frames=(),
        failing_tests=("test_it.py::test_it",),
    )
    found = SearchSpace(
        sources={"it.py": source, "test_it.py": test},
        suspects=[Suspect(path="it.py", line=3, score=0.9)],
        failure=failure,
    ).proposed()
    first = next(candidate.source for candidate in found if candidate.template == "string")
    assert 'if options["verify_exp"]:' in first


def test_no_conversion_of_a_written_number(edits: Callable[..., set[str]]) -> None:
    """`bool(2)` is no text that people write; what is beside the number is converted."""
    found = edits("missing_conversion", "def f(a):\n    return max(2, a)\n", error="TypeError")
    assert "def f(a):\n    return max(2, int(a))\n" in found
    assert not any("(2)" in text for text in found)


def test_what_is_searched_becomes_no_number_and_no_text_without_a_type_error(edits: Callable[..., set[str]]) -> None:
    """`a in b` ran, so `b` is a container or a text; `a in str(b)` is meant where `b` cannot be searched."""
    source = "def f(a, b):\n    return a in b\n"
    found = edits("missing_conversion", source)
    assert source.replace("in b", "in list(b)") in found
    assert not {source.replace("in b", f"in {name}(b)") for name in ("len", "int", "str")} & found
    unsearched = edits("missing_conversion", source, error="TypeError", message="argument of type 'A' is not iterable")
    assert source.replace("in b", "in str(b)") in unsearched
