"""What learning is worth: splits, ratios and what is said of them; and the sandbox that remembers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.repair.cases import Case
from benchmarks.repair.learning import Tried, ratio, split, verdict
from benchmarks.repair.remembered import Remembered
from benchmarks.report import Interval
from workers.errors import SandboxEnded
from workers.ports import Completed, Ending, SandboxSession, Workload


def case(name: str) -> Case:
    return Case(id=name, repository=Path(), test_command="pytest", budget_seconds=1.0)


def tried(name: str, candidates: int, *, fixed: bool = True) -> Tried:
    return Tried(case=name, candidates=candidates, fixed=fixed)


def test_a_split_is_two_halves_that_its_number_decides() -> None:
    """No case is on both sides, and another split draws others."""
    cases = [case(str(number)) for number in range(20)]
    one, other = split(cases, 0, 1)
    assert {c.id for c in one} | {c.id for c in other} == {c.id for c in cases}
    assert len(one) == len(other) == 10
    assert split(cases, 0, 1) == (one, other) != split(cases, 1, 1)


def test_a_ratio_is_over_cases_fixed_both_ways() -> None:
    """A case that was fixed only one way is none, and one that several splits tried counts once."""
    ours = [tried("a", 5), tried("a", 5), tried("b", 20), tried("c", 1, fixed=False)]
    theirs = [tried("a", 10), tried("a", 10), tried("b", 10), tried("c", 9)]
    found = ratio(ours, theirs)
    assert found is not None
    interval, count = found
    assert (round(interval.estimate, 6), count) == (1.0, 2)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.5, 0.9, ": fewer candidates"), (0.5, 1.2, "no difference shown"), (1.1, 1.9, ": more candidates")],
)
def test_a_null_result_is_said(low: float, high: float, said: str) -> None:
    """An interval that holds 1 shows nothing, and says so."""
    assert said in verdict((Interval(estimate=(low + high) / 2, low=low, high=high), 9))


class Counting:
    """A sandbox that says how often it was asked."""

    def __init__(self) -> None:
        self.runs = 0
        self.lines: list[bytes] = []

    def run(self, workload: Workload) -> Completed:
        self.runs += 1
        said = workload.overlay.get("a.py") or b""
        return Completed(exit_code=0, ending=Ending.EXITED, stdout="", stderr="", report=said, seconds=0.0)

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


def test_a_question_is_put_to_a_process_once(tmp_path: Path) -> None:
    """A second session answers from memory, under the number that it was asked with."""
    counting = Counting()
    remembered = Remembered(counting)
    for number in (1, 2):
        with remembered.session(workload(tmp_path, b"")) as session:
            for question in ({"root": "."}, {"id": number, "source": "x"}):
                session.send(json.dumps(question).encode())
                assert json.loads(session.receive(1.0)) == question
    assert len(counting.lines) == 2


def test_a_process_that_is_lost_is_told(tmp_path: Path) -> None:
    """What it did not answer is not remembered as answered."""
    remembered = Remembered(Counting())
    with remembered.session(workload(tmp_path, b"")) as session:
        session.send(b'{"lost": 1}')
        with pytest.raises(SandboxEnded):
            session.receive(1.0)
    assert remembered.ran == 0
