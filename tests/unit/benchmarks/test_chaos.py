"""The oracle of the chaos benchmark can fail, in each of its four ways."""

from __future__ import annotations

import random
from collections import Counter

from benchmarks.chaos.attacks import OF_SERVERS, OF_THE_APP, planned
from benchmarks.chaos.oracle import ONCE, Bounds, ChaosVerdict, JobEnd, judge
from memory.model.jobs import JobState

EXPECTED = {"answer a#1": Bounds(least=2, most=2), "summary a#2": Bounds(least=1, most=2)}
FOUND = Counter({"answer a#1": 2, "summary a#2": 2, f"{ONCE}post 7": 1})
DONE = JobEnd(id="1", kind="answer", state=JobState.DONE)


def end(state: JobState, *, reported: bool = False) -> JobEnd:
    return JobEnd(id="9", kind="answer", state=state, reason="why", reported=reported)


def test_all_there() -> None:
    """What is there within its bounds, and jobs that are done, are good."""
    assert judge(EXPECTED, FOUND, [DONE]) == ChaosVerdict()
    assert judge(EXPECTED, FOUND, [DONE]).good


def test_lost() -> None:
    """An effect that is not there, or less often than asked for, is lost."""
    verdict = judge(EXPECTED, FOUND - Counter({"answer a#1": 1, "summary a#2": 2}), [DONE])
    assert verdict == ChaosVerdict(
        lost=(
            "answer a#1: 1 of 2",
            "summary a#2: 0 of 1",
        )
    )
    assert not verdict.good


def test_doubled() -> None:
    """An effect that is there more often than asked for, that nobody asked for, or that may be there once, is doubled."""
    verdict = judge(EXPECTED, FOUND + Counter({"answer a#1": 1, "answer a#3": 1, f"{ONCE}post 7": 1}), [DONE])
    assert verdict == ChaosVerdict(
        doubled=(
            "answer a#1: 3 of 2",
            f"{ONCE}post 7: 2 of 1",
            "answer a#3: 1 of 0",
        )
    )


def test_stuck() -> None:
    """A job that waits or runs when nothing is left to do is stuck."""
    verdict = judge(EXPECTED, FOUND, [DONE, end(JobState.READY), end(JobState.LEASED)])
    assert verdict == ChaosVerdict(
        stuck=(
            "answer 9 is ready: why",
            "answer 9 is leased: why",
        )
    )


def test_silent() -> None:
    """A job that failed or died without a word to anybody is silent; one that was reported is shown."""
    verdict = judge(EXPECTED, FOUND, [DONE, end(JobState.FAILED), end(JobState.DEAD, reported=True)])
    assert verdict == ChaosVerdict(silent=("answer 9 is failed: why",))
    assert verdict.failed == ("answer 9 is dead: why",)


def test_plan() -> None:
    """62 kills have every kind in them, Redis twelve times; without servers there is none of theirs. A seed gives one plan."""
    plan = planned(62, random.Random(1), embedded=False)
    assert Counter(plan) == Counter(2 * (OF_THE_APP + OF_SERVERS))
    assert Counter(plan)["redis"] == 12
    assert set(planned(62, random.Random(1), embedded=True)) == set(OF_THE_APP)
    assert planned(9, random.Random(1), embedded=False) == plan[:9]
