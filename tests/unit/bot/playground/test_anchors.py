"""Lines of a diff, and where comments hang on them."""

from __future__ import annotations

import pytest

from bot.playground.reviews import diff_lines, shift

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


def test_each_line_has_its_number() -> None:
    """Context and added lines are numbered as in the new file, a removed line has no number."""
    seen = [each.number for each in diff_lines(PATCH) if each.hunk == 0]
    assert seen == [1, None, 2, 3, 4, 5]


def test_positions_count_on_through_hunk_headers() -> None:
    """A position counts every line below the first header, later headers included."""
    first, *_rest = [each for each in diff_lines(PATCH) if each.hunk == 1]
    assert (first.position, first.number) == (8, 11)


def test_a_missing_newline_is_no_line() -> None:
    """git's remark on a missing newline gets no number."""
    assert [(each.position, each.number) for each in diff_lines(PATCH)][-1] == (10, 12)


def test_no_patch_has_no_lines() -> None:
    """A binary file's empty patch offers nothing to hang on."""
    assert diff_lines("") == []


@pytest.mark.parametrize(
    ("new", "moved"),
    [
        ("abcdefgh", 0),
        ("abXYZcdefgh", 3),
        ("bXcdefgh", 0),
        ("cdefgh", -2),
        ("abcdefgX", 0),
        ("abcdeXgh", None),
        ("abcdegh", None),
        ("abcdeXfgh", None),
        ("abcdXefgh", 1),
        ("abcdefXgh", 0),
        ("", None),
    ],
)
def test_lines_move_or_are_lost(new: str, moved: int | None) -> None:
    """Changes above move a range, changes below leave it, a change or an insertion inside outdates it."""
    assert shift("abcdefgh", new, 5, 6) == moved
