"""Which strategies are open, and what is expected of them."""

from __future__ import annotations

from memory.model import EditShape, Failure, Family
from workers.repair.arms import DEEP, LIFT, REPLAYED, lifted, open_arms, priors, replays
from workers.repair.search import REPLAY, STRATEGIES

COMPARED = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
SWAPPED_NAME = EditShape(template="variable_misuse", before="$0", after="$1")


def failure(family: Family) -> Failure:
    return Failure(error_type="E", family=family, message="", frames=(), failing_tests=("t",))


def test_every_strategy_has_a_prior() -> None:
    """Each is open from the start with a chance above 0 and below 1, and so is the last resort."""
    found = priors(failure(Family.ASSERTION), STRATEGIES, replayable=False)
    assert set(found) == {*STRATEGIES, DEEP}
    assert all(0.0 < prior < 1.0 for prior in found.values())


def test_the_family_of_a_failure_decides_what_is_likely() -> None:
    """A name that is not defined speaks for imports more than a wrong value does."""
    named, valued = (
        priors(failure(family), STRATEGIES, replayable=False)["imports"] for family in (Family.NAME, Family.ASSERTION)
    )
    assert named > valued


def test_past_edits_come_first_and_the_last_resort_last() -> None:
    """Replay is the only choice while it is untried, the deep search only when nothing else is left."""
    arms = priors(failure(Family.ASSERTION), STRATEGIES, replayable=True)
    assert open_arms(arms, ()) == (REPLAY,)
    assert set(open_arms(arms, (REPLAY,))) == set(STRATEGIES)
    assert open_arms(arms, (REPLAY, *STRATEGIES)) == (DEEP,)
    assert open_arms(arms, (REPLAY, *STRATEGIES, DEEP)) == ()


def test_edits_that_fit_anywhere_are_not_replayed() -> None:
    """A changed operator is a lesson; one name in the place of another is none."""
    assert lifted({COMPARED: 0.2, SWAPPED_NAME: 0.9}) == {COMPARED: LIFT * 0.2}


def test_the_less_alike_the_failures_the_fewer_edits_are_replayed() -> None:
    """All of them for the very same failure, hardly any for a distant one, none without a memory."""
    assert replays(lifted({COMPARED: 1.0, SWAPPED_NAME: 0.1})) == REPLAYED
    assert replays(lifted({COMPARED: 0.5})) == REPLAYED / 4
    assert (replays(lifted({COMPARED: 0.1})), replays({})) == (1, 0)


def test_only_what_has_something_to_try_is_an_arm() -> None:
    """A strategy without a candidate among the likeliest is not offered; the last resort always is."""
    found = priors(failure(Family.ASSERTION), ("names", "guards"), replayable=False)
    assert set(found) == {"names", "guards", DEEP}
