from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from operator import itemgetter, mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.model import EVERYTHING, STOP, Arm, AttemptEffect, Cell, Factor, Level, State, TaskKind
from memory.policy import q_table

STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
NAMES = ("swap", "guard", "rename")
COST = 0.02
Cells = dict[tuple[Level, str, Factor], Cell]

cell = st.builds(Cell, weight=st.floats(0.0, 500.0), mean=st.floats(0.0, 1.0))
tables = st.dictionaries(
    st.tuples(st.sampled_from(STATE.levels()), st.sampled_from(NAMES), st.sampled_from(list(Factor))), cell
)
neighbours = st.lists(
    st.builds(
        q_table.Neighbour, strategy=st.sampled_from(NAMES), success=st.booleans(), similarity=st.floats(0.0, 1.0)
    ),
    max_size=8,
)


def cells(strategy: str, weight: float, mean: float, scopes: tuple[str, ...], factor: Factor = Factor.PROOF) -> Cells:
    return {
        (level, strategy, factor): Cell(weight=weight, mean=mean) for level in STATE.levels() if level.scope in scopes
    }


def expected(strategy: str, table: Cells) -> float:
    return q_table.values(STATE, NAMES, table, {})[strategy].proof.mean


@given(tables, neighbours, st.floats(0.0, 1.0))
def test_factors_stay_in_bounds(table: Cells, near: list[q_table.Neighbour], prior: float) -> None:
    """Whatever the evidence, both factors and their product lie within [0, 1], and a deviation is no negative number."""
    for estimate in q_table.values(STATE, NAMES, table, dict.fromkeys(NAMES, prior), q_table.summed(near)).values():
        for number in (estimate.proof.mean, estimate.acceptance.mean, estimate.q):
            assert 0.0 <= number <= 1.0
        assert estimate.proof.deviation >= 0.0


@given(tables, neighbours, st.integers(0, 2**32))
def test_probabilities_are_a_distribution_without_zeros(table: Cells, near: list[q_table.Neighbour], seed: int) -> None:
    """Probabilities sum to 1 and every strategy keeps a real chance, however hopeless it looks."""
    estimates = q_table.values(STATE, NAMES, table, {}, q_table.summed(near))
    chances = q_table.probabilities(estimates, random.Random(seed), attempts=len(NAMES))
    assert sum(chances.values()) == pytest.approx(1.0)
    assert min(chances.values()) >= 0.2 * q_table.PRESENT.floor / len(NAMES)


def test_without_evidence_the_prior_speaks() -> None:
    """An empty table believes the prior of each strategy, and the default where none is given."""
    estimates = q_table.values(STATE, NAMES, {}, {"swap": 0.8})
    assert estimates["swap"].proof.mean == pytest.approx(0.8)
    assert estimates["guard"].proof.mean == pytest.approx(q_table.PROOF_PRIOR)


def test_back_off_is_the_documented_formula() -> None:
    """With evidence at one level, the mean is (n * mean + m * prior) / (n + m) of that level."""
    m = q_table.PRESENT.pseudo_counts["repository"]
    assert expected("swap", cells("swap", 6.0, 1.0, ("repository",))) == pytest.approx(
        (6.0 + m * q_table.PROOF_PRIOR) / (6.0 + m)
    )


def test_a_rare_error_borrows_from_its_family() -> None:
    """Evidence of the family alone moves the estimate, less than if it were of this very error."""
    nothing = expected("swap", {})
    family = expected("swap", cells("swap", 20.0, 1.0, ("family",)))
    label = expected("swap", cells("swap", 20.0, 1.0, ("label", "family")))
    assert nothing < family < label


def test_own_evidence_overrules_the_broad_levels() -> None:
    """Many failures here outweigh many successes elsewhere."""
    table = cells("swap", 100.0, 0.9, ("label", "family", "global")) | cells("swap", 200.0, 0.0, ("repository",))
    assert expected("swap", table) < 0.15


def test_acceptance_is_learned_apart_and_multiplied() -> None:
    """A strategy whose proven fixes are rejected loses value while its chance of proof stays."""
    scopes = tuple(level.scope for level in STATE.levels())
    proven = cells("swap", 30.0, 0.9, scopes)
    refused = proven | cells("swap", 30.0, 0.0, scopes, Factor.ACCEPTANCE)
    before, after = (q_table.values(STATE, NAMES, table, {})["swap"] for table in (proven, refused))
    assert after.proof == before.proof
    assert after.q < 0.1 * before.q


def test_neighbours_count_as_fractions_of_an_observation() -> None:
    """A near success raises a strategy, a far one hardly, a failure lowers it, and another strategy's says nothing."""

    def mean(near: list[q_table.Neighbour]) -> float:
        return q_table.values(STATE, NAMES, {}, {}, q_table.summed(near))["swap"].proof.mean

    def seen(*, strategy: str = "swap", success: bool = True, similarity: float) -> list[q_table.Neighbour]:
        return [q_table.Neighbour(strategy=strategy, success=success, similarity=similarity)]

    assert (
        mean(seen(similarity=0.9)) > mean(seen(similarity=0.1)) > mean([]) > mean(seen(success=False, similarity=0.9))
    )
    assert mean(seen(strategy="guard", similarity=0.9)) == mean([])


