"""How findings end, told from the lines that were changed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from memory.model import Fate
from workers.diffs import Hunk
from workers.history.outcomes import ending
from workers.review.source import scopes

LINE = "value = compute(first)"


@dataclass(frozen=True)
class Was:
    rule: str = "F841"
    lines: tuple[str, ...] = (LINE,)
    scope: str = ""
    fixed: str | None = None
    removed: bool = False


def end(was: Was, after: str, *, touched: bool = True) -> Fate:
    lines = after.splitlines()
    hunk = Hunk(old_start=1, old_count=1, new_start=1, new_count=len(lines), lines=tuple(f"+{line}" for line in lines))
    return ending(was, [hunk] if touched else [], after, scopes(after))


@pytest.mark.parametrize(
    ("was", "after", "fate"),
    [
        (Was(fixed="compute(first)\n"), "compute(first)\n", Fate.APPLIED),
        (Was(), "value = compute(second)\n", Fate.FIXED),
        (Was(), f"{LINE}  # noqa: F841\n", Fate.SILENCED),
        (Was(), "value = compute(second)\nother = f(x)  # type: ignore\n", Fate.FIXED),
        (Was(lines=(f"{LINE}  # noqa: E501",)), "value = compute(second)  # noqa: E501\n", Fate.FIXED),
        (Was(), "raise NotImplementedError\n", Fate.REWRITTEN),
        (Was(removed=True), "raise NotImplementedError\n", Fate.FIXED),
        (Was(scope="f"), "value = compute(second)\n", Fate.GONE),
        (Was(lines=()), "value = 1\n", Fate.REWRITTEN),
    ],
)
def test_ends_on_its_own_lines(was: Was, after: str, fate: Fate) -> None:
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
    assert end(Was(), after, touched=False) is fate
