"""How findings end, by the lines that were changed."""

from __future__ import annotations

import pytest

from memory.model import Fate
from workers.diffs import Hunk
from workers.history.outcomes import EndedFinding, ending
from workers.review.source import scopes

LINE = "value = compute(first)"


def finding(
    *, lines: tuple[str, ...] = (LINE,), scope: str = "", fixed: str | None = None, removed: bool = False
) -> EndedFinding:
    return EndedFinding(rule="F841", lines=lines, scope=scope, fixed=lambda: fixed, removed=removed)


def end(was: EndedFinding, after: str, *, touched: bool = True) -> Fate:
    lines = after.splitlines()
    hunk = Hunk(old_start=1, old_count=1, new_start=1, new_count=len(lines), lines=tuple(f"+{line}" for line in lines))
    return ending(was, [hunk] if touched else [], after, scopes(after))


@pytest.mark.parametrize(
    ("was", "after", "fate"),
    [
        (finding(fixed="compute(first)\n"), "compute(first)\n", Fate.APPLIED),
        (finding(), "value = compute(second)\n", Fate.FIXED),
        (finding(), f"{LINE}  # noqa: F841\n", Fate.SILENCED),
        (finding(), "value = compute(second)\nother = f(x)  # type: ignore\n", Fate.FIXED),
        (finding(lines=(f"{LINE}  # noqa: E501",)), "value = compute(second)  # noqa: E501\n", Fate.FIXED),
        (finding(), "raise NotImplementedError\n", Fate.REWRITTEN),
        (finding(removed=True), "raise NotImplementedError\n", Fate.FIXED),
        (finding(scope="f"), "value = compute(second)\n", Fate.GONE),
        (finding(lines=()), "value = 1\n", Fate.REWRITTEN),
    ],
)
def test_ends_on_its_own_lines(was: EndedFinding, after: str, fate: Fate) -> None:
    """A comment silences on the line that took the finding's place, and on no other."""
    assert end(was, after) is fate


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        ("x = 1\n", Fate.INDIRECT),
        ("# ruff: noqa\nx = 1\n", Fate.SILENCED),
        ("# ruff: noqa: F841\nx = 1\n", Fate.SILENCED),
        ("# ruff: noqa: F\nx = 1\n", Fate.SILENCED),
        ("# ruff: noqa: E501\nx = 1\n", Fate.INDIRECT),
        ("\n" * 20_000, Fate.INDIRECT),
    ],
)
def test_ends_by_a_change_elsewhere(after: str, fate: Fate) -> None:
    """A comment for the whole file silences the rules that it names, or all of them."""
    assert end(finding(), after, touched=False) is fate
