"""Whether a suggestion was taken up, told from the code alone."""

from __future__ import annotations

import pytest

from memory.model import Suggestion
from workers.history.outcomes import was_applied
from workers.review.suggestions import applied

BEFORE = "import os\n\n\ndef a():\n    x = 1\n    return x == None\n\n\ndef b():\n    return 2\n"


def suggestion(start: int, end: int, replacement: str) -> Suggestion:
    return Suggestion(start_line=start, end_line=end, replacement=replacement, proof=None)


IS_NONE = suggestion(6, 6, "    return x is None\n")
NO_IMPORT = suggestion(1, 1, "")


@pytest.mark.parametrize(
    ("suggested", "after"),
    [
        (IS_NONE, BEFORE.replace("== None", "is None")),
        (IS_NONE, BEFORE.replace("== None", "is None").replace("import os\n", "")),
        (IS_NONE, BEFORE.replace("== None", "is None").replace("return 2", "return 3")),
        (IS_NONE, BEFORE.replace("== None", "is None").replace("\n", "\r\n")),
        (NO_IMPORT, BEFORE.removeprefix("import os\n")),
        (NO_IMPORT, BEFORE.removeprefix("import os\n").replace("== None", "is None")),
    ],
    ids=["alone", "moved", "with another edit", "other line ends", "deletion", "deletion with another edit"],
)
def test_applied(suggested: Suggestion, after: str) -> None:
    """A suggestion is recognised wherever its lines have moved and whatever else was pushed with it."""
    assert was_applied(suggested, BEFORE, after)


NO_CONSTANT = suggestion(4, 5, "def a(x=1):\n    # the default\n    y = x\n")
TWO_LINES = suggestion(7, 8, "    # nothing else\n\n\n\n")


@pytest.mark.parametrize(
    "batch", [[IS_NONE, NO_CONSTANT], [TWO_LINES, IS_NONE], [TWO_LINES, IS_NONE, NO_IMPORT, NO_CONSTANT]]
)
def test_applied_in_a_batch(batch: list[Suggestion]) -> None:
    """Of suggestions for lines beside each other that one commit applies each is recognised, and one that it leaves is not."""
    after = BEFORE
    for each in sorted(batch, key=lambda each: each.start_line, reverse=True):
        after = applied(each, after)
    every = [IS_NONE, NO_CONSTANT, TWO_LINES, NO_IMPORT]
    assert [was_applied(each, BEFORE, after, every) for each in every] == [each in batch for each in every]


@pytest.mark.parametrize(
    ("suggested", "after"),
    [
        (IS_NONE, BEFORE),
        (IS_NONE, BEFORE.replace("x == None", "not x")),
        (IS_NONE, BEFORE.replace("return 2", "return 3")),
        (IS_NONE, ""),
        (NO_IMPORT, BEFORE),
        (NO_IMPORT, BEFORE.replace("import os", "import sys")),
        (NO_IMPORT, ""),
    ],
    ids=["nothing", "otherwise", "elsewhere", "all gone", "kept", "replaced", "all gone too"],
)
def test_not_applied(suggested: Suggestion, after: str) -> None:
    """A line that was mended otherwise, or went with its surroundings, is no applied suggestion."""
    assert not was_applied(suggested, BEFORE, after)
