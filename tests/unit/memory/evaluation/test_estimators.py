"""IPS, SNIPS and doubly robust: known values, refusals, and intervals that repeat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.evaluation.off_policy import CLIP, LoggedStep, estimate
from memory.intervals import Numbers, effective


def step(
    chosen: int,
    logged: float,
    *,
    proven: bool = False,
    task: str = "t",
    acceptance: float | None = None,
    guess: float = 0.3,
    options: int = 2,
) -> LoggedStep:
    return LoggedStep(
        id="d",
        task=task,
        chosen=chosen,
        logged=logged,
        target=float(proven),
        proven=proven,
        acceptance=acceptance,
        value=np.full(options, guess),
    )


def coins(count: int, *, seed: int = 1) -> list[LoggedStep]:
    """Decisions between two strategies, logged evenly, that are proven with chances 0.2 and 0.8."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, 2, count)
    return [
        step(int(pick), 0.5, proven=bool(rng.random() < (0.2, 0.8)[pick]), task=f"t{n}") for n, pick in enumerate(picks)
    ]


def always(odds: Sequence[float], steps: Sequence[LoggedStep]) -> list[Numbers]:
    return [np.array(odds) for _ in steps]


def test_figures_by_hand() -> None:
    """Two decisions: weights 2 and 0.5 give the estimates that their formulas say."""
    steps = [step(0, 0.25, proven=True, task="a"), step(1, 1.0, proven=False, task="b")]
    found = estimate(steps, always((0.5, 0.5), steps), least=0.0)
    assert found.effective == pytest.approx(2.5**2 / (2.0**2 + 0.5**2))
    assert found.ips is not None and found.snips is not None and found.dr is not None
    assert found.ips.value == pytest.approx((2.0 * 1.0 + 0.5 * 0.0) / 2)
    assert found.snips.value == pytest.approx(2.0 / 2.5)
    assert found.dr.value == pytest.approx(0.3 + (2.0 * 0.7 - 0.5 * 0.3) / 2)


@pytest.mark.parametrize("name", ["ips", "snips", "dr"])
@pytest.mark.parametrize(("odds", "truth"), [((0.5, 0.5), 0.5), ((0.1, 0.9), 0.74), ((1.0, 0.0), 0.2)])
def test_each_estimator_finds_the_truth(name: str, odds: tuple[float, float], truth: float) -> None:
    """With 2,000 decisions every estimator is near the policy's worth, and its interval holds it."""
    steps = coins(2000)
    figure = getattr(estimate(steps, always(odds, steps)), name)
    assert figure.value == pytest.approx(truth, abs=0.05)
    assert figure.low <= truth <= figure.high


def test_a_wrong_model_does_not_mislead_the_doubly_robust_one() -> None:
    """Whatever the model predicts, the weighted error takes it back."""
    steps = [step(s.chosen, s.logged, proven=s.proven, task=s.task, guess=0.99) for s in coins(2000)]
    found = estimate(steps, always((0.5, 0.5), steps))
    assert found.dr is not None
    assert found.dr.value == pytest.approx(0.5, abs=0.05)


def test_the_policy_that_logged_is_its_own_mean() -> None:
    """Where target and log agree all weights are 1: IPS and SNIPS are the mean, and nothing is lost of the sample."""
    steps = coins(200)
    found = estimate(steps, always((0.5, 0.5), steps))
    assert found.effective == pytest.approx(200)
    assert found.ips == found.snips
    assert found.ips is not None
    assert found.ips.value == pytest.approx(np.mean([s.proven for s in steps]))


def test_too_little_overlap_is_refused() -> None:
    """A policy that hardly ever does what was done gets a reason, and no number."""
    steps = [step(1, 0.99, task=f"t{n}") for n in range(500)] + [step(0, 0.01, proven=True, task="rare")] * 3
    found = estimate(steps, always((1.0, 0.0), steps))
    assert (found.ips, found.snips, found.dr, found.value) == (None, None, None, None)
    assert found.refused.endswith("80 are needed")


def test_nothing_logged_is_refused() -> None:
    """An empty log is worth nothing."""
    assert estimate([], []).refused


def test_clipping_is_told() -> None:
    """Weights above the limit count as the limit, and their share is told; IPS, which that biases, is withheld."""
    steps = [step(0, 0.001, proven=True), *coins(99)]
    found = estimate(steps, always((0.5, 0.5), steps), least=0.0)
    assert found.clipped == pytest.approx(0.01)
    assert found.ips is None
    assert found.snips is not None and found.dr is not None
    weights = CLIP + 99  # those of the coins are 1
    assert found.effective == pytest.approx(weights**2 / (CLIP**2 + 99))


def test_silence_is_censored() -> None:
    """Acceptance comes from judged proofs alone, and the value is the product of both factors."""
    steps = [
        step(0, 0.5, proven=n % 2 == 0, task=f"t{n}", acceptance=float(n % 8 == 0) if n % 4 == 0 else None)
        for n in range(400)
    ]
    found = estimate(steps, always((0.5, 0.5), steps))
    assert found.judged == 100
    assert found.acceptance is not None and found.value is not None and found.dr is not None
    assert found.acceptance.value == pytest.approx(0.5)
    assert found.value.value == pytest.approx(found.dr.value * 0.5)


def test_without_verdicts_there_is_no_value() -> None:
    """Proof is estimated all the same."""
    steps = coins(200)
    found = estimate(steps, always((0.5, 0.5), steps))
    assert (found.acceptance, found.value, found.judged) == (None, None, 0)
    assert found.dr is not None


def test_estimates_repeat() -> None:
    """The same sample gives the same interval: the bootstrap has a seed."""
    steps = coins(300)
    assert estimate(steps, always((0.3, 0.7), steps)) == estimate(steps, always((0.3, 0.7), steps))


def test_decisions_of_one_task_hang_together() -> None:
    """Five copies of each decision in its task widen nothing and narrow nothing: tasks are drawn, not decisions."""
    steps = coins(200)
    copies = [each for each in steps for _ in range(5)]
    once, often = (estimate(s, always((0.3, 0.7), s)) for s in (steps, copies))
    assert once.dr is not None and often.dr is not None
    assert often.dr.high - often.dr.low == pytest.approx(once.dr.high - once.dr.low, rel=1e-6)
    assert often.effective == pytest.approx(once.effective)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=50))
def test_the_effective_size_lies_between_one_and_all(weights: list[float]) -> None:
    """Equal weights are worth all, a single one 1."""
    size = effective(np.array(weights))
    assert 0.0 <= size <= len(weights) * (1 + 1e-9)
    assert size >= 1 - 1e-9 or not any(weight**2 for weight in weights)
