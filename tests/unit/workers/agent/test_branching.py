from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import Proof, SuiteCount
from tests.unit.workers.agent.scripted import Scripted, said
from workers.agent.checkout import Checkout
from workers.agent.tree_search import EXPANSIONS, TreeSearch
from workers.llm.messages import ModelReply
from workers.repair.judging.prove import PatchEvaluation, Prover
from workers.sandbox.report import TestReport

COUNT = SuiteCount(passed=2, failed=0, skipped=0, collected=2)
PROOF = Proof(failed_before=("t::a",), passed_after=("t::a",), before=COUNT, suite=COUNT, repeats=2, command="pytest")
SOURCE = "x = 0\ny = 0\n"


class Judging(Prover):
    """Judges a text by how many of its lines are right; each look takes a second."""

    def __init__(self) -> None:
        self.failing = ("t::a", "t::b")
        self.seconds = 0.0
        self.looked: list[str] = []

    def screen(self, overlay: Mapping[str, bytes | None]) -> PatchEvaluation:
        text = (overlay["a.py"] or b"").decode()
        self.seconds += 1.0
        self.looked.append(text)
        passed = ("x = 1" in text) + ("y = 1" in text)
        report = TestReport(results=(), started=True, complete=True, exit_code=1)
        return PatchEvaluation(report=report, passed=passed, objection="" if passed == 2 else "not yet")

    def evaluate(self, edits: Mapping[str, str]) -> PatchEvaluation:
        return replace(self.screen({path: text.encode() for path, text in edits.items()}), proof=PROOF)


def proposed(*edits: tuple[str, str]) -> ModelReply:
    """A reply with one repair for each (old, new)."""
    repairs = [{"why": new, "edits": [{"path": "a.py", "old": old, "new": new}]} for old, new in edits]
    return said(json.dumps({"repairs": repairs}))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "a.py").write_text(SOURCE)
    return Checkout(tmp_path)


def tree(checkout: Checkout, *replies: ModelReply, deadline: float = 1_000.0) -> tuple[TreeSearch, Judging, Scripted]:
    judging, model = Judging(), Scripted(replies)
    made = TreeSearch(
        model=model,
        opening=(),
        checkout=checkout,
        prover=judging,
        deadline=deadline,
        most_files=3,
        clock=lambda: judging.seconds,
    )
    return made, judging, model


def test_the_nearest_is_built_upon(checkout: Checkout) -> None:
    """Of what was tried, the repair that passes most is the one whose result the model is asked to improve."""
    first = proposed(("x = 0", "x = 2"), ("x = 0", "x = 1"), ("y = 0", "y = 3"))
    made, _, model = tree(checkout, first, proposed(("x = 0\ny = 0", "x = 1\ny = 1")))
    found = made.search()
    assert found is not None
    assert found.edits == {"a.py": "x = 1\ny = 1\n"}
    assert "+x = 1" in model.asked[1].messages[-1].text


def test_nothing_is_tried_twice(checkout: Checkout) -> None:
    """The same edit, or one that does not fit, costs no test."""
    same = proposed(("x = 0", "x = 2"), ("x = 0", "x = 2"), ("z = 0", "z = 1"), ("= 0", "= 1"))
    made, judging, _ = tree(checkout, *[same] * EXPANSIONS)
    made.search()
    assert judging.looked == ["x = 2\ny = 0\n"]


def test_nothing_is_begun_after_the_deadline(checkout: Checkout) -> None:
    """However many repairs one answer proposes, none is tried once time is up."""
    many = proposed(*(("x = 0", f"x = {number}") for number in range(2, 10)))
    made, judging, model = tree(checkout, many, many, deadline=3.0)
    assert made.search() is not None
    assert (len(judging.looked), len(model.asked)) == (3, 1)
