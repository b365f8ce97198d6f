"""What tests and docstrings show of a function."""

from __future__ import annotations

import ast

from workers.repair.engines.search.project import examples_of

TESTS = """
from shop import price

def check(candidate):
    assert candidate(["pear", "fig"], 7) == "9.50;"

def test_price():
    check(price)
    assert price([], 12) == ""
"""


def test_calls_are_found_through_a_parameter_of_the_test() -> None:
    """A check that is handed the function calls it under another name; both calls are examples."""
    calls = examples_of("price", "", {"test_shop.py": TESTS}).calls
    shown = {tuple(ast.unparse(argument) for argument in call) for call in calls}
    assert shown == {("['pear', 'fig']", "7"), ("[]", "12")}


def test_literals_come_from_the_docstring_first() -> None:
    """Numbers of the description stand before those of the tests; rare signs before letters."""
    shown = examples_of("price", "Rounded to 5, twice as much from 3 on.", {"test_shop.py": TESTS})
    assert shown.numbers[:3] == ("5", "3", "2")
    assert set(shown.numbers) == {"5", "3", "2", "7", "12"}
    assert set(shown.characters[:2]) == {".", ";"}
    assert "Rounded" in shown.words


def test_tests_of_other_functions_say_nothing() -> None:
    """A test file that does not name the function, or does not parse, is left out."""
    assert examples_of("weight", "", {"test_shop.py": TESTS, "test_b.py": "weight ("}).calls == ()