def test_a_neighbour_that_went_as_expected_says_nothing_new() -> None:
    """What the table expected of a remembered case is in the table already: only the surprise moves the mean."""
    belief = q_table.Belief(mean=0.2, strength=10.0)
    as_expected = [
        q_table.Neighbour(strategy="swap", success=success, similarity=1.0, expected=0.5) for success in (True, False)
    ]
    assert q_table.recalled(belief, q_table.summed(as_expected)["swap"], 4.0).mean == pytest.approx(0.2)
    surprising = [q_table.Neighbour(strategy="swap", success=True, similarity=0.5, expected=0.1)]
    assert q_table.recalled(belief, q_table.summed(surprising)["swap"], 4.0).mean == pytest.approx(
        0.2 + 0.5 * 0.9 / 4.5
    )
    unasked = [q_table.Neighbour(strategy="swap", success=True, similarity=0.5)]  # held against what is believed now
    assert q_table.recalled(belief, q_table.summed(unasked)["swap"], 4.0).mean == pytest.approx(0.2 + 0.5 * 0.8 / 4.5)


def test_what_the_last_attempt_did_moves_beliefs() -> None:
    """A strategy that is proven more often after such an attempt than elsewhere is believed in more after one, and no other is."""
    scopes = tuple(level.scope for level in STATE.levels())
    known = cells("swap", 40.0, 0.3, scopes) | cells("guard", 40.0, 0.3, scopes)
    moved = replace(STATE, after=AttemptEffect.MOVED)
    assert moved.effect_level is not None
    known |= {(moved.effect_level, "swap", Factor.PROOF): Cell(weight=200.0, mean=0.6)}
    first, then = (q_table.values(state, NAMES, known, {}) for state in (STATE, moved))
    assert then["swap"].proof.mean > 0.5 > 0.35 > first["swap"].proof.mean
    assert then["guard"] == first["guard"]


def test_better_evidence_gets_the_larger_share() -> None:
    """The strategy that works is chosen mostly, but not always."""
    scopes = tuple(level.scope for level in STATE.levels())
    chances = q_table.probabilities(
        q_table.values(STATE, NAMES, cells("guard", 40.0, 0.95, scopes), {}), random.Random(1), attempts=len(NAMES)
    )
    assert 0.8 < chances["guard"] < 1.0


def worth_of(
    order: Sequence[int], proof: Sequence[float], acceptance: Sequence[float], costs: Sequence[float]
) -> float:
    """What trying strategies in this order is worth, by its definition."""
    worth = 0.0
    for strategy in reversed(order):
        now = proof[strategy] * acceptance[strategy] - costs[strategy]
        worth = now + (1.0 - proof[strategy]) * worth
    return worth


COSTS = np.full(6, COST)
chances_of_four = st.lists(st.floats(0.01, 0.99), min_size=4, max_size=4)
costs_of_four = st.lists(st.floats(0.0, 0.3), min_size=4, max_size=4)


@given(chances_of_four, chances_of_four, costs_of_four, st.integers(1, 4), st.integers(0, 2))
def test_the_best_order_begins_with_what_trying_all_orders_says(
    proof: list[float], acceptance: list[float], costs: list[float], attempts: int, ending: int
) -> None:
    """No order of so many strategies, or of fewer, is worth more than one that begins with it.

    The last ones end an episode: nothing comes after them. After an attempt an episode may end without them too.
    """
    turns, ends = range(4 - ending), range(4 - ending, 4)
    chances, liked = np.array([proof]), np.array([acceptance])
    first = int(q_table.first_of_best_order(chances, liked, attempts, np.array(costs), tuple(ends))[0])
    orders = [order for size in range(attempts + 1) for order in permutations(turns, size)]
    orders = orders[1:] + [(*order, end) for order in orders for end in ends]
    worth = {order: worth_of(order, proof, acceptance, costs) for order in orders}
    best = max(worth.values())
    if ending or best > 1e-9:
        assert max(worth[order] for order in orders if order[0] == first) == pytest.approx(best, abs=1e-9)
    else:
        assert proof[first] * acceptance[first] == pytest.approx(max(map(mul, proof, acceptance)))


def test_each_draw_is_planned_for_by_itself() -> None:
    """The draws are planned for together, and each as if it were alone."""
    generator = np.random.default_rng(3)
    proof, acceptance = generator.random((200, 6)), generator.random((200, 6))
    for ending in ((), (1, 5)):
        alone = [q_table.first_of_best_order(proof[[n]], acceptance[[n]], 4, COSTS, ending)[0] for n in range(200)]
        assert q_table.first_of_best_order(proof, acceptance, 4, COSTS, ending).tolist() == alone


