"""Texts that do not parse are repaired."""

from __future__ import annotations

import ast
from itertools import islice
from textwrap import dedent

import pytest

from memory.model import Failure, Family
from workers.repair.candidates import Suspect
from workers.repair.engines.search.search import SearchSpace
from workers.repair.engines.search.syntax_repair import _found, _Tries, repaired_syntax

CASES = {
    "no colon": ("def f(a)\n    return a\n", "def f(a):\n    return a\n"),
    "no closing bracket": ("def f(a):\n    return g(a, (1, 2)\n\ndef h():\n    return 1\n", "def f(a):\n    return g(a, (1, 2))\n\ndef h():\n    return 1\n"),
    "another bracket": ("x = [1, 2)\n", "x = [1, 2]\n"),
    "no comma between lines": ("x = [1,\n     2\n     3]\n", "x = [1,\n     2,\n     3]\n"),
    "no comma within one": ("d = {'a': 1 'b': 2}\n", "d = {'a': 1, 'b': 2}\n"),
    "an assignment that should compare": ("if a = 1:\n    b()\n", "if a == 1:\n    b()\n"),
    "a body that is not indented": ("def f(a):\nreturn a\n", "def f(a):\n    return a\n"),
    "an indentation of no block": (
        "def f(a):\n    if a:\n        b = 1\n      return b\n", "def f(a):\n    if a:\n        b = 1\n    return b\n"
    ),
    "no end of a string": ("x = 'abc\nprint(x)\n", "x = 'abc'\nprint(x)\n"),
    "a keyword's slip": ("fro x in y:\n    print(x)\n", "for x in y:\n    print(x)\n"),
    "another language": (
        "if a && !b:\n    c = 1\nelse if d:\n    c = 2\n", "if a and not b:\n    c = 1\nelif d:\n    c = 2\n"
    ),
    "Python 2": (
        "try:\n    f()\nexcept ValueError, e:\n    print e\n", "try:\n    f()\nexcept ValueError as e:\n    print(e)\n"
    ),
    "an octal of old": ("mode = 0755\n", "mode = 0o755\n"),
    "a merge's conflict, ours": ("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> theirs\ny = x\n", "x = 1\ny = x\n"),
    "a merge's conflict, theirs": ("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> theirs\ny = x\n", "x = 2\ny = x\n"),
    "parameters out of order": ("def f(a=1, b):\n    return a\n", "def f(b, a=1):\n    return a\n"),
    "a default that lacks": ("def f(a=1, b):\n    return a\n", "def f(a=1, b=None):\n    return a\n"),
    "a definition without a body": ("def f():\n\ndef g():\n    return 1\n", "def f():\n    pass\n\ndef g():\n    return 1\n"),
    "curled quotation marks": ("x = “a”\n", 'x = "a"\n'),
    "three slips": (
        "class A(object)\n    def f(self:\n        retrun 1\n", "class A(object):\n    def f(self):\n        return 1\n"
    ),
    "slips in two functions": (
        "def f(a)\n    return a\n\ndef g(a)\n    return a\n", "def f(a):\n    return a\n\ndef g(a):\n    return a\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_what_was_meant_is_among_the_first(kind: str) -> None:
    """Among the first five that parse is the text that was meant, but for blanks."""
    broken, meant = CASES[kind]
    assert meant.split() in [each.text.split() for each in islice(repaired_syntax(broken), 5)]


@pytest.mark.parametrize("kind", CASES)
def test_all_that_is_offered_parses_and_is_new(kind: str) -> None:
    """Nothing is offered twice, the likeliest comes first where one part is wrong, and the line is one of the text."""
    offered = list(repaired_syntax(CASES[kind][0]))
    for each in offered:
        ast.parse(each.text)
        assert 1 <= each.line <= CASES[kind][0].count("\n")
        assert 0 < each.weight <= 1
    assert len({each.text for each in offered}) == len(offered)


def test_a_text_that_parses_is_left_alone() -> None:
    """There is nothing to repair."""
    assert repaired_syntax("x = 1\n") == ()


def test_the_rest_of_a_module_stays_as_it_is() -> None:
    """Only the part that is wrong is edited, however much stands around it."""
    around = dedent("""\
        def before():
            return "before: %s" % 1

        """)
    first, *_ = repaired_syntax(f"{around}def f(a)\n    return a\n\n\n{around.replace('before', 'after')}")
    assert first.text == f"{around}def f(a):\n    return a\n\n\n{around.replace('before', 'after')}"
    assert first.line == 4


@pytest.mark.parametrize(
    "text",
    [
        "x = (" + "a + " * 50_000 + "\n",
        "a" * 200_000 + " b\n",
        "<<<<<<< a\n=======\n" * 20_000,
        "def f(:\n" + "    a b c = (1, [2}\n" * 500,
    ],
    ids=["a long line", "a long word", "conflicts without an end", "errors without an end"],
)
def test_nobodys_text_is_worked_on_for_ever(text: str) -> None:
    """However long and however wrong: no more is parsed than there is patience for, but for the last text."""
    tries = _Tries(left=300_000)
    list(_found(text, 3, tries))
    assert sum(map(len, tries.seen)) <= 300_000 + len(text)


def test_the_base_of_a_conflict_is_left_out() -> None:
    """Where a merge shows what both sides came from, that is no side."""
    conflict = "<<<<<<< a\nx = 1\n||||||| base\nx = 0\n=======\nx = 2\n>>>>>>> b\n"
    assert [each.text for each in repaired_syntax(conflict)[:3]] == ["x = 1\n", "x = 2\n", "x = 1\nx = 2\n"]


def test_the_search_offers_repaired_syntax() -> None:
    """Under the strategy of statements, and only for an error that says that a text does not parse."""
    sources = {"it.py": "def f(a)\n    return a\n", "test_it.py": "def test(:\n"}
    failure = Failure(
        error_type="SyntaxError", family=Family.SYNTAX, message="", frames=(), failing_tests=("test_it.py",)
    )
    suspects = [Suspect(path=path, line=1, score=0.9) for path in sources]
    found = list(SearchSpace(sources=sources, suspects=suspects, failure=failure).proposed(("statements",)))
    assert [(each.path, each.template) for each in found] == [("it.py", "missing_colon")]
    assert list(SearchSpace(sources=sources, suspects=suspects, failure=failure).proposed(("names",))) == []
