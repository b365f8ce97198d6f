"""Repair past bugs of public repositories with `apprentice fix`, and judge what it proposes by the fixed versions.

    python -m benchmarks.past_bugs find --clones DIRECTORY --cases FILE --scratch DIRECTORY
    python -m benchmarks.past_bugs run --clones DIRECTORY --json FILE --scratch DIRECTORY

The first chooses and verifies cases by the rule of `benchmarks.past_bugs.finding`, and keeps what it tried and why it was
left out; the second repairs each case with the user's command, `apprentice fix . --budget 240`. The work tree is the fix's
parent with the fix's tests; the environment is the product's, made before the clock starts. A patch is right
by its code, or by the fixed version's whole suite and by calls of both versions.
DIRECTORY of clones holds whole histories, called `owner+name`; nothing is written to it. What is in a file is not done again.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path

import msgspec

from benchmarks.environments.checkouts import NotBuilt
from benchmarks.environments.ours import ours
from benchmarks.past_bugs.cases import MAX_NAMED, PastBug, cases, lay_out
from benchmarks.past_bugs.finding import MAX_TRIED, MOST, SUITE_SECONDS, candidates, clones
from benchmarks.past_bugs.fixing import MADE, Result, fixed, line_of
from benchmarks.past_bugs.judging import judged
from benchmarks.repair.cases import BadCase
from benchmarks.repair.importers.commits import Clone, Commit
from benchmarks.repair.results import share
from benchmarks.report import show
from workers.errors import ApprenticeError
from workers.ports import Limits
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project
from workers.sandbox.run_tests import run_tests

HERE = Path(__file__).parent
TOLERATED = 1.1
"""How much of its budget a repair may take."""

LIMITS = Limits(wall_seconds=SUITE_SECONDS, cpu_seconds=int(2 * SUITE_SECONDS), output_kb=65_536, disk_mb=1024)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `load` is the machine's when its repair began, `processor` the seconds of processor time that it was given.

    Without a result no environment came of it: see `problem`.
    """

    id: str
    load: float
    processor: float = 0.0
    result: Result | None = None
    problem: str = ""

    def ended(self, *statuses: str) -> bool:
        """Whether the repair ended as one of these."""
        return self.result is not None and self.result.status in statuses

    @property
    def right(self) -> bool:
        """Whether the patch is right by the fixed version."""
        return self.result is not None and self.result.verdict is not None and self.result.verdict.right


def find(given: argparse.Namespace) -> None:
    """Try commits in turn, one of each repository, until each has its cases; kept as they arrive."""
    tried = cases(given.cases)
    for bug in _in_turn(given.clones):
        mine = [each for each in tried if each.repository == bug.repository]
        if all(each.id != bug.id for each in mine) and sum(not each.problem for each in mine) < MOST:
            tried.append(_verified(bug, given))
            given.cases.write_bytes(msgspec.json.format(msgspec.json.encode(tried)) + b"\n")
            print(f"{bug.id}: {tried[-1].problem or tried[-1].failing[0]}", file=sys.stderr, flush=True)


def _in_turn(directory: Path) -> Iterator[PastBug]:
    """The newest of each repository, the second of each, and so on."""
    each = []
    for clone in clones(directory):
        name = clone.name.replace("+", "/", 1)
        try:
            found = list(candidates(Clone(clone)))
        except BadCase as problem:
            print(f"{name}: left out, its history is not whole: {problem}", file=sys.stderr, flush=True)
            continue
        print(f"{name}: {len(found)} commits match", file=sys.stderr, flush=True)
        each.append([_untried(name, commit) for commit in found[:MAX_TRIED]])
    for bugs in zip_longest(*each):
        yield from filter(None, bugs)


def _untried(name: str, commit: Commit) -> PastBug:
    (file,) = commit.sources
    return PastBug(repository=name, commit=commit.id, file=file, tests=commit.tests, modules=commit.test_modules)


def _verified(bug: PastBug, given: argparse.Namespace) -> PastBug:
    try:
        _, project = _made(bug, given)
    except (ApprenticeError, NotBuilt) as problem:
        return msgspec.structs.replace(bug, problem=f"environment: {problem}")
    return told_apart(bug, Clone(given.clones / bug.directory), project)


def told_apart(bug: PastBug, clone: Clone, project: Project) -> PastBug:
    """With the tests that fail in the work tree and pass with the fix, or with the reason why it is no case."""
    solution = {bug.file: clone.file(bug.commit, bug.file)}
    after, before = (
        run_tests(Bubblewrap(), project, tests=bug.modules, overlay=overlay, limits=LIMITS).report
        for overlay in (solution, {})
    )
    if not after.passing() or not after.complete:
        return msgspec.structs.replace(bug, problem=f"tests: {after.trouble or 'none passes'}")
    failing = after.lost(before)
    problem = "" if failing else "no test tells it from its parent"
    return msgspec.structs.replace(bug, failing=failing[:MAX_NAMED], count=len(failing), problem=problem)


