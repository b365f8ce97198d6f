from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from math import exp

import numpy as np
import pytest

from memory.preferences import (
    MIN_PAIRS,
    MIN_TASKS,
    JudgedOption,
    PreferenceOption,
    calibration_error,
    evaluate,
    pairs,
    split,
    train,
)

Judge = Callable[..., JudgedOption]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def history(judge: Judge, *, reviews: int, taste: float, seed: int = 1) -> list[JudgedOption]:
    """Reviews of four findings each, by two people who like `nice` ones so much."""
    rng = random.Random(seed)
    judged = []
    for review in range(reviews):
        for number in range(4):
            nice = rng.choice((0.0, 1.0))
            wanted = rng.random() < 1.0 / (1.0 + exp(-taste * (nice - 0.5)))
            judged.append(
                judge(
                    f"d{review}.{number}",
                    1.0 if wanted else -1.0,
                    task=f"t{review:04}",
                    at=review,
                    teacher=review % 2,
                    features={"nice": nice, "noise": rng.random()},
                )
            )
    return judged


def test_without_data_the_model_is_the_prior(judge: Judge) -> None:
    """No pairs leave every weight at 0, so that strengths are the prior's log-odds."""
    trained = train([], now=NOW)
    options = [PreferenceOption(prior=chance, features={"nice": 1.0}) for chance in (0.2, 0.5)]
    assert trained.strengths(options) == pytest.approx([np.log(0.25), 0.0])
    assert trained.evaluation.refusal.startswith("too little to tell: 0 held-out pairs")


def test_a_taste_is_learned_and_let_through(judge: Judge) -> None:
    """Where people like a feature, the model foretells their later choices, well calibrated, and may be used."""
    trained = train(history(judge, reviews=200, taste=4.0), now=NOW)
    assert trained.weights["nice"] > 1.0
    assert abs(trained.weights["noise"]) < 1.0
    found = trained.evaluation
    assert (found.refusal, found.prior_accuracy) == ("", 0.5)
    assert found.low > 0.0
    assert found.calibration_error < 0.15


def test_noise_is_refused(judge: Judge) -> None:
    """Where nothing is to be liked, no model is let through."""
    trained = train(history(judge, reviews=200, taste=0.0), now=NOW)
    assert trained.evaluation.refusal == "not shown to be better than the prior"


def test_few_verdicts_are_refused_however_clear(judge: Judge) -> None:
    """A perfect order of too few held-out pairs shows nothing."""
    trained = train(history(judge, reviews=20, taste=50.0), now=NOW)
    assert trained.evaluation.pairs < MIN_PAIRS or trained.evaluation.tasks < MIN_TASKS
    assert trained.evaluation.refusal.startswith("too little to tell")


def test_the_version_hangs_on_data_and_method_alone(judge: Judge) -> None:
    """The same data gives the same model under the same id, in any order and at any time; one more verdict another."""
    judged = history(judge, reviews=60, taste=2.0)
    one = train(judged, now=NOW)
    again = train(judged[::-1], now=datetime(2027, 1, 1, tzinfo=UTC))
    assert replace(again, created_at=NOW) == one
    assert train(judged[1:], now=NOW).id != one.id


def test_nothing_of_the_later_time_is_trained_on(judge: Judge) -> None:
    """A task with a verdict in the last fifth is held out as a whole, so that no pair crosses the split."""
    judged = [judge(f"d{n}", task=f"t{n // 2}", at=n) for n in range(20)]
    late = judge("late", task="t0", at=99)
    earlier, later = split([*judged, late])
    assert {each.task_id for each in later} == {"t0", "t9"}
    assert not {each.task_id for each in earlier} & {each.task_id for each in later}


def test_one_teacher_reaches_no_further_than_taught(judge: Judge) -> None:
    """What one person alone has taught ranks only where they taught it; with two it ranks everywhere."""
    judged = history(judge, reviews=40, taste=2.0)
    alone = train([replace(j, teacher=1) for j in judged], now=NOW)
    assert alone.reaches("o/r")
    assert not alone.reaches("o/other")
    hardly = [*(replace(j, teacher=1) for j in judged), judge("more", task="more", label="F401", teacher=2)]
    assert train(hardly, now=NOW).teachers == 1, "a word that is compared with none"
    assert train(judged, now=NOW).reaches("o/other")


def test_a_rule_that_is_disliked_ranks_last(judge: Judge) -> None:
    """Findings of one rule are told from those of another, where their features are alike otherwise."""
    judged = [replace(j, option=replace(j.option, features={"rule=" + ("B006" if j.verdict > 0 else "F401"): 1.0}))
              for j in history(judge, reviews=60, taste=0.0)]  # fmt: skip
    model = train(judged, now=NOW)
    liked, disliked = model.strengths(
        [PreferenceOption(prior=0.5, features={f"rule={n}": 1.0}) for n in ("B006", "F401")]
    )
    assert liked > disliked


def test_calibration_is_the_gap_between_said_and_seen() -> None:
    """A model that is sure of what comes about half of the time is off by nearly a half; one that does not know, by nothing."""
    weights = np.ones(100)
    assert calibration_error(np.tile([9.0, -9.0], 50), weights) == pytest.approx(0.5, abs=0.01)
    assert calibration_error(np.zeros(100), weights) == 0.0


def test_pairs_of_few_tasks_make_wide_intervals(judge: Judge) -> None:
    """The interval draws tasks: pairs that share their findings do not count as so many observations."""

    def found(tasks: int) -> float:
        judged = [
            judge(f"{task}.{n}", (-1.0) ** n, task=f"t{task}", label=f"r{task}")
            for task in range(tasks)
            for n in range(8)
        ]
        compared = pairs(judged)
        margin = np.array([1.0 if int(p.better.task_id[1:]) % 4 else -1.0 for p in compared])
        result = evaluate(compared, margin, np.zeros(len(compared)))
        return result.high - result.low

    assert found(24) > 2 * found(240)
