"""What a run says: pass@1 by trial with its interval, what a solved case cost, and the curve as a picture."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agent.records import Outcome, Plan, Record
from benchmarks.report import show
from memory.intervals import wilson

HEAD = (
    "cases",
    "solved",
    "pass@1 (95 %)",
    "plausible only",
    "steps a case",
    "tokens a solved case",
    "USD a solved case",
)
STAND_IN = "the endpoint is the scripted stand-in, no model: nothing here says anything about any model's quality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial's figures; `tokens` and `micros` (millionths of a US dollar) are of all its cases."""

    number: int
    cases: int
    solved: int
    plausible: int
    steps: float
    tokens: int
    micros: int

    @property
    def share(self) -> float:
        """Of its cases, solved at their one try in this trial: pass@1."""
        return self.solved / self.cases

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.solved, self.cases)

    def cells(self) -> tuple[str, ...]:
        """As the columns of the table."""
        low, high = self.interval
        return (
            str(self.cases),
            str(self.solved),
            f"{self.share:.2f} ({low:.2f} to {high:.2f})",
            str(self.plausible),
            f"{self.steps:.1f}",
            f"{self.tokens / self.solved:.0f}" if self.solved else "none solved",
            f"{self.micros / 1e6 / self.solved:.4f}" if self.solved else "none solved",
        )


def curve(plan: Plan, records: Sequence[Record]) -> list[Trial]:
    """The figures of each trial that has begun, over what is evaluated: of a run with held-out cases, those alone."""
    judged = [record for record in records if record.held_out or not plan.held_out]
    numbers = sorted({record.trial for record in judged})
    return [_trial(number, [record for record in judged if record.trial == number]) for number in numbers]


def _trial(number: int, records: Sequence[Record]) -> Trial:
    return Trial(
        number=number,
        cases=len(records),
        solved=sum(record.solved for record in records),
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
    told = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return list(zip(names, told, strict=True))


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
    low = [trial.share - trial.interval[0] for trial in trials]
    high = [trial.interval[1] - trial.share for trial in trials]
    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    shares = [trial.share for trial in trials]
    axes.errorbar([trial.number for trial in trials], shares, yerr=[low, high], marker="o", capsize=3)
    axes.set(xlabel="trial", ylabel="pass@1, 95 % (Wilson)", title=setting(plan), ylim=(0.0, 1.0))
    axes.title.set_fontsize("small")
    axes.set_xticks([trial.number for trial in trials])
    for kind in ("png", "svg"):
        figure.savefig(folder / f"curve.{kind}", dpi=150)
