"""Lines of a diff, and where comments hang on them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.playground.reviews import diff_lines, shifted

PATCH = """@@ -1,4 +1,5 @@
 one
-two
+2
+zwei
 three
 four
@@ -10,3 +11,2 @@ def later():
 ten
-eleven
 twelve
\\ No newline at end of file"""


def test_each_line_has_its_numbers_on_both_sides() -> None:
    """Context has two numbers, an added line only a right one, a removed line only a left one."""
    seen = [(each.left, each.right, each.text) for each in diff_lines(PATCH) if each.hunk == 0]
    assert seen == [
        (1, 1, " one"),
        (2, None, "-two"),
        (None, 2, "+2"),
        (None, 3, "+zwei"),
        (3, 4, " three"),
        (4, 5, " four"),
    ]


def test_positions_count_on_through_hunk_headers() -> None:
    """A position counts every line below the first header, later headers included."""
    first, *_rest = [each for each in diff_lines(PATCH) if each.hunk == 1]
    assert (first.text, first.position, first.left, first.right) == (" ten", 8, 10, 11)


def test_a_missing_newline_is_no_line() -> None:
    """git's remark on a missing newline gets no number."""
    assert [each.text for each in diff_lines(PATCH)][-1] == " twelve"


def test_no_patch_has_no_lines() -> None:
    """A binary file's empty patch offers nothing to hang on."""
    assert diff_lines("") == []


@pytest.mark.parametrize(
    ("shifts", "first", "last", "moved"),
    [
        ([], 5, 6, 0),
        ([(1, 2, 3)], 5, 6, 3),
        ([(1, 2, -1), (3, 1, 4)], 5, 6, 3),
        ([(8, 1, 1)], 5, 6, 0),
        ([(6, 1, 0)], 5, 6, None),
        ([(4, 2, 0)], 5, 6, None),
        ([(5, 0, 1)], 5, 6, 1),
        ([(6, 0, 1)], 5, 6, None),
        ([(7, 0, 1)], 5, 6, 0),
    ],
)
def test_lines_move_or_are_lost(
    shifts: Sequence[tuple[int, int, int]], first: int, last: int, moved: int | None
) -> None:
    """Changes above move a range, changes below leave it, a change or an insertion inside outdates it."""
    assert shifted(shifts, first, last) == moved
