"""What learning was worth, task by task, with silence censored."""

from __future__ import annotations

import random

import pytest
from inline_snapshot import snapshot

from memory.evaluation.control_arm import TaskResult, accepted, needed, results, uplift
from memory.model import Arm, SignalKind
from tests.unit.memory.ledgers import START, logged, said

EVEN = {"a": 0.5, "b": 0.5}


def result(number: int, arm: Arm, *, proven: bool, acceptance: float | None = None) -> TaskResult:
    return TaskResult(
        task=f"t{number:04}", arm=arm, family="lookup", version="v", started=START, proven=proven,
        acceptance=acceptance,
    )  # fmt: skip


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


def test_a_choice_that_no_post_carries_takes_no_verdict_away() -> None:
    """A model's retry mode is chosen after the strategy whose fix people judge."""
    log = [
        logged(0, EVEN, "a", proven=True, task="t", said=(said(1, SignalKind.ACCEPTED),)),
        logged(1, EVEN, "b", proven=True, task="t"),
    ]
    assert results(log)[0].acceptance == 1.0


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
    better = uplift(world(1500, learned=0.8, control=0.3), 0.2)
    equal = uplift(world(1500, learned=0.4, control=0.4), 0.2)
    assert ["learning is better" in each.verdict for each in better] == [True, True]
    assert ["no difference shown" in each.verdict for each in equal] == [True, True]
    assert "learning is worse" in uplift(world(1500, learned=0.2, control=0.7), 0.2)[0].verdict


def test_two_handfuls_are_too_few() -> None:
    """Fewer than twenty control tasks say nothing."""
    (fixed, _) = uplift(world(50, learned=0.8, control=0.3), 0.2)
    assert fixed.difference is None
    assert "not known yet" in fixed.verdict


@pytest.mark.parametrize("learned", [20, 33, 49, 380])
def test_twenty_of_each_arm_are_enough(learned: int) -> None:
    """The smaller arm is counted, not computed from its share: twenty of it are twenty, of however many tasks."""
    arms = [Arm.CONTROL] * 20 + [Arm.LEARNED] * learned
    (fixed, _) = uplift([result(number, arm, proven=number % 2 == 0) for number, arm in enumerate(arms)], 0.1)
    assert fixed.difference is not None


def test_with_equal_shares_the_arm_that_lacks_more_is_waited_for() -> None:
    """Where each arm gets a half, what it takes is twice what the smaller one lacks, whichever that is."""
    tasks = [result(number, Arm.LEARNED, proven=True) for number in range(10)]
    others = [result(number, Arm.CONTROL, proven=True) for number in range(10, 12)]
    assert uplift([*tasks, *others], 0.5)[0].further == 2 * 18


def test_it_says_how_many_more_repairs_it_takes() -> None:
    """Before there is a figure, with one that is not seen yet, with one that is, and where it is not worth waiting for."""
    worlds = (
        world(50, learned=0.8, control=0.3),
        world(300, learned=0.6, control=0.5),
        world(1500, learned=0.8, control=0.3),
        world(1500, learned=0.4, control=0.4),
    )
    assert [uplift(each, 0.2)[0].outlook for each in worlds] == snapshot(
        [
            "about 60 more repairs until there is a figure",
            "about 1,100 more repairs to see a difference as large as +0.10",
            "none more: 1,500 repairs suffice to see a difference as large as +0.45",
            "more than it is worth: about 11,000 more repairs to see a difference as small as -0.030; about 3,000 more to see one of 0.05",
        ]
    )
    assert uplift(worlds[0], 0.0)[0].outlook == snapshot(
        "no number of repairs: one arm gets none (APPRENTICE_CONTROL_SHARE)"
    )


def test_the_published_number_needed_is_reproduced() -> None:
    """65 % against 85 % takes 70 of each arm at 80 % power (Chow, Shao and Wang 2003, section 4.2)."""
    assert needed((2 * (0.65 * 0.35 + 0.85 * 0.15)) ** 0.5, 0.2) == 2 * 70
