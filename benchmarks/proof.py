"""What the challenges of a proof cost, and whether they turn honest patches away: `python -m benchmarks.proof CASES...`.

Each case has the right text of what is wrong in it. That text is the patch: it is proven as any other. Every so many cases
the same runs are made without the challenges too: the failing tests, then the whole suite twice, side by side.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repair.cases import Case, load_cases
from benchmarks.report import bootstrap, show
from workers.errors import CannotRun
from workers.ports import Limits
from workers.repair.classify import failure_of
from workers.repair.judging.prove import REPEATS, Prover
from workers.repair.judging.suite_runs import Unproven
from workers.repair.passed_tests import still_failing
from workers.repair.reproduce import reproduce
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.run_tests import run_tests

LIMITS = Limits(wall_seconds=120.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Why a case's patch is not proven, or is a question; `seconds` of processor time of its proof, `plain` of the same runs
    unchallenged, 0 where these were not made."""

    objection: str
    perturbed: bool
    seconds: float
    plain: float = 0.0


def main() -> None:
    """Prove the solution of every case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof", description=__doc__)
    parser.add_argument("cases", type=Path, nargs="+", help="folders of case folders")
    parser.add_argument("--time-every", type=int, default=4, help="compare the times of so many cases: 1 in N")
    given = parser.parse_args()
    cases = [case for directory in given.cases for case in load_cases(directory) if case.solution is not None]
    outcomes = []
    for number, case in enumerate(cases):
        outcome = _proven(case, timed=number % given.time_every == 0, plain_first=number % 2 == 0)
        if outcome is not None:
            outcomes.append(outcome)
            sys.stderr.write(f"{case.repository.parent}: {outcome.objection or 'proven'}\n")
    refused = [each for each in outcomes if each.objection]
    timed = [(each.seconds, each.plain) for each in outcomes if each.plain]
    show(
        "Proofs of right patches",
        [
            ("patches", str(len(outcomes))),
            ("proven without a question", str(len(outcomes) - len(refused))),
            ("with perturbed tests", str(sum(each.perturbed for each in outcomes))),
            ("processor time over that of the same runs unchallenged", f"{_ratio(timed)} ({len(timed)} pairs)"),
        ],
        [f"not proven: {each.objection}" for each in refused],
    )


def _ratio(timed: list[tuple[float, float]]) -> str:
    """The sum of one over the sum of the other."""
    if not timed:
        return "not measured"
    return bootstrap(timed, lambda samples: samples[..., 0].sum(axis=1) / samples[..., 1].sum(axis=1)).shown()


def _proven(case: Case, *, timed: bool, plain_first: bool) -> Outcome | None:
    """The proof of a case's solution; None where its tests cannot run, or do not tell the solution from it."""
    assert case.solution is not None, "it was chosen for that"
    project = discover(case.repository, python=None, test_command=case.test_command)
    try:
        before = reproduce(Bubblewrap(), project, limits=LIMITS)
    except CannotRun as problem:
        sys.stderr.write(f"{case.repository.parent}: left out, as its tests cannot run: {problem}\n")
        return None
    failure = failure_of(before.failing_report)
    if failure is None:
        return None
    files = [path for path in case.solution.rglob("*") if path.is_file()]
    overlay = {path.relative_to(case.solution).as_posix(): path.read_bytes() for path in files}
    prover = Prover(Bubblewrap(), project, before, failure, LIMITS)
    plain = _spent(lambda: _plain(project, prover.failing, overlay)) if timed and plain_first else 0.0
    began = _processor_seconds()
    shown = prover.prove(overlay)
    seconds = _processor_seconds() - began
    if timed and not plain_first:
        plain = _spent(lambda: _plain(project, prover.failing, overlay))
    if isinstance(shown, Unproven):
        if still_failing(prover.failing, prover.run(prover.failing, overlay)):
            sys.stderr.write(f"{case.repository.parent}: left out, as its tests fail with its solution\n")
            return None
        return Outcome(objection=shown.reason, perturbed=False, seconds=seconds)
    return Outcome(objection=", ".join(shown.unusual), perturbed=shown.perturbed > 0, seconds=seconds, plain=plain)


def _processor_seconds() -> float:
    """Of this process and all that it waited for: other work on the machine does not count."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _spent(work: Callable[[], None]) -> float:
    began = _processor_seconds()
    work()
    return _processor_seconds() - began


def _plain(project: Project, failing: tuple[str, ...], overlay: Mapping[str, bytes]) -> None:
    """A proof's runs without any challenge."""
    run_tests(Bubblewrap(), project, tests=failing, overlay=overlay, limits=LIMITS)
    with ThreadPoolExecutor(REPEATS) as pool:
        for run in [
            pool.submit(run_tests, Bubblewrap(), project, overlay=overlay, limits=LIMITS) for _ in range(REPEATS)
        ]:
            run.result()


if __name__ == "__main__":
    main()
