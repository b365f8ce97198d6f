"""docs/literature.md cannot lie: what it names is there, and every command in it runs and ends well."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.databases import migrated_store
from tests.integration.command_line import apprentice
from tests.made_up import made_up
from tests.unit.test_docs import read, rows

ROOT = Path(__file__).parents[2]
PAGE = "docs/literature.md"

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


class Row(NamedTuple):
    """A row of the table after its first column."""

    where: str
    command: str
    effect: str
    left_out: str

    def commands(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.command)


TABLE = {idea: Row(*cells) for idea, cells in rows(read(PAGE)).items()}
COMMANDS = [each for row in TABLE.values() for each in row.commands()]
NODES = [each.removeprefix("pytest ") for each in COMMANDS if each.startswith("pytest ")]


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


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tests_pass(tmp_path: Path) -> None:
    """In one process: each passes, and none is skipped."""
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--junitxml={report}", *NODES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    ran = {case.get("name", "").partition("[")[0] for case in ElementTree.parse(report).iter("testcase")}
    assert {node.partition("::")[2] for node in NODES} - {""} <= ran
    assert [each.tag for each in ElementTree.parse(report).iter() if each.tag in ("skipped", "failure", "error")] == []


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
