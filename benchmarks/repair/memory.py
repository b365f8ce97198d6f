"""Bugs fixed, and what memory is worth: bugs planted by generic mutation, repaired by the engine from the tests alone.

Every bug that the project's own tests detect is repaired twice with the same chances: cold, with an empty memory, and
warm, with a memory kept over all cases in random order.
"""

from __future__ import annotations

import argparse
import ast
import random
import statistics
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.parcel import founded
from benchmarks.planting import Planted, plantable
from benchmarks.report import Interval, Numbers, bootstrap, show
from bot.local import digest
from bot.playground.script import PROJECT
from memory.embed import Embedder, MiniLM
from memory.model import Task, TaskKind
from memory.stats import wilson
from workers.context import Context, build
from workers.patches import apply_unified
from workers.ports import Limits
from workers.repair.episode import Repaired, repair
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.testing import run_tests
from workers.settings import WorkerSettings, load

DETECTION = Limits(wall_seconds=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One repair of one bug. `exact`: the patched module is the one from before the bug, but for its layout."""

    fixed: bool
    exact: bool
    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The bugs to repair, and how many were planted to find as many that the tests detect."""

    bugs: tuple[Planted, ...]
    planted: int


def detected(count: int, seed: int) -> Cases:
    """The first `count` bugs of a fixed shuffle, one kind after another, that fail a test of the project."""
    kept: list[Planted] = []
    planted = 0
    for bug in _mixed(plantable(PROJECT), random.Random(seed)):
        if len(kept) == count:
            break
        planted += 1
        with tempfile.TemporaryDirectory(prefix="apprentice-case-") as scratch:
            report = run_tests(Bubblewrap(), founded(Path(scratch) / "parcel", bug), limits=DETECTION).report
        if report.failing():
            kept.append(bug)
    return Cases(bugs=tuple(kept), planted=planted)


def _mixed(bugs: Sequence[Planted], rng: random.Random) -> Iterator[Planted]:
    """Shuffled within each kind, and the kinds in turn: there are far more variables to mistake than operators."""
    by_kind: dict[str, list[Planted]] = {}
    for bug in rng.sample(bugs, len(bugs)):
        by_kind.setdefault(bug.kind, []).append(bug)
    kinds = [by_kind[kind] for kind in sorted(by_kind)]
    while any(kinds):
        yield from (left.pop() for left in kinds if left)


def attempted(bug: Planted, number: int, context: Context) -> Outcome:
    """Repair one bug with what `context` remembers."""
    with tempfile.TemporaryDirectory(prefix="apprentice-case-") as scratch:
        project = founded(Path(scratch) / "parcel", bug)
        task = Task(
            id=uuid.uuid4().hex,
            kind=TaskKind.REPAIR,
            repository="benchmark/parcel",
            sha=digest(project.tree),
            number=number,
            created_at=context.clock(),
        )
        context.store.tasks.add(task)
        repaired = repair(task, project, context.for_task(f"case:{number}").toolbox())
    told = "fixed" if repaired.proven else "not fixed"
    print(f"{told} after {repaired.candidates} candidates: {bug.kind}, {bug.path}:{bug.line}", file=sys.stderr)
    return Outcome(
        fixed=repaired.proven is not None,
        exact=_is_as_it_was(bug, repaired),
        candidates=repaired.candidates,
        seconds=repaired.seconds,
    )


def _is_as_it_was(bug: Planted, repaired: Repaired) -> bool:
    if repaired.proven is None or f"+++ b/{bug.path}" not in repaired.proven.patch:
        return False
    before = (PROJECT / bug.path).read_text(encoding="utf-8")
    after = apply_unified(bug.source, repaired.proven.patch)
    return ast.dump(ast.parse(after)) == ast.dump(ast.parse(before))


def remembering(home: str, budget: float, seed: int, embedder: Embedder) -> Context:
    """A context whose memory is under `home`; nothing of it is kept from any task."""
    settings = load(WorkerSettings, home=Path(home), budget_seconds=budget, seed=seed, control_share=0.0)
    return build(settings, embedder=embedder)


def cold(cases: Cases, budget: float, seed: int, embedder: Embedder) -> list[Outcome]:
    """Each bug with an empty memory."""
    found = []
    for number, bug in enumerate(cases.bugs):
        with tempfile.TemporaryDirectory(prefix="apprentice-cold-") as home:
            context = remembering(home, budget, seed, embedder)
            found.append(attempted(bug, number, context))
            context.store.close()
    return found


def warm(cases: Cases, budget: float, seed: int, embedder: Embedder) -> list[Outcome]:
    """The bugs in random order with one memory; the outcomes in the order of the cases."""
    order = random.Random(f"order:{seed}").sample(range(len(cases.bugs)), len(cases.bugs))
    with tempfile.TemporaryDirectory(prefix="apprentice-warm-") as home:
        context = remembering(home, budget, seed, embedder)
        found = {number: attempted(cases.bugs[number], number, context) for number in order}
        context.store.close()
    return [found[number] for number in range(len(cases.bugs))]


def paired(colds: Sequence[Outcome], warms: Sequence[Outcome], bugs: int) -> tuple[Interval, int] | None:
    """Warm over cold in candidates tried, the geometric mean over bugs fixed both times, and how many bugs those are.

    Repeats of one bug are averaged first: they are no bugs of their own.
    """
    logs: dict[int, list[float]] = {}
    for number, (before, after) in enumerate(zip(colds, warms, strict=True)):
        if before.fixed and after.fixed:
            logs.setdefault(number % bugs, []).append(float(np.log(after.candidates / before.candidates)))
    if len(logs) < 2:
        return None
    return bootstrap([statistics.mean(each) for each in logs.values()], _geometric), len(logs)


def _geometric(samples: Numbers) -> Numbers:
    return np.asarray(np.exp(samples.mean(axis=1)), dtype=np.float64)


def verdict(pair: tuple[Interval, int] | None) -> str:
    """What the paired comparison shows, and that it shows nothing where it does not."""
    if pair is None:
        return "not known: fewer than two bugs were fixed both times"
    interval, count = pair
    shown = f"× {interval.shown()} over {count} bugs"
    if interval.low <= 1.0 <= interval.high:
        return f"{shown}: no effect of memory shown"
    return f"{shown}: memory {'saves' if interval.estimate < 1.0 else 'costs'} candidates"


def run(count: int, budget: float, orders: int, seed: int) -> None:
    """Measure and print."""
    embedder = MiniLM()
    embedder.embed(["loaded before anything is timed"])
    cases = detected(count, seed)
    colds: list[Outcome] = []
    warms: list[Outcome] = []
    for number in range(orders):
        colds += cold(cases, budget, seed + number, embedder)
        warms += warm(cases, budget, seed + number, embedder)
    kinds = sorted({bug.kind for bug in cases.bugs})
    by_kind = [(f"fixed cold: {kind}", _rate(_of_kind(colds, cases, kind))) for kind in kinds]
    show(
        f"repair: {len(cases.bugs)} bugs (of {cases.planted} planted) that the tests detect, {budget:.0f} s each, "
        f"{orders} {'order' if orders == 1 else 'orders'}, seed {seed}",
        [
            ("fixed cold", _rate(colds)),
            *by_kind,
            ("fixed warm", _rate(warms)),
            ("of the cold fixes, the code as it was before", _share(sum(o.exact for o in colds), _fixed(colds))),
            ("seconds to a proven fix, cold", _median([o.seconds for o in colds if o.fixed], 1)),
            ("candidates to a proven fix, cold", _median([o.candidates for o in colds if o.fixed], 0)),
            ("candidates to a proven fix, warm", _median([o.candidates for o in warms if o.fixed], 0)),
            ("candidates, warm over cold", verdict(paired(colds, warms, len(cases.bugs)))),
        ],
        ["one project of some 470 lines with mutations of one place: not a sample of the world's bugs"],
    )


def _of_kind(outcomes: Sequence[Outcome], cases: Cases, kind: str) -> list[Outcome]:
    bugs = cases.bugs * (len(outcomes) // len(cases.bugs))
    return [outcome for outcome, bug in zip(outcomes, bugs, strict=True) if bug.kind == kind]


def _fixed(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.fixed for outcome in outcomes)


def _rate(outcomes: Sequence[Outcome]) -> str:
    return _share(_fixed(outcomes), len(outcomes))


def _share(part: int, whole: int) -> str:
    low, high = wilson(part, whole)
    return f"{part} of {whole} (95 % {low:.0%} to {high:.0%})"


def _median(values: Sequence[float], digits: int) -> str:
    return f"{statistics.median(values):.{digits}f} (median)" if values else "none"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    parser.add_argument("--bugs", type=int, default=12)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each repair")
    parser.add_argument("--orders", type=int, default=1, help="repeat with other chances and another order")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    run(given.bugs, given.budget, given.orders, given.seed)


if __name__ == "__main__":
    main()
