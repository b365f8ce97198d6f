"""Screen candidates: which of them make the failing tests pass and leave the covering ones passing.

A screen is quick and may be wrong, as its candidates share a checkout; what it finds plausible is proven by prove.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import groupby

from workers.ports import Limits, Sandbox
from workers.repair.baseline import Selection
from workers.repair.candidates import Candidate, Verdict
from workers.repair.forkserver import Observe, Observed
from workers.repair.judges import CRASH, TIMEOUT, Judge, Judged, implausible
from workers.repair.ladder import Ladder, Step
from workers.repair.machine import cores
from workers.repair.panel import Panel
from workers.sandbox.project import Project

__all__ = ["CRASH", "TIMEOUT", "Screen", "open_screen"]

AHEAD, TOGETHER = 24, 12
"""So many candidates are taken before the verdict on the first of them, so many at once: the same numbers with any number
of judges, so that what is tried after a verdict does not depend on the machine."""


class Screen:
    """Tries candidates, several at once. `note` says why each gets a process of its own, empty when they are forked.

    `test_runs` counts how often tests were run, those without an edit included; `swapped` the candidates among them that
    needed no import, `together` those that shared a fork.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self.test_runs = 0
        self.swapped = 0
        self.together = 0

    def open(self) -> None:
        """Have the first judge ready."""
        self.test_runs += self._panel.open()

    def close(self) -> None:
        """End all judges."""
        self._panel.close()

    @property
    def note(self) -> str:
        """Why each candidate gets a process of its own."""
        return self._panel.note

    def verdicts(self, candidates: Iterable[Candidate], *, deadline: Callable[[], bool]) -> Iterator[Verdict]:
        """Judge candidates as they are taken from their source, until it is empty or `deadline()` is true.

        In order, but those that computed too long come again later with more time; each gets one verdict.
        """
        ladder = Ladder(candidates)
        for step, judged in self._judged(ladder, deadline):
            self.test_runs += judged.ran
            self.swapped += judged.swapped
            self.together += judged.together
            if not (judged.slow and ladder.climb(step)):
                yield judged.verdict
        for candidate in ladder.left():
            yield implausible(candidate, TIMEOUT, "its tests had not ended when the time was used up")

    def demand(self, seconds: Mapping[str, float]) -> None:
        """Judge from now on by these tests too, each with the seconds that it takes."""
        self._panel.demand(seconds)

    def observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        """How a candidate behaves on calls like those of its tests; None where that cannot be told."""
        self.test_runs += 1
        with self._panel.lent() as judge:
            return judge.observed(candidate, observe)

    def _judged(self, ladder: Ladder, deadline: Callable[[], bool]) -> Iterator[tuple[Step, Judged]]:
        """Steps in order, each with what came of it; what a verdict adds to the ladder is tried as well."""
        begun: deque[tuple[Step, Future[Judged]]] = deque()
        over = False
        try:
            while True:
                while not over and len(begun) <= AHEAD - TOGETHER:
                    steps, over = _taken(ladder, deadline)
                    begun.extend(self._submitted(steps))
                    if len(steps) < TOGETHER:
                        break
                if not begun:
                    return
                step, judging = begun.popleft()
                yield step, judging.result()
        finally:
            for _, judging in begun:
                judging.cancel()

    def _submitted(self, steps: Sequence[Step]) -> Iterator[tuple[Step, Future[Judged]]]:
        """Steps that are being judged, together where they may be."""
        for (_, rung), several in groupby(steps, key=lambda step: (step.candidate.path, step.rung)):
            group = list(several)
            together = [group] if rung == 0 and self._panel.takes_several else [[step] for step in group]
            for each in together:
                yield from zip(each, self._panel.submit(each), strict=True)


def _taken(ladder: Ladder, deadline: Callable[[], bool]) -> tuple[list[Step], bool]:
    """The next few steps, and whether no more are to be taken."""
    steps: list[Step] = []
    while len(steps) < TOGETHER and (step := ladder.take()) is not None:
        if deadline():
            ladder.put(step)
            return steps, True
        steps.append(step)
    return steps, False


@contextmanager
def open_screen(
    sandbox: Sandbox,
    project: Project,
    *,
    failing: Sequence[str],
    covering: Sequence[str],
    seconds: float = 10.0,
    endless: bool = False,
    limits: Limits | None = None,
    judges: int | None = None,
    together: bool = True,
) -> Iterator[Screen]:
    """A screen that judges by these tests. `seconds` is what they took when last run, `endless` failing ones left out.

    `limits` are those of one run; there are as many judges as cores unless `judges` says how many at most.
    Without `together` no two candidates share a fork.
    """
    wanted = Selection(failing=tuple(failing), covering=tuple(covering), seconds=seconds, endless=endless)

    def judge() -> Judge:
        return Judge(sandbox, project, wanted, limits or Limits(), together=together)

    screen = Screen(Panel(judge, judges or cores()))
    try:
        screen.open()
        yield screen
    finally:
        screen.close()
