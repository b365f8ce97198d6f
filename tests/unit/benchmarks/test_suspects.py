"""Where a fix lies among the suspects: on one real case, and by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.repair import suspects
from benchmarks.repair.cases import load_cases, write_case
from benchmarks.repair.suspects import BASELINE, PRESENT, WAYS, changed, place, places, report
from workers.repair.candidates import Suspect

SOURCE = """
def fee(weight, limit):
    spare = limit - weight
    if spare < 0:
        return weight * 3
    return weight * 2
"""
TESTS = """
from post import fee


def test_light():
    assert fee(2, 5) == 4


def test_heavy():
    assert fee(7, 5) == 26
"""


def made(directory: Path, test: str = TESTS) -> Path:
    write_case(
        directory / "post",
        name="post",
        files={"post.py": SOURCE, "test_post.py": test},
        test_command="python -m pytest",
        budget_seconds=30,
        solution={"post.py": SOURCE.replace("weight * 3", "weight * 3 + limit")},
        labels={"project": "post"},
    )
    return directory


@pytest.mark.sandbox
def test_the_line_that_only_the_failing_test_runs_comes_first(tmp_path: Path) -> None:
    """By every way that sees what ran; and none is without a place."""
    (case,) = load_cases(made(tmp_path))
    found = places(case)
    assert found.keys() == WAYS.keys()
    assert found[PRESENT] == found[BASELINE] == 1
    assert found["without coverage"] > 1
    assert changed(case, {"post.py": SOURCE}) == {("post.py", 5)}


@pytest.mark.sandbox
def test_a_case_whose_tests_pass_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out; without any other there is nothing to show."""
    monkeypatch.setattr(sys, "argv", ["suspects", str(made(tmp_path, TESTS.replace("26", "21")))])
    with pytest.raises(SystemExit) as ended:
        suspects.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "post: left out" in told
    assert "none of the 1 cases" in told


def test_equal_suspects_share_the_middle_place() -> None:
    """What is not suspected has the last one."""
    found = [Suspect(path="a.py", line=line, score=score) for line, score in ((1, 0.9), (2, 0.5), (3, 0.5), (4, 0.5))]
    assert place(found, frozenset({("a.py", 3)}), last=80) == 3
    assert place(found, frozenset({("a.py", 3), ("a.py", 1)}), last=80) == 1
    assert place(found, frozenset({("b.py", 3)}), last=80) == 80


def test_ratios_are_geometric_means_over_cases() -> None:
    """With how many fixes come nearer, and how many farther."""
    flat = dict.fromkeys(WAYS, 4.0)
    rows = dict(
        report({"a": [{**flat, BASELINE: 8.0}, {**flat, BASELINE: 32.0}], "b": [flat, {**flat, BASELINE: 1.0}]})
    )
    assert rows[PRESENT] == "within 1, 5, 20: 0, 4, 4; 1"
    assert rows[BASELINE].startswith("within 1, 5, 20: 1, 2, 3; 1.41 (95 % ")
    assert rows[BASELINE].endswith("2 farther, 1 nearer")
