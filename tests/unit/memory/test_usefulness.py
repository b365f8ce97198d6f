from __future__ import annotations

import random
from collections import Counter

import pytest

from memory.usefulness import LEAST_RUNS, LEFT_OUT, LOOKED_AGAIN, WITHHELD, Withheld, uses

PARTS = ("attempts", "skills", "recall")


def runs(given: tuple[int, int], left_out: tuple[int, int], part: str = "skills") -> list[tuple[str, bool]]:
    """Runs with a part and without it, as (how many, how many of them proven)."""
    found = []
    for named, (count, proven) in (("", given), (part, left_out)):
        found += [(named, number < proven) for number in range(count)]
    return found


@pytest.mark.parametrize(
    ("given", "left_out", "dropped"),
    [
        ((100, 60), (100, 60), False),  # nothing is known yet
        ((400, 200), (400, 240), True),  # better without
        ((400, 240), (400, 200), False),  # better with
        ((LEAST_RUNS, 0), (LEAST_RUNS - 1, LEAST_RUNS - 1), False),  # too few
        ((LEAST_RUNS, 5), (LEAST_RUNS, 15), True),
    ],
)
def test_a_part_is_dropped_by_its_ablation(given: tuple[int, int], left_out: tuple[int, int], dropped: bool) -> None:
    """What does not raise the share proven is dropped once enough runs say so, and not before."""
    found = uses(runs(given, left_out), PARTS)
    assert found["skills"].dropped is dropped
    assert not found["attempts"].dropped, "another part, which was always given"


def test_equal_parts_are_dropped_at_last() -> None:
    """A part that changes nothing is not worth its room: with enough runs it goes."""
    assert not uses(runs((200, 100), (200, 100)), PARTS)["skills"].dropped
    assert uses(runs((20_000, 10_000), (20_000, 10_000)), PARTS)["skills"].dropped


def test_one_part_is_left_out_now_and_then() -> None:
    """At most one part of those in use is left out of a run, each as often as the others."""
    rng, withheld = random.Random(1), Withheld(PARTS, frozenset())
    drawn = Counter(str(withheld.drawn(rng)[WITHHELD]) for _ in range(20_000))
    assert set(drawn) == {"", *PARTS}
    assert abs(drawn[""] / 20_000 - (1 - LEFT_OUT)) < 0.01
    assert max(drawn[part] for part in PARTS) < 1.2 * min(drawn[part] for part in PARTS)


def test_what_was_dropped_is_looked_at_again() -> None:
    """A part that was dropped is given in a few runs, so that it can come back."""
    rng, withheld = random.Random(1), Withheld(PARTS, frozenset({"skills"}))
    without = sum("skills" in str(withheld.drawn(rng)[WITHHELD]).split(",") for _ in range(20_000))
    assert abs(without / 20_000 - (1 - LOOKED_AGAIN)) < 0.01
