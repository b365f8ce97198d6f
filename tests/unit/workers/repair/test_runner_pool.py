"""Several runners at once change how soon verdicts come, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from unittest.mock import Mock

import pytest

from memory.model import EditShape
from workers.errors import CannotRun
from workers.repair.candidates import TIMEOUT, Candidate, ScreenVerdict
from workers.repair.running.candidate_runner import CandidateRunner, ScheduledCandidate, Screened
from workers.repair.running.forkserver import Baseline, Observe, Observed
from workers.repair.running.runner_pool import AHEAD, TOGETHER, RunnerPool

BASELINE = Baseline(covering=(), cpu=(0.1, 0.1), each=(0.1,), wall=0.1, fresh=False, runs=3)


def candidate(name: str) -> Candidate:
    return Candidate(
        path="a.py",
        source=name,
        line=1,
        function="",
        template="t",
        strategy="s",
        shape=EditShape(template="t", before="", after=""),
        score=1.0,
    )


class Fake(CandidateRunner):
    """A runner without a server, which calls `first` before each verdict and finds what is called slow too slow once."""

    def __init__(self, first: Callable[[ScheduledCandidate], None] = lambda _: None) -> None:
        self.note = ""
        self.closed = False
        self.observations = 0
        self.demanded: tuple[str, ...] = ()
        self._first = first
        self._several = False

    def open(self) -> Baseline | None:
        return BASELINE

    def join(self, other: CandidateRunner) -> None:
        assert isinstance(other, Fake)
        self.demanded = other.demanded

    def demand(self, seconds: Mapping[str, float]) -> None:
        self.demanded = (*self.demanded, *seconds)

    def close(self) -> None:
        self.closed = True

    def observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        self.observations += 1
        return None

    @property
    def takes_several(self) -> bool:
        return self._several

    def screen(self, step: ScheduledCandidate) -> Screened:
        self._first(step)
        slow = step.candidate.source.startswith("slow") and step.level == 0
        return Screened(verdict=ScreenVerdict(candidate=step.candidate, plausible=False, passed=0), slow=slow)


@pytest.fixture
def opened() -> Iterator[Callable[..., tuple[RunnerPool, list[Fake]]]]:
    """Makes screens of runners that are all made at once, on a clock that ticks whenever it is read."""
    screens: list[RunnerPool] = []

    def make(most: int, first: Callable[[ScheduledCandidate], None] = lambda _: None) -> tuple[RunnerPool, list[Fake]]:
        made: list[Fake] = []

        def another() -> CandidateRunner:
            made.append(Fake(first))
            return made[-1]

        ticks = count()
        screens.append(RunnerPool(another, most, clock=lambda: float(next(ticks))))
        screens[-1].open()
        return screens[-1], made

    yield make
    for screen in screens:
        screen.close()


def never() -> bool:
    return False


def test_verdicts_come_in_the_order_of_the_candidates(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """Also when a later candidate is screened before an earlier one."""
    later = threading.Event()

    def wait_for_the_last(step: ScheduledCandidate) -> None:
        if step.candidate.source == "a":
            assert later.wait(60), "the last one was not screened meanwhile"
        if step.candidate.source == "e":
            later.set()

    screen, made = opened(2, wait_for_the_last)
    names = [*map(str, range(2 * AHEAD)), *"abcde"]
    verdicts = screen.verdicts(map(candidate, names), deadline=never)
    assert [verdict.candidate.source for verdict in verdicts] == names
    assert len(made) == 2


@pytest.mark.parametrize("runners", [1, 2, 5])
def test_what_is_read_does_not_depend_on_the_runners(
    opened: Callable[..., tuple[RunnerPool, list[Fake]]], runners: int
) -> None:
    """At each verdict the same number of candidates has been taken, so what a verdict brings forward comes at one place."""
    taken: list[str] = []

    def source() -> Iterator[Candidate]:
        for number in range(3 * AHEAD):
            taken.append(str(number))
            yield candidate(str(number))

    screen, _ = opened(runners)
    at_verdict = [len(taken) for _ in screen.verdicts(source(), deadline=never)]
    assert at_verdict == [min(AHEAD + number // TOGETHER * TOGETHER, 3 * AHEAD) for number in range(3 * AHEAD)]


def test_what_was_too_slow_gets_its_verdict_later(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """It is tried again with more time, and has one verdict."""
    screen, _ = opened(2)
    verdicts = list(screen.verdicts(map(candidate, ["slow", "b", "c"]), deadline=never))
    assert [verdict.candidate.source for verdict in verdicts] == ["b", "c", "slow"]
    assert screen.test_runs == BASELINE.runs + 4


def test_what_was_begun_at_the_deadline_is_screened(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """Nothing more is begun; the one that had been taken counts as too slow."""
    times = iter([False, False, True])
    screen, _ = opened(2)
    verdicts = list(screen.verdicts(map(candidate, "abcd"), deadline=lambda: next(times)))
    assert [(v.candidate.source, v.error_type) for v in verdicts] == [("a", ""), ("b", ""), ("c", TIMEOUT)]


def test_runners_join_only_when_there_is_much_to_do() -> None:
    """One joins once running has taken longer than opening the first did, the next once it has taken twice that."""
    now = 0.0
    made: list[Fake] = []

    class SlowToOpen(Fake):
        def open(self) -> Baseline | None:
            nonlocal now
            now += 10.0
            return BASELINE

    def take_a_while(_: ScheduledCandidate) -> None:
        nonlocal now
        now += 6.0

    def another() -> CandidateRunner:
        made.append(SlowToOpen(take_a_while))
        return made[-1]

    pool = RunnerPool(another, 8, clock=lambda: now)
    pool.open()
    counts = []
    for _ in range(5):
        pool.submit([ScheduledCandidate(candidate=candidate("a"), level=0)]).result()
        counts.append(pool.size)
    pool.close()
    assert counts == [1, 1, 2, 2, 3]


def test_the_first_runner_observes() -> None:
    """What candidates are compared by comes from one process, whichever runner is free."""
    observe = Observe(path="a.py", function="", seed=1, inputs=1, seconds=1.0, constants=())
    made: list[Fake] = []

    def another() -> CandidateRunner:
        made.append(Fake())
        return made[-1]

    ticks = count()
    pool = RunnerPool(another, 3, clock=lambda: float(next(ticks)))
    pool.open()
    for running in [pool.submit([ScheduledCandidate(candidate=candidate("a"), level=0)]) for _ in range(20)]:
        running.result()
    for _ in range(3):
        pool.observed(candidate("a"), observe)
    pool.close()
    assert [runner.observations for runner in made] == [3] + [0] * (len(made) - 1)
    assert len(made) > 1


def test_every_runner_is_closed(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """Those that joined later as well."""
    screen, made = opened(3)
    list(screen.verdicts(map(candidate, map(str, range(5 * AHEAD))), deadline=never))
    screen.close()
    assert [runner.closed for runner in made] == [True] * 3


def test_an_error_in_a_runner_is_not_lost(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """It reaches the reader of the verdicts."""

    def fail(_: ScheduledCandidate) -> None:
        raise OSError("no more memory")

    screen, _ = opened(2, fail)
    with pytest.raises(OSError, match="no more memory"):
        list(screen.verdicts(map(candidate, "ab"), deadline=never))


def test_what_is_demanded_binds_all_runners(opened: Callable[..., tuple[RunnerPool, list[Fake]]]) -> None:
    """Those that are there, and those that join later."""
    screen, made = opened(3)
    screen.demand({"test_a": 0.1})
    assert len(list(screen.verdicts(map(candidate, map(str, range(6 * AHEAD))), deadline=never))) == 6 * AHEAD
    screen.demand({"test_b": 0.1})
    assert len(made) == 3
    assert [runner.demanded for runner in made] == [("test_a", "test_b")] * 3


def test_an_error_while_more_is_demanded_keeps_no_runner(
    opened: Callable[..., tuple[RunnerPool, list[Fake]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was submitted is screened, and closing ends."""
    screen, made = opened(2)
    monkeypatch.setattr(made[0], "demand", Mock(side_effect=CannotRun("no sandbox")))
    with pytest.raises(CannotRun):
        screen.demand({"test_a": 0.1})
    assert len(list(screen.verdicts(map(candidate, "ab"), deadline=never))) == 2


def test_a_baseline_takes_more_tests_before_the_covering_ones() -> None:
    """What each test costs stays in the order in which they are asked for."""
    two = replace(BASELINE, covering=("c",), cpu=(1.0, 2.0), each=(0.1, 0.3), wall=1.0)
    more = two.demanding({"d": 0.2}, failing=1)
    assert (more.covering, more.each) == (("d", "c"), (0.1, 0.2, 0.3))
    assert (more.cpu, more.wall) == ((1.2, 2.2), 1.2)
