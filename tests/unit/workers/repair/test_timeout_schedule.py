"""Who gets how much processor time, and when."""

from __future__ import annotations

from collections.abc import Iterator

from memory.model import EditShape
from workers.repair.candidates import Candidate
from workers.repair.running.candidate_runner import CAPS, PATIENCE, PLACES, ScheduledCandidate, TimeoutSchedule, cap


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


def scheduled(names: list[str], slow: set[str]) -> list[tuple[str, int]]:
    """The steps that are made when the slow ones never have enough time."""
    schedule = TimeoutSchedule(candidate(name) for name in names)
    made = []
    for step in iter(schedule.next, None):
        made.append((step.candidate.source, step.level))
        if step.candidate.source in slow:
            schedule.retry_later(step)
    return made


def test_what_is_quick_is_tried_once_in_order() -> None:
    """Without time-outs the schedule is a queue."""
    assert scheduled(["a", "b", "c"], slow=set()) == [("a", 0), ("b", 0), ("c", 0)]


def test_what_is_slow_climbs_after_the_others() -> None:
    """A candidate that times out gets more time once the rest have had their turn, up to the top."""
    top = len(CAPS) - 1
    assert scheduled(["a", "b"], slow={"a"}) == [("a", 0), ("b", 0), *(("a", level) for level in range(1, top + 1))]


def test_what_is_slow_does_not_wait_for_the_end_of_a_long_list() -> None:
    """After so many steps below, one is made above."""
    names = ["slow", *(f"quick {number}" for number in range(3 * PATIENCE))]
    assert scheduled(names, slow={"slow"})[PATIENCE] == ("slow", 1)


def test_candidates_are_pulled_one_at_a_time() -> None:
    """Nothing is taken from the source before its turn."""
    pulled: list[str] = []

    def source() -> Iterator[Candidate]:
        for name in "ab":
            pulled.append(name)
            yield candidate(name)

    step = TimeoutSchedule(source()).next()
    assert step is not None
    assert step.candidate.source == "a"
    assert pulled == ["a"]


def test_those_that_still_wait_are_known() -> None:
    """A search that stops early knows which candidates never got a verdict."""
    schedule = TimeoutSchedule([])
    schedule.put(ScheduledCandidate(candidate=candidate("late"), level=1))
    assert [left.source for left in schedule.left()] == ["late"]


def test_the_top_has_no_step_above() -> None:
    """What times out with the most time has timed out."""
    assert not TimeoutSchedule([]).retry_later(ScheduledCandidate(candidate=candidate("a"), level=len(CAPS) - 1))


def test_only_the_first_that_time_out_climb() -> None:
    """Where every edit loops for ever, the later ones are given up at once."""
    names = [str(number) for number in range(PLACES[1] + 3)]
    made = scheduled(names, slow=set(names))
    assert [name for name, level in made if level == 1] == names[: PLACES[1]]
    assert [name for name, level in made if level == 2] == names[: PLACES[2]]


def test_a_cap_is_a_floor_or_a_multiple() -> None:
    """Quick tests get the level's least, slow ones a multiple of what they usually take."""
    least, times = CAPS[0]
    assert cap(0, 0.0) == least
    assert cap(0, 100.0) == 100 * times
    assert cap(0, 0.01) < cap(1, 0.01) < cap(2, 0.01)


def test_a_slow_test_climbs_in_small_steps() -> None:
    """Above the first level no more than the least is added to what a slow test may take."""
    first, slow = cap(0, 3.0), [cap(level, 3.0) for level in range(len(CAPS))]
    assert slow == [first, *(first + least for least, _ in CAPS[1:])]
