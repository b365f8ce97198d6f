"""The templates of `operators`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from memory.model import Failure, Family
from workers.repair.candidates import Suspect
from workers.repair.engines.search.search import SearchSpace

CASES = [
    (
        "comparison_operator",
        """
        def f(a, b):
            if a.age < b:
                return "minor"
            return "adult"
        """,
        """
        def f(a, b):
            if a.age <= b:
                return "minor"
            return "adult"
        """,
        {},
    ),
    (
        "arithmetic_operator",
        """
        def f(a, b):
            return a.price + b * a.count + 1
        """,
        """
        def f(a, b):
            return a.price * b * a.count + 1
        """,
        {},
    ),
    (
        "augmented_operator",
        """
        def f(a, b):
            a.balance += b
            return a.balance
        """,
        """
        def f(a, b):
            a.balance -= b
            return a.balance
        """,
        {},
    ),
    (
        "assignment_to_augmented",
        """
        def f(a, b):
            total = 0
            for item in a:
                total = item.cost
            return total
        """,
        """
        def f(a, b):
            total = 0
            for item in a:
                total += item.cost
            return total
        """,
        {},
    ),
    (
        "swapped_operands",
        """
        def f(a, b):
            return a.end - b.start
        """,
        """
        def f(a, b):
            return b.start - a.end
        """,
        {},
    ),
    (
        "regrouped_operands",
        """
        def f(a, b):
            return a * b + 1
        """,
        """
        def f(a, b):
            return a * (b + 1)
        """,
        {},
    ),
    (
        "regrouped_operands",
        """
        def f(a, b):
            return (a + b) / 2
        """,
        """
        def f(a, b):
            return a + b / 2
        """,
        {},
    ),
    (
        "dropped_operand",
        """
        def f(a, b):
            return [a.width + b]
        """,
        """
        def f(a, b):
            return [a.width]
        """,
        {},
    ),
    (
        "arithmetic_operator",
        """
        def f(a, b):
            return a - b == 0
        """,
        """
        def f(a, b):
            return a % b == 0
        """,
        {},
    ),
    (
        "augmented_operator",
        """
        def f(a, b):
            a -= b
            return a
        """,
        """
        def f(a, b):
            a //= b
            return a
        """,
        {},
    ),
    (
        "missing_term",
        """
        def last(rows: list[int], n: int):
            return len(rows)
        """,
        """
        def last(rows: list[int], n: int):
            return len(rows) - n
        """,
        {},
    ),
    (
        "missing_term",
        """
        def label(name: str, unit: str):
            return name
        """,
        """
        def label(name: str, unit: str):
            return name + unit
        """,
        {},
    ),
    (
        "superfluous_term",
        """
        def f(a, b):
            return (a - 1) ** 2 * b
        """,
        """
        def f(a, b):
            return (a - 1) ** b
        """,
        {},
    ),
    (
        "integer_by_one",
        """
        def f(a, b):
            return a[b:][0] + 3
        """,
        """
        def f(a, b):
            return a[b:][0] + 2
        """,
        {},
    ),
    (
        "index_by_one",
        """
        def f(a, b):
            return a[b]
        """,
        """
        def f(a, b):
            return a[b - 1]
        """,
        {},
    ),
    (
        "index_by_one",
        """
        def f(a, b):
            return a[len(b) - 1]
        """,
        """
        def f(a, b):
            return a[len(b)]
        """,
        {},
    ),
    (
        "integer_by_one",
        """
        def f(a, b):
            return a - 1
        """,
        """
        def f(a, b):
            return a
        """,
        {},
    ),
    (
        "range_bound",
        """
        def f(a, b):
            return [a * i for i in range(b)]
        """,
        """
        def f(a, b):
            return [a * i for i in range(1, b + 1)]
        """,
        {},
    ),
    (
        "expression_by_one",
        """
        def f(a, b):
            return len(a)
        """,
        """
        def f(a, b):
            return len(a) - 1
        """,
        {},
    ),
    (
        "comparison_and_operand",
        """
        def f(a, b, n):
            return a < n
        """,
        """
        def f(a, b, n):
            return a <= b
        """,
        {},
    ),
    (
        "comparison_and_operand",
        """
        def f(a, n):
            while a < n:
                a += 2
        """,
        """
        def f(a, n):
            while a <= n - 1:
                a += 2
        """,
        {},
    ),
    (
        "comparison_and_operand",
        """
        def f(items):
            if len(items) > 1:
                return items[0]
            return None
        """,
        """
        def f(items):
            if len(items) == 0:
                return items[0]
            return None
        """,
        {},
    ),
    (
        "index_by_one",
        """
        def f(name):
            return name[:-1]
        """,
        """
        def f(name):
            return name[1:]
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


def test_an_accumulation_is_not_silenced_where_its_start_is_missing(edits: Callable[..., set[str]]) -> None:
    """`self.n += 1` stays an accumulation when `n` was never set; in `__init__` itself `=` may be what was meant."""
    for method, offered in (("count", False), ("__init__", True)):
        source = f"class A:\n    def {method}(self):\n        self.n += 1\n"
        found = edits("augmented_operator", source, error="AttributeError", message="'A' object has no attribute 'n'")
        assert (source.replace("+=", "=") in found) is offered


def test_only_amounts_are_shifted(edits: Callable[..., set[str]]) -> None:
    """A member, and what is asked for being the same, is no amount that could be one off."""
    source = "def f(a, b):\n    return [c for c in a if c {} b]\n"
    assert edits("expression_by_one", source.format("<"))
    for operator in ("in", "not in", "is", "is not"):
        assert not edits("expression_by_one", source.format(operator))


def test_named_constants_are_not_put_in_an_order_first(edits: Callable[..., set[str]]) -> None:
    """`errno == ENOENT` becomes `!=`, `is` or `in` before it becomes `<=`, and so does a text; a number is ordered as before."""
    failure = Failure(error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=())

    def order(side: str) -> list[str]:
        source = f"def f(e):\n    return e.errno == {side}\n"
        found = SearchSpace(
            sources={"it.py": source}, suspects=[Suspect(path="it.py", line=2, score=0.9)], failure=failure
        ).proposed()
        return [c.source.split()[-2] for c in found if c.template == "comparison_operator"]

    for constant in ("errno.ENOENT", '"xterm"'):
        assert order(constant).index("<=") > order(constant).index("in")
    assert order("3").index("<=") < order("3").index("in")
