"""Which lines of two texts are equal, however long they are and however often a line repeats."""

from __future__ import annotations

import difflib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diffs import apply_unified, unified
from workers.line_matching import MAX_COMPARED, LineMatcher, differing_lines
from workers.repair.engines.search.edit_shapes import shape_between

MANY = 20_000
LINES = st.lists(st.sampled_from("abcdefgh"), max_size=40)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["x\n"] * MANY, ["x\n"] * (MANY - 1) + ["y\n"]),
        (["a\n", *["x\n"] * MANY, "b\n"], ["b\n", *["x\n"] * MANY, "a\n"]),
        (["x\n", "y\n"] * (MANY // 2), ["y\n", "z\n", "x\n"] * (MANY // 3)),
        ([f"{at % 200}\n" for at in range(MANY)], [f"{at % 199}\n" for at in range(MANY)]),
        ([f"{at}\n" for at in range(MANY)], [f"{at}\n" for at in reversed(range(MANY))]),
    ],
)
def test_lines_that_repeat_take_no_time(before: list[str], after: list[str]) -> None:
    """A diff of 20,000 lines on each side is made at once, and is right; so is the shape of such an edit."""
    old, new = "".join(before), "".join(after)
    assert apply_unified(old, unified("a.py", old, new)) == new
    shape_between(old, new)


def test_far_edits_of_a_long_text_are_small() -> None:
    """Lines that occur once lead from one edit to the next: a diff shows the edits, and not all between them."""
    before = [f"line {at}\n" if at % 3 else "\n" for at in range(9_000)]
    after = ["first\n", *before[:4_000], *before[4_002:8_999], "last\n"]
    diff = unified("a.py", "".join(before), "".join(after))
    assert diff.count("\n@@ ") == 3
    assert [line for line in diff.splitlines()[4:] if line[0] in "+-"] == [
        "+first",
        "-line 4000",
        "-line 4001",
        "-line 8999" if 8_999 % 3 else "-",
        "+last",
    ]


@given(LINES, LINES, st.integers(0, 2))
def test_the_opcodes_lead_from_one_text_to_the_other(old: list[str], new: list[str], copies: int) -> None:
    """Of few lines they are difflib's; of many they are right as well, and no two equal blocks touch."""
    padding = [str(at) for at in range(copies * MAX_COMPARED)]
    old, new = [*old, *padding, *new], [*new, *padding, *old]
    matcher = LineMatcher(old, new)
    made = [line for kind, a, b, c, d in matcher.get_opcodes() for line in (old[a:b] if kind == "equal" else new[c:d])]
    assert made == new
    blocks = matcher.get_matching_blocks()
    assert all((one.a + one.size, one.b + one.size) != (two.a, two.b) for one, two in pairwise(blocks[:-1]))
    if max(len(old), len(new)) <= MAX_COMPARED:
        assert blocks == difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", {2}),
        ("a\nc\n", "a\nb\nc\n", {2}),
        ("a\nb\nc\n", "a\nc\n", {2}),
        ("", "a\nb\n", {1, 2}),
        ("a\n", "a\n", set()),
        ("x\ny\n" * 600, "y\nx\n" * 600 + "z\n", set(range(1, 1202))),
    ],
)
def test_the_lines_of_a_change(before: str, after: str, lines: set[int]) -> None:
    """New ones, and the one after a place where lines were removed."""
    assert differing_lines(before, after) == lines
