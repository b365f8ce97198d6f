"""`apprentice preferences` and `apprentice export`, by the real command on a memory that is made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.databases import migrated_store
from tests.integration.command_line import apprentice, apprentice_process
from tests.made_up import REPOSITORY, made_up


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that has repaired a few things."""
    place = tmp_path / "home"
    with migrated_store(place / "apprentice.db") as store:
        made_up(store, datetime(2026, 1, 1, tzinfo=UTC), repairs=8)
    return place


def test_exports_are_written_and_told(home: Path, tmp_path: Path) -> None:
    """`export` writes one JSON document a line, and says how many of which repository."""
    file = tmp_path / "out.jsonl"
    ran = apprentice(home, "export", "dpo", file, "--repository", REPOSITORY, "--json")
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    document = ran.document()
    assert document == {
        "form": "dpo",
        "path": str(file),
        "lines": len(lines),
        "repositories": {REPOSITORY: len(lines)},
        "left_out": 0,
    }
    assert {tuple(line) for line in lines} == {("prompt", "chosen", "rejected", "provenance")}
    ran = apprentice(home, "export", "sft", file, "--repository", REPOSITORY, "--since", "2026-01-02")
    assert (ran.code, ran.out) == (0, f"0 lines for sft in {file}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sft", "out.jsonl"), "pass --repository OWNER/NAME for each repository"),
        (("sft", "nowhere/out.jsonl", "--repository", REPOSITORY), "there is no directory"),
    ],
)
def test_exports_say_what_is_missing(home: Path, arguments: tuple[str, ...], said: str) -> None:
    """Without a repository, or a place to write to, nothing is written, and one line says what to do."""
    ran = apprentice(home, "export", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_a_model_that_shows_nothing_is_told_and_refused(home: Path) -> None:
    """Training on a handful of verdicts gives models that say why they may not be used, and are not put in force."""
    ran = apprentice(home, "preferences")
    assert "no reward model yet" in ran.out
    ran = apprentice(home, "preferences", "--train", "--json")
    assert ran.code == 0, ran.err
    models = ran.document()["models"]
    assert {model["kind"] for model in models} == {"repair", "review"}
    assert not any(model["active"] for model in models)
    ran = apprentice(home, "preferences", "--activate", models[0]["id"])
    assert ran.code == 2
    assert "may not be used: too little to tell" in ran.err
    assert "too little to tell" in apprentice(home, "preferences").out


def test_learnings_go_out_and_in_and_out_again(home: Path, tmp_path: Path) -> None:
    """What two people taught here is a file that another installation takes over, lists, and takes out."""
    file, there = tmp_path / "learnings.yml", tmp_path / "there"
    ran = apprentice_process(home, "export", "learnings", file, "--repository", REPOSITORY, "--json")
    assert ran.code == 0, ran.err
    assert ran.document() == {"path": str(file), "source": REPOSITORY, "lessons": 1}
    assert "http" in file.read_text(encoding="utf-8")
    once = file.read_text(encoding="utf-8")
    assert apprentice(home, "export", "learnings", file, "--repository", REPOSITORY).code == 0
    assert file.read_text(encoding="utf-8") == once
    assert apprentice(there, "import").out == "nothing was imported\n"
    assert apprentice(there, "import", file, "--json").document() == {"imports": [{"source": REPOSITORY, "lessons": 1}]}
    assert "AssertionError" in apprentice_process(there, "import").out
    assert apprentice(there, "import", "--remove", REPOSITORY).out == "nothing was imported\n"
    ran = apprentice(there, "import", "--remove", REPOSITORY)
    assert (ran.code, "nothing was imported from" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [("version: 1\nsource: a\nlessons: [*x]\n", "line 3: anchors and aliases"), (None, "No such file")],
)
def test_a_file_of_no_use_is_refused(home: Path, tmp_path: Path, text: str | None, said: str) -> None:
    """In one line with the file's name, and nothing is imported; nor is it written over."""
    file = tmp_path / "learnings.yml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
        ran = apprentice(home, "export", "learnings", file, "--repository", REPOSITORY)
        assert (ran.code, file.read_text(encoding="utf-8")) == (2, text)
    ran = apprentice(home, "import", file)
    assert ran.code == 2
    assert said in ran.err
    assert str(file) in ran.err
    assert apprentice(home, "import").out == "nothing was imported\n"