def _made(bug: PastBug, given: argparse.Namespace) -> tuple[Path, Project]:
    """The work tree, and how its suite runs in the product's environment. Only environments are kept of earlier cases."""
    made = given.scratch / MADE
    kept = given.scratch / "environments"
    with suppress(FileNotFoundError):
        (made / "home" / "environments").rename(kept)
    for left in (each for each in given.scratch.iterdir() if each != kept):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    (made / "home").mkdir(parents=True)
    if kept.exists():
        kept.rename(made / "home" / "environments")
    checkout = given.scratch / bug.repository.rpartition("/")[2]
    lay_out(bug, given.clones / bug.directory, checkout)
    return checkout, ours(checkout, made)


def run(given: argparse.Namespace) -> None:
    """Go on with what is missing, print the table."""
    wanted = [bug for bug in cases(given.cases) if not bug.problem and given.only in bug.id]
    rows = msgspec.json.decode(given.json.read_bytes(), type=list[Row]) if given.json.exists() else []
    for bug in wanted:
        if all(row.id != bug.id for row in rows):
            rows.append(_repaired(bug, given))
            given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows)))
            print(f"{bug.id}: {_line(rows[-1])}", file=sys.stderr, flush=True)
    chosen = {bug.id for bug in wanted}
    if done := [row for row in rows if row.id in chosen]:
        summary(done, given.budget)


def _repaired(bug: PastBug, given: argparse.Namespace) -> Row:
    """What comes of a case, judged."""
    try:
        checkout, project = _made(bug, given)
    except (ApprenticeError, NotBuilt) as problem:
        return Row(id=bug.id, load=round(os.getloadavg()[0], 1), problem=str(problem))
    load, begun = round(os.getloadavg()[0], 1), _processor_seconds()
    result = fixed(bug.repository, checkout, given.budget)
    processor = round(_processor_seconds() - begun, 1)
    if result.patch:
        clone = Clone(given.clones / bug.directory)
        wrong, right = ((clone.file(at, bug.file) or b"") for at in (f"{bug.commit}^", bug.commit))
        (project.tree / bug.file).write_bytes(right)
        verdict = judged(bug.file, wrong.decode(), result.patch, project, SUITE_SECONDS)
        result = msgspec.structs.replace(result, verdict=verdict)
    return Row(id=bug.id, load=load, processor=processor, result=result)


def _processor_seconds() -> float:
    """Of all that ran below this process and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(rows: Sequence[Row], budget: float) -> None:
    """Print the table beside the goals, and a line for each case."""
    results = [row.result for row in rows if row.result is not None]
    called = [row for row in rows if row.ended("fixed")]
    undecided = [row for row in rows if row.ended("undecided")]
    right = sum(row.right for row in called)
    show(
        "past one-line bugs",
        [
            ("projects", str(len({row.id.partition("@")[0] for row in rows}))),
            ("called fixed", share(len(called), len(rows))),
            ("called fixed and right", f"{share(right, len(rows))}; goal 40 %"),
            ("right of those called fixed", f"{share(right, len(called))}; goal 80 %"),
            ("undecided", share(len(undecided), len(rows))),
            ("right of the undecided", share(sum(row.right for row in undecided), len(undecided))),
            ("without an environment", share(len(rows) - len(results), len(rows))),
            ("over the budget", share(sum(each.seconds > TOLERATED * budget for each in results), len(rows))),
            ("silent", share(sum(each.silent for each in results), len(rows))),
            (
                "candidates",
                f"{statistics.median(each.candidates for each in results):g} (median)" if results else "none",
            ),
            ("processor time, s", f"{statistics.median(row.processor for row in rows):.0f} (median)"),
            ("load", f"{min(row.load for row in rows):g} to {max(row.load for row in rows):g}"),
        ],
        [f"{row.id}: {_line(row)}" for row in rows],
    )


def _line(row: Row) -> str:
    return f"no environment: {row.problem}" if row.result is None else line_of(row.result)


def main() -> None:
    """Read arguments, do the one or the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(required=True)
    for name, does in (("find", find), ("run", run)):
        way = ways.add_parser(name)
        way.set_defaults(does=does)
        way.add_argument("--clones", type=Path, required=True, metavar="DIRECTORY", help="where the clones are")
        way.add_argument("--cases", type=Path, default=HERE / "cases.json", metavar="FILE", help="what was tried")
        way.add_argument(
            "--scratch", type=Path, required=True, metavar="DIRECTORY", help="an empty one, for all it makes"
        )
    way.add_argument("--json", type=Path, required=True, metavar="FILE", help="where results are kept")
    way.add_argument("--only", default="", metavar="TEXT", help="the cases whose repository@commit holds this")
    way.add_argument("--budget", type=float, default=240.0, help="seconds of each repair (240)")
    given = parser.parse_args()
    given.scratch.mkdir(parents=True, exist_ok=True)
    given.does(given)


if __name__ == "__main__":
    main()
