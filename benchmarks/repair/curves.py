"""What learning is worth in repairs of real past fixes, met in the order of time: `python -m benchmarks.repair.curves CLONE...`.

Each way to repair meets the same cases one after another with one memory. A repair ends with the first candidate that
passes the failing tests and those that cover it; then a maintainer merges it if the fix's whole suite passes with it, or,
where that cannot run here, if it is the fix, and closes it otherwise. That is what is called right. A candidate that was tried once is not run again: its verdict and its
time are known then. Candidates end a repair, not seconds. One that is not right is worth all that may be tried.

With `--whole` a repair is what a user waits for: rivals are looked for, what is found is proven, and the clock ends it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from benchmarks.repair.attempt import judged, opened, remembering
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.firstfound import FirstFound, KnownVerdicts
from benchmarks.repair.harness import progress_bar
from benchmarks.repair.importers import history
from benchmarks.repair.remembered import Remembered
from benchmarks.report import Numbers, bootstrap, ratio_of_sums, show
from memory.model import EVERYTHING, Actor, Decision, EditShape, Permission, SignalKind, State
from memory.policy.learner import Learner
from memory.policy.q_table import CONTROL, PRESENT, Cells
from memory.retrieval.embeddings import Embedder, MiniLM
from workers.context import Context
from workers.diffs import apply_unified, parse_diff
from workers.errors import ApprenticeError
from workers.ports import Sandbox
from workers.repair.candidates import Candidate
from workers.repair.engines.engine import RepairDeps
from workers.repair.engines.search.session import SearchSession
from workers.repair.episode import repair
from workers.repair.result import Repaired
from workers.sandbox.bubblewrap import Bubblewrap

PRESENT_POLICY = "present"
UNTAUGHT = "best first"

LONGEST = 3600.0
"""Seconds that a repair may take. Candidates end it: how many are tried in a time depends on what is remembered."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One repair. `candidates` and `seconds` of test runs are up to its end; `right` is by tests that it did not see."""

    way: str
    case: str
    seed: int
    candidates: int
    seconds: float
    plausible: bool
    right: bool


class WithoutReplay(FirstFound):
    """Proposes no learned edit for its own sake."""

    def proposed(
        self, strategies: Sequence[str], *, replay: Mapping[EditShape, float] = {}, seed: int = 0
    ) -> Iterator[Candidate]:
        """See `SearchSession`."""
        return super().proposed(strategies, replay={} if replay else replay, seed=seed)


class UntaughtTable(Learner):
    """Chooses by what is expected before any evidence."""

    def cells(self, state: State) -> Cells:  # noqa: ARG002
        """None."""
        return {}

    def decide(self, *given: Any, **named: Any) -> Decision:  # noqa: ANN401
        """Without remembered cases."""
        return super().decide(*given, **(named | {"evidence": {}}))


