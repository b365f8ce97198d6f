"""Which strategies are open, and what is expected of them."""

from __future__ import annotations

from memory.model import EVERYTHING, REPLAY, EditShape
from workers.repair.engines.search.engine import REPLAYED, fitness, priors, replays

COMPARED = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
WRAPPED = EditShape(template="wrap_call", before="$0", after="int ( $0 )")


NEAR = {"names": 1.0, "guards": 0.8}


def test_the_likelier_its_next_candidate_the_more_is_expected_of_a_strategy() -> None:
    """Only what is near is an arm, beside the search of everything; all have a chance above 0 and below 1."""
    found = priors(NEAR, replay=0.0)
    assert set(found) == {"names", "guards", EVERYTHING}
    assert 0.0 < found["guards"] < found["names"] < 1.0


def test_learned_edits_compete_with_all_others() -> None:
    """They are one option of several: expected first where one fits exactly, behind the likeliest turn where none does."""
    assert priors(NEAR, replay=0.8 * fitness({COMPARED: 1.0}))[REPLAY] > priors(NEAR, replay=0.0)["names"]
    assert priors(NEAR, replay=0.8 * fitness({COMPARED: 0.4}))[REPLAY] < priors(NEAR, replay=0.0)["names"]


def test_the_less_alike_the_failures_the_fewer_edits_are_replayed() -> None:
    """All of them for the very same failure, hardly any for a distant one, none without a memory."""
    assert replays({COMPARED: 1.0, WRAPPED: 0.1}) == REPLAYED
    assert replays({COMPARED: 0.5}) == REPLAYED / 4
    assert (replays({COMPARED: 0.1}), replays({})) == (1, 0)
