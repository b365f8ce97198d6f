from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import policy
from memory.model import Arm, Cell, Factor, Level, State, TaskKind

STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
NAMES = ("swap", "guard", "rename")
Cells = dict[tuple[Level, str, Factor], Cell]

cell = st.builds(Cell, weight=st.floats(0.0, 500.0), mean=st.floats(0.0, 1.0))
tables = st.dictionaries(
    st.tuples(st.sampled_from(STATE.levels()), st.sampled_from(NAMES), st.sampled_from(list(Factor))), cell
)
neighbours = st.lists(
    st.builds(policy.Neighbour, strategy=st.sampled_from(NAMES), success=st.booleans(), similarity=st.floats(0.0, 1.0)),
    max_size=8,
)


def cells(strategy: str, weight: float, mean: float, scopes: tuple[str, ...], factor: Factor = Factor.PROOF) -> Cells:
    return {
        (level, strategy, factor): Cell(weight=weight, mean=mean) for level in STATE.levels() if level.scope in scopes
    }


def expected(strategy: str, table: Cells) -> float:
    return policy.values(STATE, NAMES, table, {})[strategy].proof.mean


@given(tables, neighbours, st.floats(0.0, 1.0))
def test_factors_stay_in_bounds(table: Cells, near: list[policy.Neighbour], prior: float) -> None:
    """Whatever the evidence, both factors and their product lie within [0, 1], and a deviation is no negative number."""
    for estimate in policy.values(STATE, NAMES, table, dict.fromkeys(NAMES, prior), near).values():
        for number in (estimate.proof.mean, estimate.acceptance.mean, estimate.q):
            assert 0.0 <= number <= 1.0
        assert estimate.proof.deviation >= 0.0


@given(tables, neighbours, st.integers(0, 2**32))
def test_probabilities_are_a_distribution_without_zeros(table: Cells, near: list[policy.Neighbour], seed: int) -> None:
    """Probabilities sum to 1 and every strategy keeps a real chance, however hopeless it looks."""
    estimates = policy.values(STATE, NAMES, table, {}, near)
    chances = policy.probabilities(estimates, random.Random(seed))
    assert sum(chances.values()) == pytest.approx(1.0)
    assert min(chances.values()) >= 0.2 * policy.FLOOR / len(NAMES)


def test_without_evidence_the_prior_speaks() -> None:
    """An empty table believes the prior of each strategy, and the default where none is given."""
    estimates = policy.values(STATE, NAMES, {}, {"swap": 0.8})
    assert estimates["swap"].proof.mean == pytest.approx(0.8)
    assert estimates["guard"].proof.mean == pytest.approx(policy.PROOF_PRIOR)


def test_back_off_is_the_documented_formula() -> None:
    """With evidence at one level, the mean is (n * mean + m * prior) / (n + m) of that level."""
    m = policy.PULL["repository"]
    assert expected("swap", cells("swap", 6.0, 1.0, ("repository",))) == pytest.approx(
        (6.0 + m * policy.PROOF_PRIOR) / (6.0 + m)
    )


def test_a_rare_error_borrows_from_its_family() -> None:
    """Evidence of the family alone moves the estimate, less than if it were of this very error."""
    nothing = expected("swap", {})
    family = expected("swap", cells("swap", 20.0, 1.0, ("family",)))
    label = expected("swap", cells("swap", 20.0, 1.0, ("label", "family")))
    assert nothing < family < label


def test_own_evidence_overrules_the_broad_levels() -> None:
    """Many failures here outweigh many successes elsewhere."""
    table = cells("swap", 100.0, 0.9, ("label", "family", "global")) | cells("swap", 60.0, 0.0, ("repository",))
    assert expected("swap", table) < 0.15


def test_acceptance_is_learned_apart_and_multiplied() -> None:
    """A strategy whose proven fixes are rejected loses value while its chance of proof stays."""
    scopes = tuple(level.scope for level in STATE.levels())
    proven = cells("swap", 30.0, 0.9, scopes)
    refused = proven | cells("swap", 30.0, 0.0, scopes, Factor.ACCEPTANCE)
    before, after = (policy.values(STATE, NAMES, table, {})["swap"] for table in (proven, refused))
    assert after.proof == before.proof
    assert after.q < 0.1 * before.q


