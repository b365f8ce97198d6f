"""What learning is worth in repairs: candidates to the first plausible patch, with a ledger warmed on other cases.

The cases are split at random: the engine repairs one half, one after another with one memory; then each case of the
other half, with a copy of that memory, with an empty one, and with the strategies in their fixed order.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.repair.attempt import remembering, repaired_by
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.harness import progress_bar
from benchmarks.repair.remembered import Remembered
from benchmarks.report import Interval, Numbers, bootstrap, show
from memory.embed import Embedder, MiniLM
from memory.learner import Learner
from memory.model import Arm, Decision, State
from workers.context import Context
from workers.errors import ApprenticeError
from workers.sandbox.bubblewrap import Bubblewrap

WARM, COLD, FIXED = "warm", "cold", "fixed order"


class InOrder(Learner):
    """Takes the strategies as they come, and knows nothing."""

    def decide(self, task_id: str, state: State, available: Sequence[str], *, arm: Arm, **_: object) -> Decision:
        """The first strategy that is left."""
        return self.settle(task_id, state, {available[0]: 1.0}, arm=arm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Candidates to the first plausible patch of one case; all that were tried where there was none."""

    case: str
    candidates: int
    fixed: bool


@dataclass(slots=True)
class Trials:
    """Runs cases in one sandbox that remembers, so that an order of candidates costs only what no other one tried."""

    seed: int
    budget_seconds: float
    embedder: Embedder
    sandbox: Remembered
    done: Callable[[], None] = lambda: None
    """Called after each case."""

    def tried(self, case: Case, home: Path, *, fixed_order: bool = False) -> Tried:
        """What a case takes with the memory under `home`, which learns of it."""
        context = remembering(home, self.budget_seconds, self.seed, self.embedder)
        context.__dict__["sandbox"] = self.sandbox  # where the cached property keeps it
        try:
            repaired = repaired_by(case, _in_order(context) if fixed_order else context)
        except ApprenticeError as error:
            print(f"{case.id} did not run: {error}", file=sys.stderr)
            return Tried(case=case.id, candidates=0, fixed=False)
        finally:
            context.store.close()
            self.done()
        first = repaired.first
        return Tried(
            case=case.id, candidates=first.candidates if first else repaired.candidates, fixed=first is not None
        )

    def alone(self, case: Case, memory: Path | None, *, fixed_order: bool = False) -> Tried:
        """The same with a copy of a memory, or with none."""
        with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as scratch:
            home = Path(scratch) / "home"
            home.mkdir()
            if memory is not None:
                shutil.copytree(memory, home, dirs_exist_ok=True)
            return self.tried(case, home, fixed_order=fixed_order)


def _in_order(context: Context) -> Context:
    learner = InOrder(context.store, context.rng, context.clock, control_share=0.0)
    return replace(context, learner=learner)


def split(cases: Sequence[Case], number: int, seed: int) -> tuple[list[Case], list[Case]]:
    """Two random halves: to learn from, and to be tried."""
    shuffled = random.Random(f"{seed}:{number}").sample(cases, len(cases))
    return shuffled[: len(cases) // 2], shuffled[len(cases) // 2 :]


def compared(cases: Sequence[Case], number: int, trials: Trials) -> dict[str, list[Tried]]:
    """One split: what each case of its second half takes, three ways."""
    learned, tried = split(cases, number, trials.seed)
    found: dict[str, list[Tried]] = {WARM: [], COLD: [], FIXED: []}
    with tempfile.TemporaryDirectory(prefix="apprentice-warm-") as home:
        for case in learned:
            trials.tried(case, Path(home))
        for case in tried:
            found[WARM].append(trials.alone(case, Path(home)))
            found[COLD].append(trials.alone(case, None))
            found[FIXED].append(trials.alone(case, None, fixed_order=True))
    told = ", ".join(f"{way} {_median(found[way])}" for way in found)
    print(f"split {number}: median candidates to the first plausible patch: {told}", file=sys.stderr)
    return found


def ratio(ours: Sequence[Tried], theirs: Sequence[Tried]) -> tuple[Interval, int] | None:
    """Ours over theirs, the geometric mean over cases that both fix; a case of several splits is averaged first."""
    logs: dict[str, list[float]] = {}
    for one, other in zip(ours, theirs, strict=True):
        if one.fixed and other.fixed:
            logs.setdefault(one.case, []).append(float(np.log(one.candidates / other.candidates)))
    if len(logs) < 2:
        return None
    return bootstrap([statistics.mean(each) for each in logs.values()], _geometric), len(logs)


def _geometric(samples: Numbers) -> Numbers:
    return np.asarray(np.exp(samples.mean(axis=1)), dtype=np.float64)


def verdict(found: tuple[Interval, int] | None) -> str:
    """What a comparison shows, and that it shows nothing where it does not."""
    if found is None:
        return "not known: fewer than two cases were fixed both ways"
    interval, count = found
    shown = f"× {interval.shown()} over {count} cases"
    if interval.low <= 1.0 <= interval.high:
        return f"{shown}: no difference shown"
    return f"{shown}: {'fewer' if interval.estimate < 1.0 else 'more'} candidates"


def run(cases: Sequence[Case], splits: int, trials: Trials) -> None:
    """Measure and print."""
    found: dict[str, list[Tried]] = {WARM: [], COLD: [], FIXED: []}
    learned, tried = split(cases, 0, trials.seed)
    with progress_bar(Console(stderr=True)) as bar:
        shown = bar.add_task("", total=splits * (len(learned) + len(found) * len(tried)))
        trials.done = lambda: bar.advance(shown)
        for number in range(splits):
            for way, each in compared(cases, number, trials).items():
                found[way] += each
    show(
        f"learning: {len(cases)} cases, {splits} splits, {trials.budget_seconds:.0f} s each, seed {trials.seed}",
        [
            *((f"fixed, {way}", f"{sum(t.fixed for t in found[way])} of {len(found[way])}") for way in found),
            *((f"median candidates to first, {way}", _median(found[way])) for way in found),
            ("candidates, warm over cold", verdict(ratio(found[WARM], found[COLD]))),
            ("candidates, warm over fixed order", verdict(ratio(found[WARM], found[FIXED]))),
            ("candidates, cold over fixed order", verdict(ratio(found[COLD], found[FIXED]))),
        ],
        [
            f"asked {trials.sandbox.asked} times, run {trials.sandbox.ran} times: verdicts known from another order count"
        ],
    )


def _median(tried: Sequence[Tried]) -> str:
    fixed = [each.candidates for each in tried if each.fixed]
    return f"{statistics.median(fixed):.0f}" if fixed else "none fixed"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.learning", description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="a folder of case folders")
    parser.add_argument("--only", default="*", metavar="GLOB", help="the cases whose id fits")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each repair")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        cases = load_cases(given.cases, given.only)
    except BadCase as problem:
        parser.error(str(problem))
    embedder = MiniLM()
    embedder.embed(["loaded before anything is tried"])
    run(cases, given.splits, Trials(given.seed, given.budget, embedder, Remembered(Bubblewrap())))


if __name__ == "__main__":
    main()
