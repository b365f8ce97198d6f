"""What learning is worth in repairs: candidates to the first plausible patch, with a memory warmed on other cases.

The cases are split at random: the engine repairs one half, one after another with one memory; then each case of the
other half, with a copy of that memory, with an empty one, in the control arm, whose strategies are drawn uniformly, and in
fixed order: best first, without a policy.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.repair.attempt import opened, remembering
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.firstfound import FirstFound, KnownVerdicts
from benchmarks.repair.harness import progress_bar
from benchmarks.repair.remembered import Remembered
from benchmarks.report import Interval, Numbers, bootstrap, show
from memory.model import Task
from memory.policy import q_table
from memory.policy.learner import Learner
from memory.retrieval.embeddings import Embedder, MiniLM
from workers.context import Context
from workers.errors import ApprenticeError
from workers.repair.classify import failure_of
from workers.repair.engines.search.templates import STRATEGIES
from workers.repair.episode import repair
from workers.repair.reproduce import reproduce
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.run_tests import Project

WARM, COLD, CONTROL, FIXED = "warm", "cold", "control arm", "fixed order"
WAYS = (WARM, COLD, CONTROL, FIXED)

LONGEST = 3600.0
"""Seconds that a repair may take. Candidates end it: how many are tried in a time depends on what is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Candidates to the first plausible patch of one case; as many as may be tried where there was none."""

    case: str
    candidates: int
    found: bool


@dataclass(slots=True)
class Trials:
    """Runs cases in one sandbox that remembers, so that an order of candidates costs only what no other one tried."""

    most: int
    embedder: Embedder
    sandbox: Remembered
    done: Callable[[], None] = lambda: None
    """Called after each case."""
    verdicts: defaultdict[str, KnownVerdicts] = field(default_factory=lambda: defaultdict(KnownVerdicts))
    _known: KnownVerdicts = field(default_factory=KnownVerdicts)

    def learned(self, case: Case, home: Path, seed: int) -> Tried:
        """What a case takes with the memory under `home`, which learns of it."""
        return self._tried(case, home, seed, self._repair)

    def at_random(self, case: Case, seed: int) -> Tried:
        """What it takes in the control arm, which uses nothing learned."""
        with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as home:
            return self._tried(case, Path(home), seed, partial(self._repair, version=q_table.CONTROL))

    def alone(self, case: Case, memory: Path | None, seed: int) -> Tried:
        """The same with a copy of a memory, or with none."""
        with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as scratch:
            home = Path(scratch) / "home"
            home.mkdir()
            if memory is not None:
                shutil.copytree(memory, home, dirs_exist_ok=True)
            return self.learned(case, home, seed)

    def in_order(self, case: Case, seed: int) -> Tried:
        """What it takes best first, whatever was learned."""
        with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as home:
            return self._tried(case, Path(home), seed, self._search)

    def _tried(self, case: Case, home: Path, seed: int, way: Callable[[Task, Project, Context], int | None]) -> Tried:
        context = remembering(home, LONGEST, seed, self.embedder).for_task(case.id)
        self._known = self.verdicts[case.id]
        try:
            with opened(case, context) as (task, project):
                first = way(task, project, context)
        except ApprenticeError as error:
            print(f"{case.id} did not run: {error}", file=sys.stderr)
            first = None
        finally:
            context.store.close()
            self.done()
        return Tried(case=case.id, candidates=first or self.most, found=first is not None)

    def _repair(
        self, task: Task, project: Project, context: Context, *, version: str = q_table.PRESENT.version
    ) -> int | None:
        context.__dict__["sandbox"] = self.sandbox  # where the cached property keeps it
        learner = Learner(context.store, context.rng, context.clock, control_share=0.0, policy_version=version)
        workbench = partial(FirstFound, most=self.most, known=self._known)
        first = repair(task, project, replace(context.repair_deps(), session=workbench, learner=learner)).first
        return first.candidates if first else None

    def _search(self, _task: Task, project: Project, context: Context) -> int | None:
        reproduction = reproduce(self.sandbox, project)
        failure = failure_of(reproduction.failing_report)
        if failure is None:
            return None
        given = (self.sandbox, project, reproduction, failure, context.progress)
        with FirstFound(*given, most=self.most, known=self._known) as bench:
            candidates = bench.with_pairs(bench.proposed(STRATEGIES, seed=context.rng.getrandbits(32)))
            first = bench.attempt(candidates, strategies=STRATEGIES, deadline=time.monotonic() + LONGEST).first
        return first.candidates if first else None


def split(cases: Sequence[Case], number: int, seed: int) -> tuple[list[Case], list[Case]]:
    """Two random halves: to learn from, and to be tried."""
    shuffled = random.Random(f"{seed}:{number}").sample(cases, len(cases))
    return shuffled[: len(cases) // 2], shuffled[len(cases) // 2 :]


def compared(cases: Sequence[Case], number: int, seed: int, trials: Trials) -> dict[str, list[Tried]]:
    """One split: what each case of its second half takes, each way."""
    learned, tried = split(cases, number, seed)
    found: dict[str, list[Tried]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="apprentice-warm-") as home:
        for case in learned:
            trials.learned(case, Path(home), seed + number)
        for case in tried:
            found[WARM].append(trials.alone(case, Path(home), seed + number))
            found[COLD].append(trials.alone(case, None, seed + number))
            found[CONTROL].append(trials.at_random(case, seed + number))
            found[FIXED].append(trials.in_order(case, seed + number))
    told = ", ".join(f"{way} {_median(found[way])}" for way in found)
    print(f"split {number}: median candidates to the first plausible patch: {told}", file=sys.stderr)
    return found


def pairs(ours: Sequence[Tried], theirs: Sequence[Tried]) -> list[tuple[float, float]]:
    """Candidates of ours and of theirs, a pair for each case that was solved either way.

    Of a case in several splits the geometric means. One that was solved one way only is worth all that may be tried.
    """
    logs: dict[str, list[tuple[float, float]]] = {}
    for one, other in zip(ours, theirs, strict=True):
        if one.found or other.found:
            logs.setdefault(one.case, []).append((np.log(one.candidates), np.log(other.candidates)))
    means = [np.exp(np.mean(each, axis=0)).tolist() for each in logs.values()]
    return [(one, other) for one, other in means]


def by_case(samples: Numbers) -> Numbers:
    """The geometric mean of the ratios: a case that takes 2 candidates counts like one that takes 200."""
    return np.asarray(np.exp(np.log(samples[..., 0] / samples[..., 1]).mean(axis=1)), dtype=np.float64)


def in_total(samples: Numbers) -> Numbers:
    """The ratio of the sums: what the work takes."""
    return np.asarray(samples[..., 0].sum(axis=1) / samples[..., 1].sum(axis=1), dtype=np.float64)


def verdict(interval: Interval) -> str:
    """What a comparison shows, and that it shows nothing where it does not."""
    shown = f"× {interval.shown()}"
    if interval.low <= 1.0 <= interval.high:
        return f"{shown}: no difference shown"
    return f"{shown}: {'fewer' if interval.estimate < 1.0 else 'more'} candidates"


def compare(ours: Sequence[Tried], theirs: Sequence[Tried], named: str) -> list[tuple[str, str]]:
    """The rows of one comparison."""
    paired = pairs(ours, theirs)
    if len(paired) < 2:
        return [(named, "not known: fewer than two cases were solved")]
    return [
        (f"{named}, by case", f"{verdict(bootstrap(paired, by_case))}, {len(paired)} cases"),
        (f"{named}, in total", verdict(bootstrap(paired, in_total))),
    ]


def run(cases: Sequence[Case], splits: int, seed: int, trials: Trials) -> None:
    """Measure and print."""
    found: dict[str, list[Tried]] = {way: [] for way in WAYS}
    learned, tried = split(cases, 0, seed)
    with progress_bar(Console(stderr=True)) as bar:
        shown = bar.add_task("", total=splits * (len(learned) + len(found) * len(tried)))
        trials.done = lambda: bar.advance(shown)
        for number in range(splits):
            for way, each in compared(cases, number, seed, trials).items():
                found[way] += each
    show(
        f"learning: {len(cases)} cases, {splits} splits, {trials.most} candidates each at most, seed {seed}",
        [
            *((f"solved, {way}", f"{sum(t.found for t in found[way])} of {len(found[way])}") for way in found),
            *((f"median candidates, {way}", _median(found[way])) for way in found),
            *compare(found[WARM], found[COLD], "warm over cold"),
            *compare(found[WARM], found[FIXED], "warm over fixed order"),
            *compare(found[WARM], found[CONTROL], "warm over control arm"),
            *compare(found[COLD], found[FIXED], "cold over fixed order"),
        ],
        ["candidates that another order tried are not tried again: their verdicts are known"],
    )


def _median(tried: Sequence[Tried]) -> str:
    return f"{statistics.median(each.candidates for each in tried):.0f}" if tried else "none"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.learning", description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="a folder of case folders")
    parser.add_argument("--only", default="*", metavar="GLOB", help="the cases whose id fits")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=600, metavar="N", help="so many for each repair at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if min(given.splits, given.candidates) < 1:
        parser.error("--splits and --candidates are at least 1")
    try:
        cases = load_cases(given.cases, given.only)
    except BadCase as problem:
        parser.error(str(problem))
    embedder = MiniLM()
    embedder.embed(["loaded before anything is tried"])
    run(cases, given.splits, given.seed, Trials(given.candidates, embedder, Remembered(Bubblewrap())))


if __name__ == "__main__":
    main()