def test_neighbours_count_as_fractions_of_an_observation() -> None:
    """A near success raises a strategy, a far one hardly, a failure lowers it, and another strategy's says nothing."""

    def mean(near: list[policy.Neighbour]) -> float:
        return policy.values(STATE, NAMES, {}, {}, near)["swap"].proof.mean

    def seen(*, strategy: str = "swap", success: bool = True, similarity: float) -> list[policy.Neighbour]:
        return [policy.Neighbour(strategy=strategy, success=success, similarity=similarity)]

    assert (
        mean(seen(similarity=0.9)) > mean(seen(similarity=0.1)) > mean([]) > mean(seen(success=False, similarity=0.9))
    )
    assert mean(seen(strategy="guard", similarity=0.9)) == mean([])


def test_better_evidence_gets_the_larger_share() -> None:
    """The strategy that works is chosen mostly, but not always."""
    scopes = tuple(level.scope for level in STATE.levels())
    chances = policy.probabilities(
        policy.values(STATE, NAMES, cells("guard", 40.0, 0.95, scopes), {}), random.Random(1)
    )
    assert 0.8 < chances["guard"] < 1.0


def test_the_floor_shrinks_with_evidence_and_never_goes() -> None:
    """Exploration falls towards a fifth of the floor."""
    least = [min(policy.with_floor([1.0, 0.0], evidence)) for evidence in (0.0, 50.0, 1e9)]
    assert least[0] == pytest.approx(0.05)
    assert least[0] > least[1] > least[2] > 0.0099


def test_control_arm_is_uniform_whatever_was_learned() -> None:
    """The yardstick uses no evidence, no prior and no neighbour."""
    table = cells("guard", 500.0, 1.0, ("repository",))
    _, chances = policy.choose(STATE, NAMES, table, {"guard": 0.99}, random.Random(1), arm=Arm.CONTROL)
    assert chances == dict.fromkeys(NAMES, pytest.approx(1 / 3))


@pytest.mark.parametrize("arm", list(Arm))
def test_tried_strategies_are_left_out(arm: Arm) -> None:
    """An episode never tries a strategy twice; with none left there is no choice."""
    tried = State(kind=STATE.kind, repository="o/r", label="KeyError", family="lookup", tried=("swap", "guard"))
    assert policy.choose(tried, NAMES, {}, {}, random.Random(1), arm=arm) == ("rename", {"rename": pytest.approx(1.0)})
    with pytest.raises(ValueError, match="no strategy is left"):
        policy.choose(tried, ("swap",), {}, {}, random.Random(1), arm=arm)


def test_the_same_seed_makes_the_same_choice() -> None:
    """Everything random comes from the injected generator."""
    runs = [policy.choose(STATE, NAMES, {}, {}, random.Random(5), arm=Arm.LEARNED) for _ in range(2)]
    assert runs[0] == runs[1]


def test_recorded_probabilities_are_the_frequencies_of_choice() -> None:
    """Over many choices, each strategy is chosen as often as its logged probabilities add up to."""
    rng = random.Random(11)
    table = cells("swap", 3.0, 0.5, ("repository",)) | cells("guard", 5.0, 0.2, ("repository",))
    chosen: Counter[str] = Counter()
    logged: Counter[str] = Counter()
    for _ in range(3000):
        name, chances = policy.choose(STATE, NAMES, table, {}, rng, arm=Arm.LEARNED)
        chosen[name] += 1
        logged.update(chances)
    for name in NAMES:
        spread = (logged[name] * (1 - logged[name] / 3000)) ** 0.5
        assert abs(chosen[name] - logged[name]) < 4 * spread


@given(st.lists(st.floats(0.0, 1.0), max_size=5), st.floats(0.0, 1.0), st.booleans())
def test_target_is_bounded_and_terminal_targets_look_no_further(
    following: list[float], green: float, terminal: bool
) -> None:
    """r + gamma * max stays within [0, 1]; at the end of an episode it is r."""
    parts = {"suite_green": green}
    target = policy.q_target(parts, terminal=terminal, next_values=following)
    assert 0.0 <= target <= 1.0
    if terminal or not following:
        assert target == policy.q_target(parts, terminal=True, next_values=[])
    else:
        assert target == pytest.approx(min(1.0, 0.45 * green + policy.GAMMA * max(following)))
