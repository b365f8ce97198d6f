"""Evaluation runs of the agent: broken off, capped, gone back in, compared. Real processes, a scripted model, real tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.agent.folder import read
from bot.model_server.server import ModelServer
from tests.integration.agent_runs import Runs, figures, script, table, told, write_cases

pytestmark = [pytest.mark.sandbox, pytest.mark.extended]

TWO = ("--num-trials", "2")
FIRST_CASE_ONLY = 0.0085
"""US dollars that the first case's calls do not exceed, and that the first call of the second one might."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Runs over two cases, of which `whole` went through two trials undisturbed."""
    home = tmp_path_factory.mktemp("agent-runs")
    write_cases(home / "cases", "crate", "chest")
    with ModelServer(script()) as server:
        found = Runs(home=home, url=server.url)
        (home / "whole.txt").write_text(found.run("whole", *TWO))
        yield found


def test_a_run_learns_and_says_what_it_was(runs: Runs) -> None:
    """What failed in the first trial is solved in the second, by its lesson; the table says that no model was asked."""
    out = (runs.home / "whole.txt").read_text()
    assert [(trial, case, outcome) for trial, case, outcome, _ in told(runs.records("whole"))] == [
        (1, "crate", "solved"),
        (1, "chest", "unsolved"),
        (2, "crate", "solved"),
        (2, "chest", "solved"),
    ]
    assert "0.50 (0.09 to 0.91)" in table(out)[0]
    assert "1.00 (0.34 to 1.00)" in table(out)[1]
    assert "scripted stand-in, no model" in out
    assert (runs.home / "runs/whole/curve.svg").stat().st_size > 0


def test_a_killed_run_is_resumed(runs: Runs, tmp_path: Path) -> None:
    """After a SIGKILL within a case, and a line cut off, each case stands once a trial, as if nothing had happened."""
    write_cases(tmp_path / "cases", "crate", "chest")
    with ModelServer(script(delay=120.0)) as server:
        killed = Runs(home=tmp_path, url=server.url)
        process = killed.start(*killed.words("killed", *TWO))
        while not any("test_chest.py::" in request.text for request in server.requests):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
        process.communicate()
        with (tmp_path / "runs/killed/records.jsonl").open("a") as file:
            file.write('{"trial": 1, "case": "chest", "outcome": "sol')
        out = killed.run("killed", *TWO, "--resume")
        again = killed.run("killed", *TWO, "--resume")
    assert told(killed.records("killed")) == told(runs.records("whole"))
    assert figures(out) == figures(again) == figures((runs.home / "whole.txt").read_text())


def test_a_cap_stops_a_run_between_calls(runs: Runs) -> None:
    """A run that may cost no more stops, says so, has not exceeded its cap, and goes on under a higher one."""
    out = runs.run("capped", "--max-usd", str(FIRST_CASE_ONLY), code=3)
    assert "stopped: the next call may exceed the cap" in out
    assert [record.case for record in runs.records("capped")] == ["crate"]
    assert sum(record.micros for record in runs.records("capped")) <= FIRST_CASE_ONLY * 1e6
    runs.run("capped", "--max-usd", "1", "--resume")
    assert told(runs.records("capped")) == told(runs.records("whole"))[:2]


def test_a_trial_is_done_anew(runs: Runs) -> None:
    """--start-trial goes on from what the trial before it left; what came later is set aside."""
    one = ("--num-cases", "1", *TWO)
    runs.run("again", *one)
    before = runs.records("again")
    runs.run("again", *one, "--resume", "--start-trial", "2")
    after = runs.records("again")
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert told(after) == told(before)
    assert read(runs.home / "runs/again/set-aside-1.jsonl") == before[1:]


def test_held_out_cases_are_never_learned_on(runs: Runs) -> None:
    """Half of the cases are evaluated with what the other half left, and leave nothing themselves."""
    runs.run("apart", *TWO, "--held-out")
    records = runs.records("apart")
    assert [(r.case, r.held_out) for r in records] == [("chest", True), ("crate", False)] * 2
    assert [r.store for r in records] == ["", "001-00001", "001-00001", "002-00003"]
    assert not any(r.solved for r in records if r.held_out)


def test_two_runs_are_compared_by_case(runs: Runs) -> None:
    """Memory on against memory off: who solved what, the exact test, and that so few cases show nothing."""
    runs.run("forgetful", *TWO, "--no-memory")
    out = runs.done("compare", "whole", "forgetful")
    assert "both 1, A alone 0, B alone 0, neither 1; p = 1.000: no difference shown" in table(out)[0]
    assert "both 1, A alone 1, B alone 0, neither 0; p = 1.000: no difference shown" in table(out)[1]
    assert "all trials, pass@1 of A less B  0.25 (95 % 0.00 to 0.50): no difference shown" in out


def test_what_cannot_be_is_refused_in_a_line(runs: Runs) -> None:
    """A run that is there is not begun again, nor resumed as another one; what has no trial before it cannot be started at."""
    assert "give --resume" in runs.run("whole", code=2)
    assert "begun with other memory" in runs.run("whole", "--resume", "--no-memory", code=2)
    assert "trial 6 has not begun" in runs.run("whole", "--resume", "--start-trial", "7", code=2)
    assert "goes with --resume" in runs.run("fresh", "--start-trial", "2", code=2)
