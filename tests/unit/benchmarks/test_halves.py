"""Hidden test functions: which are known, and what is left of a file without them."""

from __future__ import annotations

import ast

from benchmarks.repair.importers.halves import Unit, half, unit_of, units_of, without

FILES = {
    "tests/test_a.py": '''
import pytest


@pytest.mark.parametrize("x", [1, 2])
def test_one(x):
    """Of two cases."""


def test_two():
    support()


def support():
    pass


class TestBoth:
    def test_three(self):
        pass

    @pytest.mark.slow
    def test_four(self):
        pass
''',
    "tests/mixin.py": "class Mixin:\n    limit = 3\n\n    def test_five(self):\n        pass\n",
}
ALL = [
    Unit("tests/mixin.py", "Mixin.test_five"),
    Unit("tests/test_a.py", "test_one"),
    Unit("tests/test_a.py", "test_two"),
    Unit("tests/test_a.py", "TestBoth.test_three"),
    Unit("tests/test_a.py", "TestBoth.test_four"),
]


def test_every_test_function_is_a_unit() -> None:
    """Functions of modules and of classes are units, what supports them is not."""
    assert units_of(FILES) == ALL


def test_what_others_call_stays() -> None:
    """A test that another test calls, or that is imported elsewhere, is no unit: the others would break without it."""
    files = {
        "test_a.py": "def test_one(): ...\ndef test_two(): test_one()\n",
        "test_b.py": "from test_a import test_three\n",
        "test_c.py": "def test_three(): ...\n",
    }
    assert units_of(files) == [Unit("test_a.py", "test_two")]


def test_tests_lead_to_their_definition() -> None:
    """A parametrized id leads to its function, an inherited one to the only function of its name."""
    assert unit_of("tests/test_a.py::test_one[2]", ALL) == ALL[1]
    assert unit_of("tests/test_a.py::TestBoth::test_four", ALL) == ALL[4]
    assert unit_of("tests/test_b.py::TestThat::test_five", ALL) == ALL[0]
    assert unit_of("tests/test_b.py::test_made_by_a_plugin", ALL) is None


def test_nothing_of_a_hidden_function_is_left() -> None:
    """Body and decorators are gone, the others stand, and a file with nothing to hide is left alone."""
    left = without(FILES, {ALL[1], ALL[4]})
    assert list(left) == ["tests/test_a.py"]
    assert units_of(left) == [ALL[2], ALL[3]]
    assert "parametrize" not in left["tests/test_a.py"]
    assert "slow" not in left["tests/test_a.py"]
    assert "def support" in left["tests/test_a.py"]


def test_an_emptied_class_is_still_valid() -> None:
    """A class of which everything is hidden keeps a `pass`; one that has more keeps that."""
    left = without(FILES, {ALL[0], ALL[3], ALL[4]})
    bodies = [node.body for text in left.values() for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert [[type(each) for each in body] for body in bodies] == [[ast.Assign], [ast.Pass]]


def test_half_is_hidden_by_the_seed() -> None:
    """Half of the functions, rounded down, and the same ones whatever their order."""
    assert len(half(ALL, "1")) == 2
    assert half(ALL, "1") == half(reversed(ALL), "1")
    assert len({half(ALL, str(seed)) for seed in range(20)}) > 3
