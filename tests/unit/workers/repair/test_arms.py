"""Which strategies are open, and what is expected of them."""

from __future__ import annotations

from memory.model import EditShape
from workers.repair.engines.search.engine import DEEP, REPLAYED, open_strategies, priors, replays
from workers.repair.engines.search.search import REPLAY

COMPARED = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
WRAPPED = EditShape(template="wrap_call", before="$0", after="int ( $0 )")


NEAR = {"names": 1.0, "guards": 0.8}


def test_the_likelier_its_next_candidate_the_more_is_expected_of_a_strategy() -> None:
    """Only what is near is an arm, beside the last resort; all have a chance above 0 and below 1."""
    found = priors(NEAR, replayable=False)
    assert set(found) == {"names", "guards", DEEP}
    assert 0.0 < found["guards"] < found["names"] < 1.0


def test_past_edits_come_first_and_the_last_resort_last() -> None:
    """Replay is the only choice while it is untried, the deep search only when nothing else is left."""
    arms = priors(NEAR, replayable=True)
    assert open_strategies(arms, ()) == (REPLAY,)
    assert set(open_strategies(arms, (REPLAY,))) == set(NEAR)
    assert open_strategies(arms, (REPLAY, *NEAR)) == (DEEP,)
    assert open_strategies(arms, (REPLAY, *NEAR, DEEP)) == ()


def test_the_less_alike_the_failures_the_fewer_edits_are_replayed() -> None:
    """All of them for the very same failure, hardly any for a distant one, none without a memory."""
    assert replays({COMPARED: 1.0, WRAPPED: 0.1}) == REPLAYED
    assert replays({COMPARED: 0.5}) == REPLAYED / 4
    assert (replays({COMPARED: 0.1}), replays({})) == (1, 0)
