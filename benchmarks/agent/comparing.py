"""Two runs on the same cases: McNemar's exact test (1947) by trial, and over all trials a bootstrap by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from benchmarks.agent.folder import Folder
from benchmarks.agent.records import BadRun, Plan, Record
from benchmarks.agent.reporting import STAND_IN, setting
from benchmarks.report import Numbers, bootstrap, show

Solved = Mapping[tuple[int, str], bool]
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Cases of one trial by who solved them."""

    both: int
    ours: int
    theirs: int
    neither: int

    @property
    def p(self) -> float:
        """The two-sided p-value of as uneven a split of what one alone solved, were both alike."""
        apart, fewer = self.ours + self.theirs, min(self.ours, self.theirs)
        return min(1.0, 2.0 * sum(comb(apart, k) for k in range(fewer + 1)) / 2.0**apart)

    def told(self) -> str:
        """In words; that nothing is shown where it is not."""
        verdict = "a difference" if self.p < LEVEL else "no difference shown"
        return f"both {self.both}, A alone {self.ours}, B alone {self.theirs}, neither {self.neither}; p = {self.p:.3f}: {verdict}"


def pairs(ours: Sequence[bool], theirs: Sequence[bool]) -> Pairs:
    """Counts over the same cases in the same order."""
    both = list(zip(ours, theirs, strict=True))
    return Pairs(
        both=both.count((True, True)),
        ours=both.count((True, False)),
        theirs=both.count((False, True)),
        neither=both.count((False, False)),
    )


def compare(ours: Folder, theirs: Folder) -> None:
    """Print what tells two runs apart. Raises BadRun where they share no evaluated case of a trial."""
    plans = (ours.plan, theirs.plan)
    one, other = (_solved(plan, run.records) for plan, run in zip(plans, (ours, theirs), strict=True))
    shared = sorted(one.keys() & other.keys())
    if not shared:
        raise BadRun(f"{ours.path} and {theirs.path} finished no case of the same trial, so nothing can be paired")
    left_out = len(one) + len(other) - 2 * len(shared)
    show(
        f"A {setting(plans[0])}; B {setting(plans[1])}; 1 run of each",
        [
            *((f"trial {trial}", _of_trial(trial, shared, one, other)) for trial in sorted({t for t, _ in shared})),
            ("solved in any trial", _ever(shared, one, other)),
            ("all trials, pass@1 of A less B", _overall(shared, one, other)),
        ],
        [
            f"{len({case for _, case in shared})} cases paired; {left_out} results of one run alone left out",
            *([STAND_IN] if any(plan.scripted for plan in plans) else []),
        ],
    )


def _solved(plan: Plan, records: Sequence[Record]) -> Solved:
    return {(r.trial, r.case): r.solved for r in records if r.held_out or not plan.held_out}


def _of_trial(trial: int, shared: Sequence[tuple[int, str]], one: Solved, other: Solved) -> str:
    keys = [key for key in shared if key[0] == trial]
    return pairs([one[key] for key in keys], [other[key] for key in keys]).told()


def _ever(shared: Sequence[tuple[int, str]], one: Solved, other: Solved) -> str:
    cases = sorted({case for _, case in shared})
    ours, theirs = ({case for trial, case in shared if solved[trial, case]} for solved in (one, other))
    return pairs([case in ours for case in cases], [case in theirs for case in cases]).told()


def _overall(shared: Sequence[tuple[int, str]], one: Solved, other: Solved) -> str:
    """The mean difference by case, its trials taken together: they are not independent of each other."""
    gaps: dict[str, list[int]] = {}
    for key in shared:
        gaps.setdefault(key[1], []).append(one[key] - other[key])
    found = bootstrap([float(np.mean(each)) for each in gaps.values()], _means)
    verdict = "no difference shown" if found.low <= 0.0 <= found.high else "a difference"
    return f"{found.shown()}: {verdict}"


def _means(samples: Numbers) -> Numbers:
    return np.asarray(samples.mean(axis=1), dtype=np.float64)
