"""What learning was worth, task by task, with silence censored."""

from __future__ import annotations

import random

import pytest

from memory.evaluation.control_arm import TaskResult, accepted, results, uplift
from memory.model import Arm, SignalKind
from tests.unit.memory.ledgers import START, logged, said

EVEN = {"a": 0.5, "b": 0.5}


def result(number: int, arm: Arm, *, proven: bool, acceptance: float | None = None) -> TaskResult:
    return TaskResult(task=f"t{number:04}", arm=arm, version="v", started=START, proven=proven, acceptance=acceptance)


def world(tasks: int, *, learned: float, control: float, seed: int = 1) -> list[TaskResult]:
    """Tasks of two arms with their chances of a proof; 40 % of the proven ones are judged, 60 % of these accepted."""
    rng, made = random.Random(seed), []
    for number in range(tasks):
        arm = Arm.CONTROL if rng.random() < 0.2 else Arm.LEARNED
        proven = rng.random() < (learned if arm is Arm.LEARNED else control)
        verdict = float(rng.random() < 0.6) if proven and rng.random() < 0.4 else None
        made.append(result(number, arm, proven=proven, acceptance=verdict))
    return made


def test_a_task_counts_once() -> None:
    """Two decisions of a task are one result: proven if one was, judged by what people said of that one."""
    log = [
        logged(0, EVEN, "a", proven=False, task="t"),
        logged(1, EVEN, "b", proven=True, task="t", said=(said(1, SignalKind.REJECTED),)),
        logged(2, EVEN, "b", task="under way"),
    ]
    (only,) = results(log)
    assert (only.task, only.proven, only.acceptance) == ("t", True, 0.0)


def test_silence_is_no_rejection() -> None:
    """Where two fifths were judged, the mean is the chance of an accepted fix all the same."""
    tasks = [each for each in world(5000, learned=0.5, control=0.5) if each.arm is Arm.LEARNED]
    assert accepted(tasks).mean() == pytest.approx(0.3, abs=0.03)


def test_few_verdicts_widen_the_spread() -> None:
    """The fewer were judged, the less is known: the numbers spread more."""
    many = [result(n, Arm.LEARNED, proven=True, acceptance=float(n % 2)) for n in range(200)]
    few = [
        result(n, Arm.LEARNED, proven=True, acceptance=float(n % 20 == 0) if n % 10 == 0 else None) for n in range(200)
    ]
    assert accepted(few).std() > 2 * accepted(many).std()


def test_a_difference_is_found_and_a_null_result_said() -> None:
    """Learning that fixes far more is better in both measures; equal arms show no difference."""
    better = uplift(world(1500, learned=0.8, control=0.3))
    equal = uplift(world(1500, learned=0.4, control=0.4))
    assert ["learning is better" in each.verdict for each in better] == [True, True]
    assert ["no difference shown" in each.verdict for each in equal] == [True, True]
    assert "learning is worse" in uplift(world(1500, learned=0.2, control=0.7))[0].verdict


def test_two_handfuls_are_too_few() -> None:
    """Fewer than twenty control tasks say nothing."""
    (fixed, _) = uplift(world(50, learned=0.8, control=0.3))
    assert fixed.difference is None
    assert "not known yet" in fixed.verdict
