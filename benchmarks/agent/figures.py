"""The figures of runs: pass@1 by trial with its interval, what a solved case costs, the curve as a picture; and two runs on
the same cases: McNemar's exact test (1947) by trial, and over all trials a bootstrap by case.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path

import numpy as np

from benchmarks.agent.folder import BadRun, Folder, Outcome, Plan, Record
from benchmarks.report import Numbers, bootstrap, show
from memory.intervals import wilson

# ── One run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


HEAD = (
    "cases",
    "solved",
    "pass@1 (95 %)",
    "solved so far (95 %)",
    "plausible only",
    "steps a case",
    "tokens a solved case",
    "USD a solved case",
)
STAND_IN = "the endpoint is the scripted stand-in, no model: nothing here says anything about any model's quality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial's figures; `tokens` and `micros` (millionths of a US dollar) are of all its cases.

    `so_far` counts its cases that this trial or an earlier one solved, which is what Reflexion's curves show.
    """

    number: int
    cases: int
    solved: int
    so_far: int
    plausible: int
    steps: float
    tokens: int
    micros: int

    def cells(self) -> tuple[str, ...]:
        """As the columns of the table."""
        return (
            str(self.cases),
            str(self.solved),
            _shown(self.solved, self.cases),
            _shown(self.so_far, self.cases),
            str(self.plausible),
            f"{self.steps:.1f}",
            f"{self.tokens / self.solved:.0f}" if self.solved else "none solved",
            f"{self.micros / 1e6 / self.solved:.4f}" if self.solved else "none solved",
        )


def _shown(part: int, whole: int) -> str:
    low, high = wilson(part, whole)
    return f"{part / whole:.2f} ({low:.2f} to {high:.2f})"


def curve(plan: Plan, records: Sequence[Record]) -> list[Trial]:
    """The figures of each trial that has begun, over what is evaluated: of a run with held-out cases, those alone."""
    judged = [record for record in records if record.held_out or not plan.held_out]
    numbers = sorted({record.trial for record in judged})
    return [_trial(number, judged) for number in numbers]


def solved_by(number: int, records: Sequence[Record]) -> set[str]:
    """The cases that this trial or an earlier one solved."""
    return {record.case for record in records if record.solved and record.trial <= number}


def _trial(number: int, judged: Sequence[Record]) -> Trial:
    records, ever = [record for record in judged if record.trial == number], solved_by(number, judged)
    return Trial(
        number=number,
        cases=len(records),
        solved=sum(record.solved for record in records),
        so_far=sum(record.case in ever for record in records),
        plausible=sum(record.outcome is Outcome.PLAUSIBLE for record in records),
        steps=statistics.mean(record.steps for record in records),
        tokens=sum(record.tokens for record in records),
        micros=sum(record.micros for record in records),
    )


def setting(plan: Plan) -> str:
    """How a run was set, in a line."""
    memory = f"memory on, retries by {plan.retry_mode}" if plan.memory else "no memory"
    held = ", evaluated on held-out cases" if plan.held_out else ""
    return f"{plan.suite}, {plan.model}, {memory}{held}, attempts {plan.attempts}, seed {plan.seed}"


def report(plan: Plan, records: Sequence[Record], paid: tuple[int, int]) -> None:
    """Print the table. `paid` are tokens and micros of all calls, those of cases broken off among them."""
    trials = curve(plan, records)
    show(f"agent: {setting(plan)}, 1 run", _aligned(trials), notes(plan, records, paid))


def _aligned(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    rows = [HEAD, *(trial.cells() for trial in trials)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    names = ["", *(f"trial {trial.number}" for trial in trials)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return list(zip(names, lines, strict=True))


def notes(plan: Plan, records: Sequence[Record], paid: tuple[int, int]) -> list[str]:
    """What the table is to be read with."""
    broken = [record for record in records if record.outcome is Outcome.DID_NOT_RUN]
    seconds = statistics.median(record.seconds for record in records) if records else 0.0
    found = [
        f"paid in all: {paid[0]} tokens, {paid[1] / 1e6:.4f} US dollars; median {seconds:.1f} s a case",
        f"cases finished at {', '.join(sorted({record.commit for record in records})) or 'no commit yet'}",
    ]
    if broken:
        found.append(
            f"{len(broken)} did not run, and count as not solved; the first, {broken[0].case}: {broken[0].problem}"
        )
    return [*found, STAND_IN] if plan.scripted else found


def draw(plan: Plan, records: Sequence[Record], folder: Path) -> None:
    """The learning curve, as PNG and SVG."""
    from matplotlib.figure import Figure  # slow to import

    trials = curve(plan, records)
    numbers = [trial.number for trial in trials]
    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    for name, parts in (("pass@1", [t.solved for t in trials]), ("solved so far", [t.so_far for t in trials])):
        shares = [part / trial.cases for part, trial in zip(parts, trials, strict=True)]
        ends = [wilson(part, trial.cases) for part, trial in zip(parts, trials, strict=True)]
        below = [share - low for share, (low, _) in zip(shares, ends, strict=True)]
        above = [high - share for share, (_, high) in zip(shares, ends, strict=True)]
        axes.errorbar(numbers, shares, yerr=[below, above], marker="o", capsize=3, label=name)
    axes.set(xlabel="trial", ylabel="share of cases, 95 % (Wilson)", ylim=(0.0, 1.05), xticks=numbers)
    axes.set_title(setting(plan), fontsize="x-small", wrap=True)
    axes.legend(frameon=False)
    for kind in ("png", "svg"):
        figure.savefig(folder / f"curve.{kind}", dpi=150)


# ── Two runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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

    def shown(self) -> str:
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
    return pairs([one[key] for key in keys], [other[key] for key in keys]).shown()


def _ever(shared: Sequence[tuple[int, str]], one: Solved, other: Solved) -> str:
    cases = sorted({case for _, case in shared})
    ours, theirs = ({case for trial, case in shared if solved[trial, case]} for solved in (one, other))
    return pairs([case in ours for case in cases], [case in theirs for case in cases]).shown()


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
