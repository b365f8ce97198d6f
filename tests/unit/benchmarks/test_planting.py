"""Planted bugs: what is made of a module, and that only that is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.planting import Planted, plantable

MODULE = '''
def fits(weight, limit):
    """Whether it does; "größer" is bytes beyond ASCII."""
    spare = limit - weight  # größer
    if spare > 3 and limit:
        return True
    return False
'''


@pytest.fixture
def planted(tmp_path: Path) -> list[Planted]:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fits.py").write_text(MODULE, encoding="utf-8")
    return plantable(tmp_path)


def lines(planted: list[Planted], kind: str) -> set[str]:
    """The changed line of each bug of a kind."""
    before = MODULE.splitlines()
    changed = [
        [new for old, new in zip(before, bug.source.splitlines(), strict=False) if old != new]
        for bug in planted
        if bug.kind == kind
    ]
    return {each[0].strip() for each in changed}


def test_operators(planted: list[Planted]) -> None:
    """Each operator is exchanged, with what stands around it left as it is."""
    assert lines(planted, "operator") == {
        "spare = limit + weight  # größer",
        "if spare >= 3 and limit:",
        "if spare < 3 and limit:",
        "if spare > 3 or limit:",
    }


def test_variables(planted: list[Planted]) -> None:
    """A variable is taken for another of the same function."""
    found = lines(planted, "variable")
    assert {"spare = weight - weight  # größer", "if spare > 3 and spare:"} <= found
    assert all("True" not in line for line in found)


def test_numbers_and_statements(planted: list[Planted]) -> None:
    """Numbers are off by one, in both directions; a statement becomes `pass`, a docstring does not."""
    assert lines(planted, "number") == {"if spare > 4 and limit:", "if spare > 2 and limit:"}
    assert len([bug for bug in planted if bug.kind == "statement"]) == 4


def test_every_bug_compiles_and_differs(planted: list[Planted]) -> None:
    """A planted bug is valid code that means something else."""
    before = ast.dump(ast.parse(MODULE))
    assert all(ast.dump(ast.parse(bug.source)) != before for bug in planted)