class BestFirst(Learner):
    """Tries everything in one order, best first: there is no choice."""

    def decide(self, task_id: str, state: State, available: Sequence[str], **named: Any) -> Decision:  # noqa: ANN401, ARG002
        """The search of everything."""
        return self.settle(task_id, state, {EVERYTHING: 1.0}, arm=named["arm"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What one way uses of all that was learned."""

    learner: Callable[..., Learner] = Learner
    version: str = PRESENT.version
    remembers: bool = True
    replays: bool = True
    weighs: bool = True
    hears: bool = True


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        PRESENT_POLICY: Way(),
        "control": Way(version=CONTROL),
        "priors only": Way(learner=UntaughtTable, remembers=False),
        UNTAUGHT: Way(learner=BestFirst, remembers=False),
        "without table": Way(learner=UntaughtTable),
        "without choices": Way(learner=BestFirst),
        "without replay": Way(replays=False),
        "without weights": Way(weighs=False),
        "without verdicts": Way(hears=False),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What ends a repair: `most` candidates, whose verdicts are `known` once they were tried; without these the clock."""

    most: int
    sandbox: Sandbox
    known: KnownVerdicts | None
    seconds: float = LONGEST

    def clock(self) -> float:
        """Seconds of tests, or all that pass."""
        return time.monotonic() if self.known is None else self.known.seconds


class Life:
    """One way's repairs with one seed, which share a memory."""

    def __init__(self, name: str, seed: int, home: Path, embedder: Embedder, bounds: Bounds) -> None:
        self.name, self.seed = name, seed
        self._way, self._bounds = WAYS[name], bounds
        self._context = remembering(home, bounds.seconds, seed, embedder)

    def close(self) -> None:
        """Its memory."""
        self._context.store.close()

    def meet(self, case: Case, right: Callable[[Case, Repaired], bool]) -> Tried:
        """Repair one case, and hear what the maintainer says."""
        context = self._context.for_task(case.id)
        context.__dict__["sandbox"] = self._bounds.sandbox  # where the cached property keeps it
        began, repaired = self._bounds.clock(), None
        try:
            with opened(case, context) as (task, project):
                repaired = repair(task, project, self._deps(context))
        except ApprenticeError as error:
            print(f"{case.id} did not run: {error}", file=sys.stderr)
        seconds = self._bounds.clock() - began
        is_right = repaired is not None and repaired.proven is not None and right(case, repaired)
        if repaired is not None and self._way.hears:
            self._hear(case, repaired, accepted=is_right)
        return Tried(
            way=self.name,
            case=case.id,
            seed=self.seed,
            candidates=repaired.candidates if repaired else self._bounds.most,
            seconds=round(seconds, 2),
            plausible=repaired is not None and repaired.proven is not None,
            right=is_right,
        )

    def _deps(self, context: Context) -> RepairDeps:
        way = self._way
        learner = way.learner(context.store, context.rng, context.clock, control_share=0.0, policy_version=way.version)
        return replace(context.repair_deps(), learner=learner, remember=way.remembers, session=self._session)

    def _session(self, *given: Any, **named: Any) -> SearchSession:  # noqa: ANN401
        named |= {} if self._way.weighs else {"weights": {}, "verdicts": {}}
        if self._bounds.known is None:
            return SearchSession(*given, **named)
        session = FirstFound if self._way.replays else WithoutReplay
        return session(*given, most=self._bounds.most, known=self._bounds.known, **named)

    def _hear(self, case: Case, repaired: Repaired, *, accepted: bool) -> None:
        if repaired.proven is not None:
            maintainer = Actor(
                id=int(hashlib.sha256(case.labels["project"].encode()).hexdigest()[:8], 16), login="maintainer"
            )
            kind = SignalKind.FIX_MERGED if accepted else SignalKind.FIX_CLOSED
            learner = self._context.for_task(case.id).learner
            learner.record_signal(repaired.proven.decision_id, kind, maintainer, Permission.WRITE, f"merge:{case.id}")


class Judge:
    """Whether a patch is right by the fix's whole suite, or, where that cannot run, is the fix. It looks at no patch twice."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, case: Case, repaired: Repaired) -> bool:
        """Of a plausible patch."""
        assert repaired.proven is not None, "only what is plausible is judged"
        key = (case.id, repaired.proven.patch)
        if key not in self._known:
            by_suite = judged(case, repaired, self._context)
            self._known[key] = is_solution(case, repaired.proven.patch) if by_suite is None else by_suite
        return self._known[key]


def is_solution(case: Case, patch: str) -> bool:
    """Whether a patch makes the code of the case's solution, comments and layout aside."""
    assert case.solution is not None, "a past fix is known"
    changed = [change.path for change in parse_diff(patch).files]
    wanted = sorted(path.relative_to(case.solution).as_posix() for path in case.solution.rglob("*.py"))
    return changed == wanted and all(
        ast.dump(ast.parse(apply_unified((case.repository / path).read_text(), patch)))
        == ast.dump(ast.parse((case.solution / path).read_text()))
        for path in wanted
    )


def lived(
    cases: Sequence[Case],
    ways: Sequence[str],
    seeds: int,
    most: int,
    keep: Path,
    *,
    reach: int = 0,
    whole: float | None = None,
) -> list[Tried]:
    """Every case by every way and seed; `keep` holds those of whole cases at any time.

    With `reach`, only cases for which the search of everything, with an empty memory, finds something that passes the failing
    tests, with so many candidates. With `whole`, repairs as users have them, of so many seconds each.
    """
    embedder = MiniLM()
    embedder.embed(["loaded before anything is tried"])
    sandbox, known = Remembered(Bubblewrap()), KnownVerdicts()
    first_found = Bounds(most=most, sandbox=sandbox, known=known)
    bounds = first_found if whole is None else Bounds(most=most, sandbox=Bubblewrap(), known=None, seconds=whole)
    found: list[Tried] = []
    with ExitStack() as stack, progress_bar(Console(stderr=True)) as bar:
        shown = bar.add_task("", total=len(cases) * len(ways) * seeds)
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apprentice-curves-")))
        lives = [
            Life(way, seed, scratch / f"{number}-{seed}", embedder, bounds)
            for seed in range(1, seeds + 1)
            for number, way in enumerate(ways)
        ]
        right = Judge(remembering(scratch / "judge", LONGEST, 1, embedder))
        for life in lives:
            stack.callback(life.close)
        for number, case in enumerate(cases):
            began = time.monotonic()
            sandbox.forget()
            known.forget()
            if reach:
                home = scratch / f"reach-{number}"
                with closing(Life(UNTAUGHT, 1, home, embedder, replace(first_found, most=reach))) as first:
                    if not first.meet(case, right).plausible:
                        print(f"{case.id}: out of reach, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
                        bar.advance(shown, len(lives))
                        continue
            for life in lives:
                found.append(life.meet(case, right))
                bar.advance(shown)
            keep.write_bytes(msgspec.json.encode(found))
            mine = [each for each in found if each.case == case.id]
            summary = f"{sum(each.right for each in mine)} of {len(mine)} right, {time.monotonic() - began:.0f} s"
            print(f"{case.id}: {summary}", file=sys.stderr, flush=True)
    return found


def report(found: Sequence[Tried], most: int) -> list[tuple[str, str]]:
    """The rows: each way's shares, and the present way over each other one."""
    ways = list(dict.fromkeys(each.way for each in found))
    rows = []
    for way in ways:
        mine = [each for each in found if each.way == way]
        right, plausible = (sum(getattr(each, name) for each in mine) for name in ("right", "plausible"))
        spent = sum(each.candidates for each in mine) / len(mine)
        rows.append((way, f"right {right} of {len(mine)}, plausible {plausible}, {spent:.0f} candidates a case"))
    for way in ways:
        if way != PRESENT_POLICY:
            rows += compared(found, way, most)
    return rows


def compared(found: Sequence[Tried], way: str, most: int) -> list[tuple[str, str]]:
    """The present way over another one, by case: means over the seeds; bootstrapped over cases."""
    ours, theirs = (_means(found, name, most) for name in (PRESENT_POLICY, way))
    either = [case for case in ours if ours[case][0] or theirs[case][0]]
    if len(either) < 2:
        return [(f"over {way}", "not known: fewer than two cases were repaired rightly")]
    share = bootstrap([(ours[case][0], theirs[case][0]) for case in ours], _difference)
    candidates, seconds = ([(ours[case][n], theirs[case][n]) for case in either] for n in (1, 2))
    return [
        (f"share right, less that of {way}", share.shown()),
        (f"candidates over {way}, by case", bootstrap(candidates, by_case).shown()),
        (f"candidates over {way}, in total", bootstrap(candidates, ratio_of_sums).shown()),
        (f"seconds over {way}, in total", bootstrap(seconds, ratio_of_sums).shown()),
    ]


def _means(found: Sequence[Tried], way: str, most: int) -> dict[str, tuple[float, float, float]]:
    """By case, means over the seeds: the share right, candidates and seconds to the right fix."""
    by: dict[str, list[Tried]] = {}
    longest: dict[str, float] = {}
    for each in found:
        longest[each.case] = max(longest.get(each.case, 0.0), each.seconds)
        if each.way == way:
            by.setdefault(each.case, []).append(each)
    return {
        case: (
            float(np.mean([each.right for each in mine])),
            float(np.mean([max(each.candidates, 1) if each.right else most for each in mine])),
            float(np.mean([each.seconds if each.right else longest[case] for each in mine])),
        )
        for case, mine in by.items()
    }


def by_case(samples: Numbers) -> Numbers:
    """The geometric mean of the ratios: a case that takes 2 candidates counts like one that takes 200."""
    return np.asarray(np.exp(np.log(samples[..., 0] / samples[..., 1]).mean(axis=1)), dtype=np.float64)


def _difference(samples: Numbers) -> Numbers:
    return np.asarray((samples[..., 0] - samples[..., 1]).mean(axis=1), dtype=np.float64)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.curves", description=__doc__)
    parser.add_argument(
        "clones", type=Path, nargs="*", metavar="CLONE", help="whole histories; none: only --into's cases"
    )
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="where cases are made, or lie")
    parser.add_argument("--most", type=int, default=10, help="so many cases of a clone, newest first")
    parser.add_argument("--hunks", type=int, default=1, help="only fixes of at most so many places")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=300, metavar="N", help="so many for each repair at most")
    parser.add_argument("--reach", type=int, default=0, metavar="N", help="only cases that N untaught candidates reach")
    parser.add_argument(
        "--whole", type=float, metavar="SECONDS", help="with rivals and proof, ended by the clock, not by candidates"
    )
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="write every repair here")
    given = parser.parse_args()
    if given.whole and not all(WAYS[way].replays for way in given.ways):
        parser.error("with --whole no way can do without replay; leave it out of --ways")
    try:
        for clone in given.clones:
            history.make(clone, given.into, most=given.most)
        cases = [case for case in load_cases(given.into) if int(case.labels.get("hunks", 1)) <= given.hunks]
    except BadCase as problem:
        parser.error(str(problem))
    cases = sorted(cases, key=lambda case: case.labels.get("made", ""))
    found = lived(cases, given.ways, given.seeds, given.candidates, given.json, reach=given.reach, whole=given.whole)
    met = [case for case in cases if case.id in {each.case for each in found}]
    packages, repaired = (len({case.labels.get("project") for case in of}) for of in (cases, met))
    show(
        f"repairs in the order of time: {len(met)} of {len(cases)} cases, of {repaired} of {packages} packages, "
        f"{given.seeds} seeds, {f'{given.whole:.0f} s' if given.whole else f'{given.candidates} candidates'} each at most",
        report(found, max([given.candidates, *(each.candidates for each in found)])),
    )


if __name__ == "__main__":
    main()
