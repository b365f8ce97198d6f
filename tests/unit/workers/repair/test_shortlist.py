"""From verdicts to what is worth a proof."""

from __future__ import annotations

import math

import pytest

from memory.model import EditShape, Failure, Family
from workers.repair.candidates import Candidate, Verdict
from workers.repair.shortlist import CLOSE_BEHIND, Clock, Tally, changed_characters, ranked, shortlists

FAILURE = Failure(
    error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=("t.py::a", "t.py::b")
)


def candidate(source: str, score: float = 1.0) -> Candidate:
    shape = EditShape(template="t", before="", after="")
    return Candidate(
        path="a.py", source=source, line=1, function="", template="t", strategy="s", shape=shape, score=score
    )


def verdict(source: str, *, plausible: bool = False, passed: int = 0, error_type: str = "AssertionError") -> Verdict:
    return Verdict(candidate=candidate(source), plausible=plausible, passed=passed, error_type=error_type)


def test_a_plausible_candidate_comes_with_those_close_behind() -> None:
    """A limited number of further candidates is screened before anything is proven; then the search goes on."""
    wrong = [verdict(f"wrong {number}") for number in range(CLOSE_BEHIND)]
    verdicts = [verdict("no"), verdict("one", plausible=True), verdict("two", plausible=True), *wrong]
    verdicts.append(verdict("three", plausible=True))
    tally = Tally(failure=FAILURE)
    lists = [[c.source for c in found] for found in shortlists(iter(verdicts), tally, Clock(math.inf))]
    assert lists == [["one", "two"], ["three"]]
    assert (tally.candidates, tally.plausible) == (CLOSE_BEHIND + 4, 3)


def test_nothing_more_is_screened_when_time_is_up() -> None:
    """Past the deadline one plausible candidate is enough."""
    verdicts = [verdict("one", plausible=True), verdict("two"), verdict("three", plausible=True)]
    first = next(shortlists(iter(verdicts), Tally(failure=FAILURE), Clock(-math.inf)))
    assert [c.source for c in first] == ["one"]


def test_the_score_ranks_before_the_size_of_the_edit() -> None:
    """Of equals the smaller edit is first."""
    sources = {"a.py": "x = 1\n"}
    found = ranked([candidate("x = 12345\n", 0.5), candidate("x = 2\n", 0.5), candidate("y = 123\n", 0.9)], sources)
    assert [c.source for c in found] == ["y = 123\n", "x = 2\n", "x = 12345\n"]


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [("abc", "abc", 0), ("abc", "axc", 1), ("abc", "abbc", 1), ("aa", "aaa", 1), ("", "ab", 2)],
)
def test_the_size_of_an_edit_is_the_stretch_that_changes(before: str, after: str, size: int) -> None:
    """Common beginnings and ends do not count, nor do they overlap."""
    assert changed_characters(before, after) == size


def test_the_nearest_repairs_most_then_moves_the_failure() -> None:
    """More tests repaired is nearer, then another error; a crash, a time-out or a syntax error tells nothing."""
    tally = Tally(failure=FAILURE)
    for tried in (
        verdict("stays"),
        verdict("crash", error_type="Crash"),
        verdict("moves", error_type="KeyError"),
        verdict("moves later", error_type="TypeError"),
    ):
        tally.add(tried)
    became = tally.became()
    assert tally.nearest is not None
    assert tally.nearest.candidate.source == "moves"
    assert became is not None
    assert (became.error_type, became.family) == ("KeyError", Family.LOOKUP)
    tally.add(verdict("half", passed=1))
    assert tally.nearest.candidate.source == "half"
    assert tally.became() is None


def test_nothing_is_near_when_every_candidate_leaves_the_failure_as_it_was() -> None:
    """A candidate that changes nothing is not shown as the one that came closest."""
    tally = Tally(failure=FAILURE)
    tally.add(verdict("stays"))
    tally.add(verdict("crash", error_type="Crash"))
    assert tally.shown() is None
    assert tally.became() is None


def test_a_clock_remembers_that_it_rang() -> None:
    """Whether time ran out is known afterwards."""
    clock = Clock(-math.inf)
    assert not clock.rang
    assert clock()
    assert clock.rang
