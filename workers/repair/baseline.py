"""How the chosen tests end without any edit: what the fork server has to reproduce before its verdicts count."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workers.repair.forkserver import Answer, ForkServer, Request

SLACK, MARGIN_SECONDS = 3.0, 2.0
"""Unedited tests may compute so many times what they took before, and so much more."""

REPAIRED_SECONDS = 0.06
"""What a failing test is taken to cost once it is repaired, if it failed sooner and others cost as much."""

ENDLESS_SECONDS = 1.0
"""What tests that never end may compute before they are taken to be what they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The tests to judge by: those to be made to pass, and those that pass and must go on to.

    `seconds` is what they took, all together, when they were last run; `endless` failing ones are left out of it.
    """

    failing: tuple[str, ...]
    covering: tuple[str, ...]
    seconds: float = 10.0
    endless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`covering` are the covering tests that pass here too; `cpu` is what all cost, swapped into memory and afresh.

    `each` is what single tests usually compute, in seconds, the failing and then the covering ones. `wall` is what they
    took by the clock; `fresh` tells that nothing may be swapped.
    """

    covering: tuple[str, ...]
    cpu: tuple[float, float]
    each: tuple[float, ...]
    wall: float
    fresh: bool
    runs: int

    def demanding(self, seconds: Mapping[str, float], failing: int) -> Baseline:
        """The same with more tests, which cost so much, put before the covering ones; `failing` is the number of failing ones."""
        more = sum(seconds.values())
        return replace(
            self,
            covering=(*seconds, *self.covering),
            cpu=(self.cpu[0] + more, self.cpu[1] + more),
            each=(*self.each[:failing], *seconds.values(), *self.each[failing:]),
            wall=self.wall + more,
        )


class Unfit(Exception):
    """The project defeats the fork server; the text says why."""


def establish(server: ForkServer, wanted: Selection) -> Baseline:
    """Run the tests afresh, then twice in memory, and compare; raises Unfit, and SandboxEnded."""
    began = time.monotonic()
    shown, judging = _first(server, wanted)
    wall = time.monotonic() - began
    again = [] if server.unfit else [server.ask(_unedited(judging, fresh=False)) for _ in range(2)]
    runs = 1 + len(again) + (judging is not wanted)
    baseline = settled(judging, shown, again, wall=wall, runs=runs)
    # The failing tests are asked for again with every candidate, whether or not they could be run unedited.
    return replace(baseline, each=_each(wanted.failing, baseline.covering, (shown, *again)))


def settled(wanted: Selection, shown: Answer, again: Sequence[Answer], *, wall: float, runs: int) -> Baseline:
    """The baseline in the answers: `shown` was run afresh, `again` in memory; raises Unfit."""
    passing = [test for test in wanted.failing if shown.outcomes.get(test)]
    if passing:
        raise Unfit(f"{passing[0]} passes when run apart from the others")
    agreed = bool(again) and all(a.how == "swap" and a.outcomes == shown.outcomes for a in again)
    covering = tuple(test for test in wanted.covering if shown.outcomes.get(test))
    return Baseline(
        covering=covering,
        cpu=(_usual(again[-1] if agreed else shown), shown.cpu),
        each=_each(wanted.failing, covering, (shown, *again)),
        wall=wall,
        fresh=not agreed,
        runs=runs,
    )


def _usual(answer: Answer) -> float:
    """What the tests cost; nothing is known of those that do not end."""
    return 0.0 if answer.ended == "cpu" else answer.cpu


def _each(failing: Sequence[str], covering: Sequence[str], answers: Sequence[Answer]) -> tuple[float, ...]:
    """What each test costs. A repaired one may go further than the failing one went: as far as the slowest, within bounds."""
    most = {test: max(answer.costs.get(test, 0.0) for answer in answers) for test in (*failing, *covering)}
    slowest = max((cost for answer in answers for cost in answer.costs.values()), default=0.0)
    least = min(slowest, REPAIRED_SECONDS)
    return (*(max(most[test], least) for test in failing), *(most[test] for test in covering))


def _first(server: ForkServer, wanted: Selection) -> tuple[Answer, Selection]:
    """The tests afresh; without the failing ones when those never end, or end the process."""
    rest = Selection(failing=(), covering=wanted.covering, seconds=wanted.seconds)
    if not (wanted.endless and wanted.covering):
        answer = server.ask(_unedited(wanted, fresh=True))
        if answer.ended == "answered" or not wanted.covering:
            return answer, wanted
    return server.ask(_unedited(rest, fresh=True)), rest


def _unedited(wanted: Selection, *, fresh: bool) -> Request:
    cpu = ENDLESS_SECONDS if wanted.endless else SLACK * wanted.seconds + MARGIN_SECONDS
    return Request(
        id=0,
        failing=wanted.failing,
        covering=wanted.covering,
        cpu=(cpu, cpu),
        wall=10.0 + 2 * cpu,
        whole=True,
        fresh=fresh,
    )