def test_what_is_often_proven_and_seldom_accepted_waits() -> None:
    """The first proof ends an episode: with attempts left, the one that people accept is tried before it."""
    proof, acceptance = np.array([[0.9, 0.4]]), np.array([[0.5, 0.95]])
    assert q_table.first_of_best_order(proof, acceptance, 1, COSTS[:2])[0] == 0
    assert q_table.first_of_best_order(proof, acceptance, 2, COSTS[:2])[0] == 1


def test_the_floor_shrinks_with_evidence_and_never_goes() -> None:
    """Exploration falls towards a fifth of the floor."""
    shares = {"swap": 1.0, "guard": 0.0}
    least = [min(q_table.with_floor(shares, evidence, floor=0.1).values()) for evidence in (0.0, 50.0, 1e9)]
    assert least[0] == pytest.approx(0.05)
    assert least[0] > least[1] > least[2] > 0.0099


SEARCH = ("swap", EVERYTHING, STOP)


def learned(swap: float, everything: float) -> dict[str, float]:
    """The chances of a repair's options, where these shares of many attempts were proven."""
    scopes = tuple(level.scope for level in STATE.levels())
    known = cells("swap", 400.0, swap, scopes) | cells(EVERYTHING, 400.0, everything, scopes)
    costs = {"swap": 0.02, EVERYTHING: 0.05}
    return q_table.choose(STATE, SEARCH, known, {}, random.Random(1), arm=Arm.LEARNED, costs=costs)[0]


def test_a_turn_the_long_search_and_stopping_compete() -> None:
    """None is forced first or last: evidence says whether a turn comes before the long search, and whether either is tried."""
    assert max(learned(swap=0.3, everything=0.3).items(), key=itemgetter(1))[0] == "swap"
    assert max(learned(swap=0.01, everything=0.3).items(), key=itemgetter(1))[0] == EVERYTHING
    assert max(learned(swap=0.001, everything=0.001).items(), key=itemgetter(1))[0] == STOP


def test_without_evidence_nothing_stops() -> None:
    """Stopping has no floor: it is never tried out, and the control arm never does it."""
    for arm in Arm:
        chances, _ = q_table.choose(STATE, SEARCH, {}, {}, random.Random(1), arm=arm)
        assert set(chances) == {"swap", EVERYTHING}
        assert sum(chances.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("failures", "stops"), [(10.0, False), (30.0, True)])
def test_a_search_that_is_expected_to_be_worth_its_cost_is_not_given_up(failures: float, *, stops: bool) -> None:
    """However unsure the expectation is: stopping would try nothing out."""
    few = cells(EVERYTHING, failures, 0.0, tuple(level.scope for level in STATE.levels()))
    costs = {EVERYTHING: 0.02}
    chances, _ = q_table.choose(STATE, (EVERYTHING, STOP), few, {}, random.Random(1), arm=Arm.LEARNED, costs=costs)
    assert (STOP in chances) is stops


def test_control_arm_is_uniform_whatever_was_learned() -> None:
    """The yardstick uses no evidence, no prior and no neighbour."""
    table = cells("guard", 500.0, 1.0, ("repository",))
    chances, _ = q_table.choose(STATE, NAMES, table, {"guard": 0.99}, random.Random(1), arm=Arm.CONTROL)
    assert chances == dict.fromkeys(NAMES, pytest.approx(1 / 3))


@pytest.mark.parametrize("arm", list(Arm))
def test_tried_strategies_are_left_out(arm: Arm) -> None:
    """An episode never tries a strategy twice; with none left there is no choice."""
    tried = State(kind=STATE.kind, repository="o/r", label="KeyError", family="lookup", tried=("swap", "guard"))
    assert q_table.choose(tried, NAMES, {}, {}, random.Random(1), arm=arm)[0] == {"rename": pytest.approx(1.0)}
    with pytest.raises(ValueError, match="no strategy is left"):
        q_table.choose(tried, ("swap",), {}, {}, random.Random(1), arm=arm)


def test_the_same_seed_gives_the_same_probabilities() -> None:
    """Everything random comes from the injected generator."""
    runs = [q_table.choose(STATE, NAMES, {}, {}, random.Random(5), arm=Arm.LEARNED) for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_recorded_probabilities_are_the_frequencies_of_choice() -> None:
    """Over many choices, each strategy is chosen as often as its logged probabilities add up to."""
    rng = random.Random(11)
    table = cells("swap", 3.0, 0.5, ("repository",)) | cells("guard", 5.0, 0.2, ("repository",))
    chosen: Counter[str] = Counter()
    logged: Counter[str] = Counter()
    for _ in range(3000):
        chances, _ = q_table.choose(STATE, NAMES, table, {}, rng, arm=Arm.LEARNED)
        chosen[q_table.pick(chances, rng)] += 1
        logged.update(chances)
    for name in NAMES:
        spread = (logged[name] * (1 - logged[name] / 3000)) ** 0.5
        assert abs(chosen[name] - logged[name]) < 4 * spread
