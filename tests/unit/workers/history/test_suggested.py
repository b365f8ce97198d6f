"""What was suggested in reviews and merged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.model import Actor
from workers.history.suggested import PLACES, merged
from workers.ports import Remark

REMARK = Remark(
    id=1,
    author=Actor(id=7, login="maya"),
    insider=True,
    path="a.py",
    sha="c0ffee" + "0" * 34,
    hunk="@@ -1,2 +1,3 @@\n x = 1\n-y = 3\n+y = old(2)",
    lines=1,
    body="Rather:\r\n```suggestion\r\ny = new(2)\r\n```\r\nas elsewhere",
)


def test_a_merged_suggestion_is_a_replacement() -> None:
    """Of the commit that it was said of, known at the tip."""
    (only,) = merged([REMARK], 9, {"a.py": "x = 1\nif x:\n    y = new(2)\n"}.get)
    assert (only.before, only.after, only.path, only.sha, only.position, only.places) == (
        "old", "new", "a.py", REMARK.sha, 9, PLACES,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("remark", "text"),
    [
        (REMARK, "x = 1\ny = old(2)\n"),
        (REMARK, "x = 1\n"),
        (REMARK, "y = new(2)\ny = old(2)\n"),
        (REMARK, None),
        (replace(REMARK, author=Actor(id=8, login="apprentice[bot]", is_bot=True)), "y = new(2)\n"),
        (replace(REMARK, insider=False), "y = new(2)\n"),
        (replace(REMARK, body="y = new(2)"), "y = new(2)\n"),
        (replace(REMARK, lines=0), "y = new(2)\n"),
        (replace(REMARK, lines=9), "y = new(2)\n"),
        (replace(REMARK, hunk=""), "y = new(2)\n"),
        (replace(REMARK, path="a.md"), "y = new(2)\n"),
        (replace(REMARK, body="```suggestion\ny = new(2)\nz = 1\n```"), "y = new(2)\nz = 1\n"),
    ],
)
def test_what_was_not_merged_or_is_no_such_thing(remark: Remark, text: str | None) -> None:
    """Not taken up, gone again, in place of one of several, a bot's, an outsider's, no suggestion, broken, not Python, of other lines."""
    assert list(merged([remark], 9, {remark.path: text}.get)) == []
