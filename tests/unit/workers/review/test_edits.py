from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diffs import split_lines
from workers.review.detectors.detector import FixEdit, ToolFix
from workers.review.suggestions import MAX_LINES, applied, apply_edits, suggestion_for

TEXT = "import os\nx = 1\ny = 2\n"
ANYWHERE = frozenset(range(1, 100))


def edit(line: int, column: int, end_line: int, end_column: int, content: str) -> FixEdit:
    return FixEdit(line=line, column=column, end_line=end_line, end_column=end_column, content=content)


def fix(*edits: FixEdit) -> ToolFix:
    return ToolFix(edits=edits, safe=True)


DELETE_IMPORT = edit(1, 1, 2, 1, "")


def test_a_deleted_line_is_an_empty_replacement() -> None:
    """To delete lines is to replace them by nothing."""
    suggestion = suggestion_for(fix(DELETE_IMPORT), TEXT, ANYWHERE)
    assert suggestion is not None
    assert (suggestion.start_line, suggestion.end_line, suggestion.replacement) == (1, 1, "")


def test_an_insertion_takes_a_neighbouring_line_along() -> None:
    """A suggestion must replace something: the line before where it was changed, else the line after."""
    insert = fix(edit(2, 1, 2, 1, "z = 0\n"))
    after_import = suggestion_for(insert, TEXT, frozenset({1}))
    before_x = suggestion_for(insert, TEXT, frozenset({2}))
    assert after_import is not None
    assert before_x is not None
    assert (after_import.start_line, after_import.replacement) == (1, "import os\nz = 0\n")
    assert (before_x.start_line, before_x.replacement) == (2, "z = 0\nx = 1\n")


def test_several_edits_become_one_block() -> None:
    """From the first to the last changed line, with what lies between."""
    suggestion = suggestion_for(fix(edit(3, 5, 3, 6, "3"), edit(1, 8, 1, 10, "re")), TEXT, ANYWHERE)
    assert suggestion is not None
    assert (suggestion.start_line, suggestion.end_line) == (1, 3)
    assert suggestion.replacement == "import re\nx = 1\ny = 3\n"


@pytest.mark.parametrize("changed", [frozenset(), frozenset({2, 3})])
def test_a_fix_beyond_the_changed_lines_is_no_suggestion(changed: frozenset[int]) -> None:
    """What the author did not touch is not ours to rewrite."""
    assert suggestion_for(fix(DELETE_IMPORT), TEXT, changed) is None


def test_a_very_long_fix_is_no_suggestion() -> None:
    """Nobody reads a suggestion of more than the stated number of lines."""
    text = "x = 1\n" * (MAX_LINES + 1)
    rewrite = fix(edit(1, 1, MAX_LINES + 2, 1, "y = 1\n" * (MAX_LINES + 1)))
    assert suggestion_for(rewrite, text, ANYWHERE) is None


@pytest.mark.parametrize(
    "edits",
    [
        (edit(2, 1, 2, 4, "a"), edit(2, 2, 2, 5, "b")),
        (edit(9, 1, 9, 2, "a"),),
        (edit(3, 4, 3, 2, "a"),),
    ],
)
def test_edits_that_make_no_sense_are_refused(edits: tuple[FixEdit, ...]) -> None:
    """Overlapping, misplaced and backward edits give nothing rather than something wrong."""
    assert apply_edits(TEXT, edits) is None


def test_a_fix_that_changes_nothing_is_no_suggestion() -> None:
    """An edit to the same text is not said."""
    assert suggestion_for(fix(edit(2, 1, 2, 2, "x")), TEXT, ANYWHERE) is None


def test_columns_count_characters_and_not_the_byte_order_mark() -> None:
    """ruff's columns are code points after the mark; a suggestion that would have to carry the mark is none."""
    assert apply_edits('x = "é😀"; y = f"a"\n', (edit(1, 15, 1, 16, ""),)) == 'x = "é😀"; y = "a"\n'
    assert apply_edits('\ufeffx = f"hi"\n', (edit(1, 5, 1, 10, '"hi"'),)) == '\ufeffx = "hi"\n'
    assert suggestion_for(fix(edit(1, 5, 1, 10, '"hi"')), '\ufeffx = f"hi"\n', ANYWHERE) is None


def test_line_ends_of_the_file_are_kept() -> None:
    """The replacement has line feeds; applied, it has the file's ends, and no newline where there was none."""
    text = "import os\r\nx = 1\r\ny = 2"
    suggestion = suggestion_for(fix(edit(2, 5, 3, 6, "3\r\ny = 4")), text, ANYWHERE)
    assert suggestion is not None
    assert suggestion.replacement == "x = 3\ny = 4\n"
    assert applied(suggestion, text) == "import os\r\nx = 3\r\ny = 4"


LINES = st.lists(st.sampled_from(["a = 1\n", "b = 2\n", "\n", "c = 3\r\n"]), min_size=1, max_size=8).map("".join)


@given(LINES, st.sampled_from(["", "end"]), st.data())
def test_an_applied_suggestion_is_the_edit(lines: str, end: str, data: st.DataObject) -> None:
    """Whatever the edit: a suggestion, applied as GitHub applies it, gives exactly the text that the edit gives."""
    text = lines + end
    last = len(split_lines(text))
    line = data.draw(st.integers(1, last))
    end_line = data.draw(st.integers(line, last))
    change = fix(edit(line, 1, end_line, 1, data.draw(st.sampled_from(["", "n = 1\n", "n = 1\nm = 2\n"]))))
    suggestion = suggestion_for(change, text, ANYWHERE)
    if suggestion is not None:
        assert applied(suggestion, text) == apply_edits(text, change.edits)
        assert 1 <= suggestion.start_line <= suggestion.end_line <= last
