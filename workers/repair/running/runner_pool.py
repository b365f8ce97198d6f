"""The runners on each core: which candidates make the failing tests pass and leave the covering ones passing.

A screen is quick and may be wrong, as its candidates share a checkout; what it finds plausible is proven afterwards. One
runner is there from the start; the others join when there turns out to be much to do.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from queue import SimpleQueue
from threading import Lock
from typing import Self

from workers.ports import Limits, Sandbox
from workers.repair.candidates import TIMEOUT, Candidate, ScreenVerdict, implausible
from workers.repair.reproduce import ScreeningTests
from workers.repair.running.candidate_runner import CandidateRunner, ScheduledCandidate, Screened, TimeoutSchedule
from workers.repair.running.forkserver import Observe, Observed, cores
from workers.repair.time_allowance import Deadline
from workers.sandbox.project import Project

AHEAD, TOGETHER = 24, 12
"""How many candidates are read before the verdict on the first of them, and how many at once: the same with any number
of runners, so that what is tried after a verdict does not depend on the machine."""


class RunnerPool:
    """`most` runners at most, made by `make`, all with the same baseline; `clock` gives seconds.

    `test_runs` counts how often tests were run, those without an edit included; `swapped` the candidates among them that
    needed no import, `together` those that shared a fork. No try lasts past `deadline`. It is open within its context.
    """

    def __init__(
        self, make: Callable[[], CandidateRunner], most: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._most = most
        self._clock = clock
        self._first = make()
        self._runners = [self._first]
        self._free: SimpleQueue[CandidateRunner] = SimpleQueue()
        self._threads = ThreadPoolExecutor(max_workers=most + 1, thread_name_prefix="runner")
        self._joining: list[Future[None]] = []
        self._opening = self._running = 0.0
        self._counting = Lock()
        self.deadline = Deadline(math.inf)
        self.test_runs = 0
        self.swapped = 0
        self.together = 0

    def __enter__(self) -> Self:
        with ExitStack() as undone:
            undone.callback(self.close)
            self.open()
            undone.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def open(self) -> None:
        """Have the first runner ready."""
        begun = self._clock()
        baseline = self._first.open()
        self._opening = self._clock() - begun
        self._free.put(self._first)
        self.test_runs += baseline.runs if baseline else 0

    def close(self) -> None:
        """End all runners; what has been submitted and not begun is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for runner in self._runners:
            runner.close()

    @property
    def note(self) -> str:
        """Why each candidate gets a process of its own, with any of the runners; empty when they are forked."""
        return next((runner.note for runner in self._runners if runner.note), "")

    @property
    def size(self) -> int:
        """How many runners there are, those that are about to join included."""
        return 1 + len(self._joining)

    def verdicts(self, candidates: Iterable[Candidate], *, deadline: Callable[[], bool]) -> Iterator[ScreenVerdict]:
        """Screen candidates as they are read from their source, until it is empty or `deadline()` is true.

        In order, but those that computed too long come again later with more time; each gets one verdict, but for those
        whose turn comes after the pool's deadline.
        """
        schedule = TimeoutSchedule(candidates)
        for scheduled, screened in self._screened(schedule, deadline):
            self.test_runs += not screened.late
            self.swapped += screened.swapped
            self.together += screened.together
            if not screened.late and not (screened.slow and schedule.retry_later(scheduled)):
                yield screened.verdict
        for candidate in schedule.left():
            yield implausible(candidate, TIMEOUT, "its tests had not ended when the time was used up")

    def demand(self, seconds: Mapping[str, float]) -> None:
        """Screen from now on by these tests too, each with the seconds that it needs, once each runner is free."""
        for joining in self._joining:
            joining.result()
        runners = [self._free.get() for _ in self._runners]
        try:
            for runner in runners:
                runner.demand(seconds)
        finally:  # threads wait for a free one, and closing waits for them
            for runner in runners:
                self._free.put(runner)

    def observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        """How a candidate behaves on calls like those of its tests; None where that cannot be observed.

        Always with the first runner, so that observations can be compared.
        """
        self.test_runs += 1
        others: list[CandidateRunner] = []
        while (runner := self._free.get()) is not self._first:
            others.append(runner)
        for other in others:
            self._free.put(other)
        try:
            return runner.observed(candidate, observe)
        finally:
            self._free.put(runner)

    def submit(self, batch: Sequence[ScheduledCandidate]) -> Future[list[Screened]]:
        """Have a batch screened by the runner that is free first."""
        self._grow()
        return self._threads.submit(self._run, batch)

    def _screened(
        self, schedule: TimeoutSchedule, deadline: Callable[[], bool]
    ) -> Iterator[tuple[ScheduledCandidate, Screened]]:
        """Scheduled candidates in order, each with its result; what a result adds to the schedule is tried as well."""
        begun: deque[tuple[ScheduledCandidate, Future[list[Screened]], int]] = deque()
        over = False
        try:
            while True:
                while not over and len(begun) <= AHEAD - TOGETHER:
                    read, over = _read(schedule, deadline)
                    begun.extend(self._submitted(read))
                    if len(read) < TOGETHER:
                        break
                if not begun:
                    return
                scheduled, running, place = begun.popleft()
                yield scheduled, running.result()[place]
        finally:
            for _, running, _ in begun:
                running.cancel()

    def _submitted(
        self, scheduled: Sequence[ScheduledCandidate]
    ) -> Iterator[tuple[ScheduledCandidate, Future[list[Screened]], int]]:
        """Candidates that are being screened, those of one file on the first level in one batch where that is better.

        Each with its batch and its place there.
        """
        for (_, level), several in groupby(scheduled, key=lambda each: (each.candidate.path, each.level)):
            group = list(several)
            for batch in [group] if level == 0 and self._first.takes_several else [[each] for each in group]:
                running = self.submit(batch)
                yield from ((each, running, place) for place, each in enumerate(batch))

    def _run(self, batch: Sequence[ScheduledCandidate]) -> list[Screened]:
        runner = self._free.get()
        runner.deadline = self.deadline
        begun = self._clock()
        try:
            return list(runner.screen_all(batch))
        finally:
            self._free.put(runner)
            with self._counting:
                self._running += self._clock() - begun

    def _grow(self) -> None:
        """Have another runner join once running has lasted as long as each opening so far: it will hardly be for nothing."""
        for joining in self._joining:
            if joining.done():
                joining.result()
        if self.size < self._most and self._running > self.size * self._opening:
            self._joining.append(self._threads.submit(self._join))

    def _join(self) -> None:
        runner = self._make()
        self._runners.append(runner)
        runner.join(self._first)
        self._free.put(runner)


def _read(schedule: TimeoutSchedule, deadline: Callable[[], bool]) -> tuple[list[ScheduledCandidate], bool]:
    """The next few candidates, and whether no more are to be read."""
    found: list[ScheduledCandidate] = []
    while len(found) < TOGETHER and (scheduled := schedule.next()) is not None:
        if deadline():
            schedule.put(scheduled)
            return found, True
        found.append(scheduled)
    return found, False


def pool_for(
    sandbox: Sandbox,
    project: Project,
    wanted: ScreeningTests,
    *,
    limits: Limits | None = None,
    runners: int | None = None,
    together: bool = True,
) -> RunnerPool:
    """A pool that screens by these tests. `limits` are those of one run; there are as many runners as cores unless
    `runners` says how many at most. Without `together` no two candidates share a fork.
    """
    make = partial(CandidateRunner, sandbox, project, wanted, limits or Limits(), together=together)
    return RunnerPool(make, runners or cores())
