"""What is kept of a run of the agent: lines, plans, memories, and the figures made of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.agent.figures import curve, pairs
from benchmarks.agent.folder import BadRun, Folder, Log, Outcome, Plan, Record, lines, parsed, read
from benchmarks.agent.runs import turns
from benchmarks.repair.cases import Case


def record(trial: int, case: str, outcome: Outcome = Outcome.SOLVED, store: str = "") -> Record:
    return Record(
        trial=trial,
        case=case,
        held_out=False,
        outcome=outcome,
        attempts=1,
        steps=2,
        tokens=30,
        micros=60,
        seconds=0.5,
        strategy="model:related",
        store=store,
        commit="0000000000",
    )


def plan(*, held_out: bool = False, memory: bool = True) -> Plan:
    return Plan(
        suite="cases",
        cases=("a", "b"),
        memory=memory,
        retry_mode="reflection",
        strategies=("model:related",),
        attempts=1,
        held_out=held_out,
        seed=1,
        model="scripted",
        scripted=True,
    )


def case(name: str) -> Case:
    return Case(id=name, repository=Path(), test_command="pytest", budget_seconds=1.0)


RECORDS = [record(1, "a"), record(1, "b\nß"), record(2, "a", Outcome.PLAUSIBLE)]


@given(st.integers(0, len(lines(RECORDS))))
def test_a_cut_costs_no_more_than_the_last_line(end: int) -> None:
    """Wherever a file is cut off, all whole lines are read, and nothing else."""
    data = lines(RECORDS)[:end]
    assert parsed(data, Path("records.jsonl")) == RECORDS[: data.count(b"\n")]


def test_a_writer_begins_after_the_last_whole_line(tmp_path: Path) -> None:
    """What was cut off is gone once something is appended."""
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(RECORDS[:1]) + b'{"trial": 1, "ca')
    with Log(path) as log:
        log.append(RECORDS[1])
    assert read(path) == RECORDS[:2]


def test_a_whole_line_that_is_no_record_is_an_error(tmp_path: Path) -> None:
    """Only the end of a file can have been cut off: anything else is somebody's mistake, and is named."""
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"{}\n" + lines(RECORDS))
    with pytest.raises(BadRun, match="jsonl:1 is no record"):
        read(path)


def test_a_broken_off_memory_is_forgotten(tmp_path: Path) -> None:
    """A case begins with the memory that it is given, not with what a broken off one left in its copy of it."""
    folder = Folder(tmp_path)
    (folder.copy_of("") / "apprentice.db").write_text("first")
    kept = folder.keep("001-00000")
    (folder.copy_of(kept) / "apprentice.db").write_text("half done")
    assert (folder.copy_of(kept) / "apprentice.db").read_text() == "first"
    assert not list(folder.copy_of("").iterdir())


def test_the_last_memory_of_each_trial_stays(tmp_path: Path) -> None:
    """What a later trial can be begun from is kept; what nothing goes on from is deleted."""
    folder, done = Folder(tmp_path), []
    for number, trial in enumerate((1, 1, 2, 2, 3)):
        (folder.copy_of("") / "apprentice.db").touch()
        done.append(record(trial, f"{number}", store=folder.keep(f"{trial:03}-{number:05}")))
    folder.tidy(done)
    assert sorted(path.name for path in (tmp_path / "stores").iterdir()) == ["001-00001", "002-00003", "003-00004"]


def test_one_writer(tmp_path: Path) -> None:
    """While a run is at work, another process is refused."""
    with Folder(tmp_path).locked(), pytest.raises(BadRun, match="another process"), Folder(tmp_path).locked():
        pass


def test_the_curve_counts_what_was_solved_so_far() -> None:
    """A case that a later trial loses again is not solved in that trial, and stays solved so far."""
    first, second = curve(plan(), [record(1, "a"), record(1, "b", Outcome.UNSOLVED), *RECORDS[2:], record(2, "b")])
    assert (first.solved, first.so_far, first.plausible) == (1, 1, 0)
    assert (second.solved, second.so_far, second.plausible) == (1, 2, 1)


def test_held_out_cases_come_first_and_are_never_learned_on() -> None:
    """In each trial the second half is evaluated before the first is learned on; without memory the first is left out."""
    cases = [case("a"), case("b"), case("c")]
    assert [(t.trial, t.case.id, t.held_out) for t in turns(plan(held_out=True), cases, 2)] == [
        (trial, name, name != "a") for trial in (1, 2) for name in ("b", "c", "a")
    ]
    assert [t.case.id for t in turns(plan(held_out=True, memory=False), cases, 1)] == ["b", "c"]
    assert [t.case.id for t in turns(plan(), cases, 1)] == ["a", "b", "c"]


def test_mcnemar() -> None:
    """Ten cases apart, all solved by one of two: 2 in 1,024; nine to one: 22 in 1,024; none apart: no evidence at all."""
    assert pairs([True] * 10, [False] * 10).p == pytest.approx(2 / 1024)
    assert pairs([True] * 9 + [False], [False] * 9 + [True]).p == pytest.approx(22 / 1024)
    assert pairs([True, False], [True, False]).p == 1.0
    assert "no difference shown" in pairs([True, False], [True, False]).shown()
