"""Who gets how much processor time, and when."""

from __future__ import annotations

from collections.abc import Iterator

from memory.model import EditShape
from workers.repair.candidates import Candidate
from workers.repair.ladder import PATIENCE, PLACES, RUNGS, Ladder, Step, cap


def candidate(name: str) -> Candidate:
    return Candidate(
        path="a.py",
        source=name,
        line=1,
        function="",
        template="t",
        strategy="s",
        shape=EditShape(template="t", before="", after=""),
        score=1.0,
    )


def climbed(names: list[str], slow: set[str]) -> list[tuple[str, int]]:
    """The steps that are made when the slow ones never have enough time."""
    ladder = Ladder(candidate(name) for name in names)
    made = []
    for step in ladder:
        made.append((step.candidate.source, step.rung))
        if step.candidate.source in slow:
            ladder.climb(step)
    return made


def test_what_is_quick_is_tried_once_in_order() -> None:
    """Without time-outs the ladder is a queue."""
    assert climbed(["a", "b", "c"], slow=set()) == [("a", 0), ("b", 0), ("c", 0)]


def test_what_is_slow_climbs_after_the_others() -> None:
    """A candidate that times out gets more time once the rest have had their turn, up to the top."""
    top = len(RUNGS) - 1
    assert climbed(["a", "b"], slow={"a"}) == [("a", 0), ("b", 0), *(("a", rung) for rung in range(1, top + 1))]


def test_what_is_slow_does_not_wait_for_the_end_of_a_long_list() -> None:
    """After so many steps below, one is made above."""
    names = ["slow", *(f"quick {number}" for number in range(3 * PATIENCE))]
    assert climbed(names, slow={"slow"})[PATIENCE] == ("slow", 1)


def test_candidates_are_pulled_one_at_a_time() -> None:
    """Nothing is taken from the source before its turn."""
    pulled: list[str] = []

    def source() -> Iterator[Candidate]:
        for name in "ab":
            pulled.append(name)
            yield candidate(name)

    steps = iter(Ladder(source()))
    assert next(steps).candidate.source == "a"
    assert pulled == ["a"]


def test_those_that_still_wait_are_known() -> None:
    """Whoever stops early can tell which candidates never got a verdict."""
    ladder = Ladder([])
    ladder.put(Step(candidate=candidate("late"), rung=1))
    assert [left.source for left in ladder.left()] == ["late"]


def test_the_top_has_no_step_above() -> None:
    """What times out with the most time has timed out."""
    assert not Ladder([]).climb(Step(candidate=candidate("a"), rung=len(RUNGS) - 1))


def test_only_the_first_that_time_out_climb() -> None:
    """Where every edit loops for ever, the later ones are given up at once."""
    names = [str(number) for number in range(PLACES[1] + 3)]
    made = climbed(names, slow=set(names))
    assert [name for name, rung in made if rung == 1] == names[: PLACES[1]]
    assert [name for name, rung in made if rung == 2] == names[: PLACES[2]]


def test_a_cap_is_a_floor_or_a_multiple() -> None:
    """Quick tests get the rung's least, slow ones a multiple of what they usually take."""
    least, times = RUNGS[0]
    assert cap(0, 0.0) == least
    assert cap(0, 100.0) == 100 * times
    assert cap(0, 0.01) < cap(1, 0.01) < cap(2, 0.01)


def test_a_slow_test_climbs_in_small_steps() -> None:
    """Above the first rung no more than the least is added to what a slow test may take."""
    first, slow = cap(0, 3.0), [cap(rung, 3.0) for rung in range(len(RUNGS))]
    assert slow == [first, *(first + least for least, _ in RUNGS[1:])]
