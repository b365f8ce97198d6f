"""Several judges at once. One is there from the start; the others join when there turns out to be much to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock

from workers.repair.judges import Judge, Judged
from workers.repair.ladder import Step


class Panel:
    """`most` judges at most, made by `make`, all with the same baseline; `clock` gives seconds."""

    def __init__(self, make: Callable[[], Judge], most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._most = most
        self._clock = clock
        self._first = make()
        self._judges = [self._first]
        self._free: SimpleQueue[Judge] = SimpleQueue()
        self._threads = ThreadPoolExecutor(max_workers=most + 1, thread_name_prefix="judge")
        self._joining: list[Future[None]] = []
        self._opening = self._judging = 0.0
        self._counting = Lock()

    def open(self) -> int:
        """Have the first judge ready; how often tests were run for that."""
        begun = self._clock()
        baseline = self._first.open()
        self._opening = self._clock() - begun
        self._free.put(self._first)
        return baseline.runs if baseline else 0

    def demand(self, seconds: Mapping[str, float]) -> None:
        """Have all judges judge by these tests as well, once each has ended what it is at."""
        for joining in self._joining:
            joining.result()
        for judge in [self._free.get() for _ in self._judges]:
            judge.demand(seconds)
            self._free.put(judge)

    def close(self) -> None:
        """End all servers; what has been submitted and not begun is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for judge in self._judges:
            judge.close()

    @property
    def note(self) -> str:
        """Why candidates get a process of their own, with any of the judges."""
        return next((judge.note for judge in self._judges if judge.note), "")

    @property
    def size(self) -> int:
        """How many judges there are, those that are about to join included."""
        return 1 + len(self._joining)

    @property
    def takes_several(self) -> bool:
        """Whether steps on the first rung, for one file, are better submitted together."""
        return self._first.takes_several

    def submit(self, steps: Sequence[Step]) -> list[Future[Judged]]:
        """Have steps judged by whoever is free first, one judge for all of them."""
        self._grow()
        verdicts: list[Future[Judged]] = [Future() for _ in steps]
        work = self._threads.submit(self._judge, tuple(zip(steps, verdicts, strict=True)))
        work.add_done_callback(lambda done: _abandon(verdicts, done))
        return verdicts

    @contextmanager
    def lent(self) -> Iterator[Judge]:
        """A judge for another use; always the first one, so that what it tells can be compared."""
        others: list[Judge] = []
        while (judge := self._free.get()) is not self._first:
            others.append(judge)
        for other in others:
            self._free.put(other)
        try:
            yield judge
        finally:
            self._free.put(judge)

    def _judge(self, work: Sequence[tuple[Step, Future[Judged]]]) -> None:
        judge = self._free.get()
        begun = self._clock()
        try:
            wanted = [(step, verdict) for step, verdict in work if verdict.set_running_or_notify_cancel()]
            judged = judge.judge_all([step for step, _ in wanted])
            for (_, verdict), told in zip(wanted, judged, strict=True):
                verdict.set_result(told)
        finally:
            self._free.put(judge)
            with self._counting:
                self._judging += self._clock() - begun

    def _grow(self) -> None:
        """Have another judge join once judging has taken as long as each opening so far: it will hardly be for nothing."""
        for joining in self._joining:
            if joining.done():
                joining.result()
        if self.size < self._most and self._judging > self.size * self._opening:
            self._joining.append(self._threads.submit(self._join))

    def _join(self) -> None:
        judge = self._make()
        self._judges.append(judge)
        judge.join(self._first)
        self._free.put(judge)


def _abandon(verdicts: Sequence[Future[Judged]], work: Future[None]) -> None:
    """Once work has ended, no verdict may be waited for that it did not come to."""
    for verdict in verdicts:
        if work.cancelled():
            verdict.cancel()
        elif not verdict.done() and (error := work.exception()) is not None:
            verdict.set_exception(error)
