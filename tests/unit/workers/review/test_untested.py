from __future__ import annotations

import pytest

from workers.patches import changed_lines, parse_diff, unified
from workers.review.covering import ImportGraph
from workers.review.detectors.detector import Delta, Detection, HeadTree
from workers.review.detectors.untested import Untested

PATH = "shop/cart.py"
BEFORE = '''\
"""A cart."""

RATE = 2


class Cart:
    def total(self, prices):
        """The sum."""
        result = sum(prices)
        return result * RATE
'''


def read(after: str, *, tested: bool = False, touched: str = PATH, before: str = BEFORE) -> Detection:
    added = changed_lines(parse_diff(unified(PATH, before, after)))
    head = HeadTree(sources={PATH: after}, target_version="py311")
    delta = Delta(head=head, base={PATH: before}, added=added, touched=frozenset({PATH, touched}))
    return Untested(lambda _: tested).compare(delta, [PATH])


CHANGED = BEFORE.replace("sum(prices)", "max(prices)")


def test_changed_behaviour_without_a_test_is_said_once_a_file() -> None:
    """The first changed function is named, on its first changed line."""
    more = CHANGED + "\n    def count(self):\n        return 1\n"
    (found,) = read(more).findings
    assert (found.rule, found.line, found.category, found.severity) == ("TST001", 9, "maintainability", "info")
    assert "`total`" in found.message


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace('"""The sum."""', '"""The sum of all prices."""'),
        BEFORE.replace("        result =", "        # all of them\n        result ="),
        BEFORE.replace("(self, prices)", "(self, prices: list[int]) -> int"),
        BEFORE.replace("result = sum", "result: int = sum"),
        BEFORE.replace("result", "amount"),
        BEFORE.replace("def total", "def sum_of"),
        BEFORE.replace("RATE = 2", "RATE = 3"),
        BEFORE.replace("sum(prices)", "sum(\n            prices\n        )"),
    ],
)
def test_what_changes_no_behaviour_is_not_said(after: str) -> None:
    """Comments, docstrings, hints, formatting, names, and what is no function."""
    assert read(after).findings == ()


def test_a_test_that_changed_or_reaches_the_file_speaks_for_it() -> None:
    """Nothing is said where some test may have noticed."""
    assert read(CHANGED, tested=True).findings == ()
    assert read(CHANGED, touched="tests/test_cart.py").findings == ()


def test_what_does_not_parse_is_unread() -> None:
    """Its silence would be no all-clear."""
    assert read("def f(:\n").unread == {PATH: "it does not parse"}
    deep = "def f(x):\n    return x" + ".a" * 2_000 + "\n"
    assert read(deep).unread


def test_imports_tell_whether_a_test_may_come_by() -> None:
    """Where no test is known at all, nothing can be told, and nothing is held against a file."""
    sources = {"a.py": "", "b.py": "", "test_a.py": "import a\n"}
    graph = ImportGraph(sources)
    assert (graph.may_be_tested("a.py"), graph.may_be_tested("b.py")) == (True, False)
    assert ImportGraph({"a.py": ""}).may_be_tested("a.py")
