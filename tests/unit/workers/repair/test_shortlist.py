"""From verdicts to what is worth a proof."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from memory.model import EditShape, Failure, Family
from workers.repair.attempt import MAX_PLAUSIBLE, RIVALS, THOROUGH, AttemptTally, Shortlist, shortlist
from workers.repair.candidates import Candidate, ScreenVerdict, Suspect
from workers.repair.engines.search.search import SearchSpace
from workers.repair.time_allowance import Deadline

FAILURE = Failure(
    error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=("t.py::a", "t.py::b")
)


def candidate(source: str, score: float = 1.0) -> Candidate:
    shape = EditShape(template="t", before="", after="")
    return Candidate(
        path="a.py", source=source, line=1, function="", template="t", strategy="s", shape=shape, score=score
    )


def verdict(
    source: str, *, plausible: bool = False, passed: int = 0, error_type: str = "AssertionError"
) -> ScreenVerdict:
    return ScreenVerdict(candidate=candidate(source), plausible=plausible, passed=passed, error_type=error_type)


def listed(verdicts: list[ScreenVerdict], deadline: Deadline) -> tuple[Shortlist, AttemptTally]:
    tally = AttemptTally(failure=FAILURE)
    found = shortlist(candidate("one"), iter(verdicts), tally, deadline)
    return found, tally


def test_a_plausible_candidate_comes_with_its_rivals() -> None:
    """A limited number of further candidates is screened before anything is proven; that is a thorough search."""
    verdicts = [verdict("two", plausible=True), *(verdict(f"wrong {n}") for n in range(RIVALS))]
    found, tally = listed([*verdicts, verdict("three", plausible=True)], Deadline(math.inf))
    assert [c.source for c in found.candidates] == ["one", "two"]
    assert found.thorough
    assert (tally.candidates, tally.rivals, tally.plausible) == (0, RIVALS, 1)


def test_the_search_for_rivals_ends_when_there_are_many() -> None:
    """No more than a limited number of plausible candidates is compared."""
    verdicts = [verdict(f"right {n}", plausible=True) for n in range(RIVALS)]
    assert len(listed(verdicts, Deadline(math.inf))[0].candidates) == MAX_PLAUSIBLE


@pytest.mark.parametrize(("screened", "thorough"), [(THOROUGH - 1, False), (THOROUGH, True)])
def test_a_search_that_time_cut_short_is_not_thorough(screened: int, thorough: bool) -> None:
    """Unless it had come far enough for the absence of rivals to mean something."""
    started = time.monotonic()

    def slow() -> Iterator[ScreenVerdict]:
        yield from (verdict(f"wrong {n}") for n in range(screened - 1))
        deadline.expired = True
        yield verdict("the last one")

    deadline = Deadline(started + 3600)
    assert shortlist(candidate("one"), slow(), AttemptTally(failure=FAILURE), deadline).thorough is thorough


def test_a_search_that_came_to_its_end_is_thorough() -> None:
    """Where few edits are possible, all of them were tried."""
    assert listed([verdict("wrong")], Deadline(math.inf))[0].thorough


def test_the_nearest_repairs_most_then_moves_the_failure() -> None:
    """More tests repaired is nearer, then another error; a crash, a time-out or a syntax error tells nothing."""
    tally = AttemptTally(failure=FAILURE)
    for tried in (
        verdict("stays"),
        verdict("crash", error_type="Crash"),
        verdict("moves", error_type="KeyError"),
        verdict("moves later", error_type="TypeError"),
    ):
        tally.add(tried)
    assert tally.nearest is not None
    assert (tally.nearest.candidate.source, tally.nearest.error_type) == ("moves", "KeyError")
    assert tally.moved()
    tally.add(verdict("half", passed=1))
    assert tally.nearest.candidate.source == "half"
    assert not tally.moved()


def test_nothing_is_near_when_every_candidate_leaves_the_failure_as_it_was() -> None:
    """A candidate that changes nothing is not shown as the one that came closest."""
    tally = AttemptTally(failure=FAILURE)
    tally.add(verdict("stays"))
    tally.add(verdict("crash", error_type="Crash"))
    assert tally.shown() is None
    assert not tally.moved()


def test_a_deadline_remembers_that_it_expired() -> None:
    """Whether time ran out is known afterwards."""
    deadline = Deadline(-math.inf)
    assert not deadline.expired
    assert deadline()
    assert deadline.expired


def test_rivals_of_an_edit_are_in_its_line_and_in_the_condition_that_decides_whether_it_runs() -> None:
    """In turn, however many edits the line has; the innermost condition of its function, and the rest of it later."""
    source = (
        "def found(datum, wanted):\n"
        "    if wanted:\n"
        "        if not datum.value:\n"
        "            return []\n"
        "    return [datum.value]\n"
    )
    edited = replace(candidate(source), line=4, function="found")
    suspected = [Suspect(path="a.py", line=line, score=1 / line) for line in range(2, 6)]
    first = list(islice(SearchSpace(sources={"a.py": source}, suspects=suspected, failure=FAILURE).rivals(edited), 10))
    assert [each.line for each in first] == [4, 3] * 5
    assert any("if datum.value is None:" in each.source for each in first)


def test_what_the_template_of_an_edit_makes_of_its_line_comes_first_too() -> None:
    """Half of a sum and its floor pass the same tests of integers, however many other edits the line has."""
    source = "def middle(low: float, high: float):\n    total = low + high\n    return total\n"
    edited = replace(candidate(source), line=2, function="middle", template="missing_statement", strategy="statements")
    found = SearchSpace(
        sources={"a.py": source}, suspects=[Suspect(path="a.py", line=2, score=1.0)], failure=FAILURE
    ).rivals(edited)
    first = [each.source for each in islice(found, 60)]
    assert any("    total //= 2" in each for each in first)
    assert any("    total /= 2" in each for each in first)
