"""docs/literature.md cannot lie: what it names is there, and every command in it runs and ends well."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.databases import migrated_store
from tests.integration.command_line import apprentice
from tests.literature import COMMANDS, NODES, TABLE, not_passed
from tests.made_up import made_up

ROOT = Path(__file__).parents[2]

CLAIMED = (
    *("Memory agent", "Q-learning agent", "ε-greedy agent", "Reward shaping", "Reward normalisation", "Safe execution"),
    *("Hierarchical memory", "Shared memory", "Multimodal memory", "Issue resolver", "Review agent", "Bug fixer"),
    *("ReAct", "Reflexion", "Four retry modes", "Skill library", "Composition of skills", "Curriculum"),
    *("Question answering with citations", "In-context reinforcement learning", "Constitution", "Reward model"),
    *(
        "Preference export",
        "Fine-tuning export",
        "expert iteration",
        "Tool usefulness",
        "Tree of thoughts",
        "Advantage",
    ),
    *("Credit assignment", "Off-policy evaluation"),
)
"""Systems and ideas that the product has or was asked for."""


def test_every_idea_has_its_row() -> None:
    """Nothing that the product claims or was asked for is passed over."""
    assert [idea for idea in CLAIMED if not any(idea.lower() in row.lower() for row in TABLE)] == []


@pytest.mark.parametrize("idea", TABLE)
def test_a_row_is_whole(idea: str) -> None:
    """What is there has a place that exists, a command and an effect or the words that there is no figure; else why not."""
    row = TABLE[idea]
    if row.left_out.startswith("left out: "):
        assert (row.where, row.command, row.effect) == ("", "", "")
        return
    places = re.findall(r"`([^`]+)`", row.where)
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert row.commands()
    assert re.search(r"\d|not measured|no effect seen", row.effect), row.effect


def test_commands_are_of_three_kinds() -> None:
    """A new kind needs a test that runs it."""
    kinds = ("pytest tests/", "python -m benchmarks.", "apprentice ")
    assert [each for each in COMMANDS if not each.startswith(kinds)] == []


def defined() -> Iterator[str]:
    for node in NODES:
        path, _, name = node.partition("::")
        if not name or f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"):
            yield node


def test_tests_that_are_named_are_there() -> None:
    """A test that was renamed is found here, without running any."""
    assert list(defined()) == NODES


NODE = "tests/unit/test_a.py::test_it"


@pytest.mark.parametrize(
    ("reports", "left"),
    [
        ({"passed": [f"{NODE}[1]", f"{NODE}[2]"]}, []),
        ({"passed": [f"{NODE}_too"]}, [NODE]),
        ({"passed": [f"{NODE}[1]"], "skipped": [f"{NODE}[2]"]}, [NODE]),
        ({"passed": [f"{NODE}@group"]}, []),
        ({"passed": [NODE], "error": [NODE]}, [NODE]),
        ({}, [NODE]),
    ],
)
def test_what_did_not_pass_is_found(reports: dict[str, list[str]], left: list[str]) -> None:
    """The run of all tests fails by it, see tests/conftest.py."""
    assert not_passed([NODE], reports) == left


@pytest.mark.extended
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("python ")])
def test_the_benchmarks_run(command: str) -> None:
    """Each ends well in its small size and names the commit."""
    done = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^  commit \w+", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("apprentice ")])
def test_the_commands_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends well on a memory that is made up."""
    monkeypatch.chdir(tmp_path)
    with migrated_store(tmp_path / "home" / "apprentice.db") as store:
        made_up(store, datetime(2026, 1, 1, tzinfo=UTC))
    ran = apprentice(tmp_path / "home", *shlex.split(command)[1:])
    assert ran.code == 0, ran.err
    assert ran.out
