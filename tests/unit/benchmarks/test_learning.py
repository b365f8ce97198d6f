"""What learning is worth: splits, ratios and what is said of them; and the sandbox that remembers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from benchmarks.repair.cases import Case, load_cases, write_case
from benchmarks.repair.learning import Trials, Tried, by_case, compare, in_total, pairs, split, verdict
from benchmarks.repair.remembered import Remembered
from benchmarks.report import Interval
from memory.retrieval.embeddings import HashedWords
from workers.errors import SandboxEnded
from workers.ports import CompletedRun, Ending, SandboxSession, Workload
from workers.sandbox.bubblewrap import Bubblewrap


def case(name: str) -> Case:
    return Case(id=name, repository=Path(), test_command="pytest", budget_seconds=1.0)


def tried(name: str, candidates: int, *, found: bool = True) -> Tried:
    return Tried(case=name, candidates=candidates, found=found)


def test_a_split_is_two_halves_that_its_number_decides() -> None:
    """No case is on both sides, and another split draws others."""
    cases = [case(str(number)) for number in range(20)]
    one, other = split(cases, 0, 1)
    assert {c.id for c in one} | {c.id for c in other} == {c.id for c in cases}
    assert len(one) == len(other) == 10
    assert split(cases, 0, 1) == (one, other) != split(cases, 1, 1)


def test_cases_are_compared_in_pairs() -> None:
    """A case that several splits tried counts once; one that no way solved says nothing of either."""
    ours = [tried("a", 4), tried("a", 9), tried("b", 20), tried("c", 600, found=False)]
    theirs = [tried("a", 10), tried("a", 10), tried("b", 600, found=False), tried("c", 600, found=False)]
    assert [(round(one, 6), round(other, 6)) for one, other in pairs(ours, theirs)] == [(6.0, 10.0), (20.0, 600.0)]


def test_two_ratios_tell_short_searches_from_long_ones() -> None:
    """By case, one that takes 3 instead of 1 outweighs one that takes 100 instead of 200; in total it does not."""
    sample = np.array([[[3.0, 1.0], [100.0, 200.0]]])
    assert by_case(sample)[0] == pytest.approx(1.5**0.5)
    assert in_total(sample)[0] == pytest.approx(103 / 201)


def test_one_case_is_no_comparison() -> None:
    """It is said, instead of an interval."""
    assert "not known" in compare([tried("a", 5)], [tried("a", 6)], "warm over cold")[0][1]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.5, 0.9, ": fewer candidates"), (0.5, 1.2, "no difference shown"), (1.1, 1.9, ": more candidates")],
)
def test_a_null_result_is_said(low: float, high: float, said: str) -> None:
    """An interval that holds 1 shows nothing, and says so."""
    assert said in verdict(Interval(estimate=(low + high) / 2, low=low, high=high))


@pytest.mark.extended
@pytest.mark.sandbox
def test_a_case_is_tried_to_its_first_plausible_patch(tmp_path: Path) -> None:
    """With the policy, in the control arm and in fixed order; where all that may be tried is used up, none is found."""
    write_case(
        tmp_path / "area",
        name="area",
        files={
            "shapes.py": "def area(width, height):\n    return width + height\n",
            "test_shapes.py": "import shapes\n\ndef test_area():\n    assert shapes.area(2, 3) == 6\n",
        },
        test_command="python -m pytest -q",
        budget_seconds=10.0,
    )
    (one,) = load_cases(tmp_path)
    sandbox = Remembered(Bubblewrap())
    trials = Trials(100, HashedWords(), sandbox)
    learned, in_order = trials.alone(one, None, 1), trials.in_order(one, 1)
    assert learned.found
    assert trials.at_random(one, 1).found
    assert in_order.found
    none = Trials(1, HashedWords(), sandbox).in_order(one, 1)
    assert in_order.candidates > 1
    assert (none.found, none.candidates) == (False, 1)


class Counting:
    """A sandbox that says how often it was asked."""

    def __init__(self) -> None:
        self.runs = 0
        self.lines: list[bytes] = []

    def run(self, workload: Workload) -> CompletedRun:
        self.runs += 1
        said = workload.overlay.get("a.py") or b""
        return CompletedRun(exit_code=0, ending=Ending.EXITED, stdout="", stderr="", report=said, seconds=0.0)

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        yield Echo(self.lines)


class Echo:
    """Answers every line with itself, and is lost at the word."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def send(self, line: bytes) -> None:
        if b"lost" in line:
            raise SandboxEnded("lost")
        self._lines.append(line)

    def receive(self, timeout: float) -> bytes:
        return self._lines[-1]


def workload(tree: Path, content: bytes) -> Workload:
    return Workload(command=("python",), tree=tree, python=Path("/usr/bin/python3"), overlay={"a.py": content})


def test_the_same_code_is_run_once(tmp_path: Path) -> None:
    """Other code is run for itself, and each has its own answer."""
    counting = Counting()
    remembered = Remembered(counting)
    said = [remembered.run(workload(tmp_path, content)).report for content in (b"x", b"y", b"x")]
    assert said == [b"x", b"y", b"x"]
    assert (counting.runs, remembered.asked, remembered.ran) == (2, 3, 2)
