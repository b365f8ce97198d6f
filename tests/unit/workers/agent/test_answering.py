"""What a question gets for an answer, and what is none."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.unit.workers.agent.scripted import Scripted, said
from workers.agent.answering import ModelAnswer, answer
from workers.agent.checkout import Checkout
from workers.agent.loop import MAX_SILENT
from workers.llm.messages import FinishReason, ModelReply


def answered(tmp_path: Path, *replies: ModelReply) -> ModelAnswer:
    (tmp_path / "a.py").write_text("x = 1\n")
    return answer(Scripted(replies), Checkout(tmp_path), "Why?", deadline=math.inf)


def test_an_answer_names_its_places(tmp_path: Path) -> None:
    """By the tool for it, or in words alone; only places that exist are cited."""
    call = ("reply", '{"text": "x is 1.", "cites": ["a.py:1", "b.py:1"]}')
    assert answered(tmp_path, said("", call)) == ModelAnswer(text="x is 1.", cites=("a.py:1",))
    words = [said(" x is 1, see b.py:1.\n")] * (MAX_SILENT + 1)
    assert answered(tmp_path, *words) == ModelAnswer(text="x is 1, see b.py:1 (not there).")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (said(""), "called no tool"),
        (said(" \n"), "called no tool"),
        (said("The function returns", finish=FinishReason.LENGTH), "reached the limit of a reply's length"),
        (said("", ("reply", '{"text": " ", "cites": []}')), "did the same again and again"),
    ],
)
def test_what_is_no_answer(tmp_path: Path, reply: ModelReply, why: str) -> None:
    """Nothing but space, or the beginning of a text, is not posted; the reason is."""
    found = answered(tmp_path, *[reply] * 3)
    assert found.text == ""
    assert found.why.startswith(why)
