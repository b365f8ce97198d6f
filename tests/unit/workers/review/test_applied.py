"""Whether a suggestion was taken up, told from the code alone."""

from __future__ import annotations

import pytest

from memory.model import Suggestion
from workers.history.outcomes import was_applied

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
