"""`apprentice evaluate` and `apprentice audit`, as people and scripts call them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.policy.q_table import CONTROL, PRESENT, VERSIONS
from memory.rewards import contributions_of_outcome, contributions_of_signal
from tests.databases import migrated_store
from tests.integration.command_line import apprentice, apprentice_process
from tests.integration.simulated import World, simulate

pytestmark = pytest.mark.extended


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def filled(home: Path) -> None:
    """A ledger of 150 simulated repairs."""
    with migrated_store(home / "apprentice.db") as store:
        made = simulate(World(1), 1, 150, PRESENT)
        for entry in made.log:
            assert entry.outcome is not None
            store.ledger.append_decision(entry.decision)
            store.ledger.append_outcome(entry.outcome, contributions_of_outcome(entry.decision, entry.outcome))
            for signal in entry.signals:
                store.ledger.append_signal(signal, contributions_of_signal(entry.decision, signal))


def test_an_empty_ledger_is_said_to_be_one(home: Path) -> None:
    """Every estimate is refused, nothing is found, and both end well."""
    ran = apprentice_process(home, "evaluate")
    assert (ran.code, ran.err) == (0, "")
    assert "greedy: refused: 0 tasks" in ran.out
    assert apprentice(home, "audit").out == "Nothing to look at\n"


def test_a_ledger_is_evaluated(home: Path) -> None:
    """Each policy has its figures as JSON, the version in use with its value; the audit names what was rejected."""
    filled(home)
    document = apprentice(home, "evaluate", "--json").document()
    policies = {each["policy"]: each for each in document["policies"]}
    assert {"present", CONTROL, "greedy", "prior-only"} <= set(policies)
    assert policies["present"]["decision"]["dr"]["value"] == pytest.approx(0.5, abs=0.2)
    assert document["in_use"]["use"] == PRESENT.version
    (item, *_) = apprentice(home, "audit", "--json").document()["items"]
    assert (item["check"], item["alarm"]) == ("proven_but_rejected", "notice")
    later = apprentice(home, "evaluate", "--policy", "greedy", "--since", "2030-01-01", "--json").document()
    assert [(each["policy"], each["decision"]["n"]) for each in later["policies"]] == [("greedy", 0)]


def test_the_operator_has_the_last_word(home: Path) -> None:
    """A reinstated version is in use and shows in the statistics; a name that does not exist is refused with those that do."""
    older = next(iter(VERSIONS))
    assert older in apprentice(home, "evaluate", "--policy", "present", "--reinstate", older).out
    shown = apprentice(home, "stats").out
    assert f"policy {older}" in shown
    assert "reinstated by the operator" in shown
    for option in ("--policy", "--reinstate"):
        ran = apprentice(home, "evaluate", option, "nope")
        assert ran.code == 2
        assert "there is no policy 'nope'; there are" in ran.err
