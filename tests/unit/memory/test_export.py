from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.export import LONGEST, ExportForm, ExportResult, before, export, write_atomically
from memory.model import Actor, Permission, SignalKind, TaskKind
from memory.store import Store
from tests.made_up import REPOSITORY, made_up

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def filled(store: Store) -> Store:
    """Eight repairs: two closed, six merged, each beside another patch that people were shown."""
    made_up(store, BEGIN, repairs=8)
    return store


def written(
    store: Store, form: ExportForm, path: Path, *repositories: str, since: datetime | None = None
) -> tuple[list[dict[str, object]], ExportResult]:
    exported = export(store, form, path, repositories=repositories or [REPOSITORY], clean=str, since=since)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()], exported


def test_sft_holds_what_was_accepted(filled: Store, tmp_path: Path) -> None:
    """Each line is a conversation from a failure and the code to the merged patch, with where it comes from."""
    lines, exported = written(filled, ExportForm.SFT, tmp_path / "out.jsonl")
    assert (len(lines), exported.lines, exported.repositories) == (6, 6, {REPOSITORY: 6})
    line = lines[0]
    assert list(line) == ["prompt", "completion", "provenance"]
    (asked,), (answered,) = line["prompt"], line["completion"]
    assert (asked["role"], answered["role"]) == ("user", "assistant")
    assert "assert 5 == 6" in asked["content"]
    assert " + " in asked["content"], "the code as it is"
    assert " * " in answered["content"]
    assert " * " not in asked["content"], "the answer is not told in the question"
    provenance = line["provenance"]
    assert isinstance(provenance, dict)
    assert list(provenance) == ["repository", "task_id", "decision_id", "made_at", "verdict", "why"]
    assert filled.ledger.decision(provenance["decision_id"]) is not None


def test_dpo_sets_the_accepted_against_the_rejected(filled: Store, tmp_path: Path) -> None:
    """Both answer one prompt: the other patch that people were shown, or one that they closed."""
    lines, _ = written(filled, ExportForm.DPO, tmp_path / "out.jsonl")
    assert len(lines) >= 6
    for line in lines:
        assert list(line) == ["prompt", "chosen", "rejected", "provenance"]
        assert line["chosen"] != line["rejected"]


def test_kto_labels_each(filled: Store, tmp_path: Path) -> None:
    """Merged ones are wanted; closed ones, and those that people were shown and did not take, are not."""
    lines, _ = written(filled, ExportForm.KTO, tmp_path / "out.jsonl")
    labels = [line["label"] for line in lines]
    assert (labels.count(True), labels.count(False)) == (6, 8)


@pytest.mark.parametrize("form", list(ExportForm))
def test_nothing_leaves_a_repository_that_was_not_named(filled: Store, form: ExportForm, tmp_path: Path) -> None:
    """Another name gives an empty file."""
    assert written(filled, form, tmp_path / "out.jsonl", "other/one")[0] == []


def test_since_leaves_older_decisions_out(filled: Store, tmp_path: Path) -> None:
    """From the fifth hour on there are the last three repairs, the first of them closed."""
    lines, _ = written(filled, ExportForm.SFT, tmp_path / "out.jsonl", since=BEGIN + timedelta(hours=5))
    assert len(lines) == 3


def test_what_is_taken_back_is_not_exported(filled: Store, tmp_path: Path) -> None:
    """A merge that was undone is no accepted trajectory any more; an outsider's word never was one."""

    from tests.unit.memory.test_learner import Learner  # the learner that every test uses

    learner = Learner(filled, random.Random(1), lambda: BEGIN, control_share=0.0)
    decision = filled.ledger.with_feedback(TaskKind.REPAIR)[0]
    (merged,) = filled.ledger.live_signals([decision.id])
    learner.retract(decision.id, SignalKind.FIX_MERGED, merged.source)
    learner.record_signal(decision.id, SignalKind.FIX_MERGED, Actor(id=9, login="x"), Permission.READ, "pull:x")
    assert len(written(filled, ExportForm.SFT, tmp_path / "out.jsonl")[0]) == 5


def test_credentials_do_not_leave(filled: Store, tmp_path: Path) -> None:
    """Every text passes the cleaner that is given, in questions and in answers."""
    path = tmp_path / "out.jsonl"
    export(filled, ExportForm.KTO, path, repositories=[REPOSITORY], clean=lambda text: text.replace("return", "[gone]"))
    assert "[gone]" in path.read_text(encoding="utf-8")
    assert "return" not in path.read_text(encoding="utf-8")


def test_half_characters_of_test_output_do_not_break_the_file(filled: Store, tmp_path: Path) -> None:
    """A lone surrogate, which no UTF-8 file can hold, is replaced."""
    path = tmp_path / "out.jsonl"
    export(filled, ExportForm.SFT, path, repositories=[REPOSITORY], clean=lambda text: text + "\ud800")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6


def test_what_is_too_long_is_left_out_and_counted(filled: Store, tmp_path: Path) -> None:
    """Nothing is cut in the middle."""
    path = tmp_path / "out.jsonl"
    exported = export(filled, ExportForm.SFT, path, repositories=[REPOSITORY], clean=lambda text: text + "x" * LONGEST)
    assert (exported.lines, exported.left_out) == (0, 14)


def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """What stood there is replaced at the end or not at all, and nothing is left beside it."""
    path = tmp_path / "out.jsonl"
    path.write_text("old\n", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new\n\ud800\n")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith((".", "out"))] == ["out.jsonl"]
    assert path.read_text(encoding="utf-8") == "old\n"


def test_the_code_before_a_patch_is_what_it_stands_on() -> None:
    """Kept and removed lines, without the diff's own signs."""
    assert (
        before("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n")
        == "def f():\n    return 1"
    )
