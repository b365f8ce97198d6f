"""How far a fault lies among the suspects where the change that brought it is known, and where it is not.

    python -m benchmarks.repair.regressions CLONE...

A past fix counts where an earlier commit brought the fault: git blames that commit for lines that the fix changes, and tests
of the fix fail with its files and pass with these as they were before it. The place of the fault is that of the likeliest of
the blamed lines, from 1; among equals the middle. The strongest simple baseline is the order of suspects without the change.

A change that only lays an older fault bare is not seen here: git does not blame it for the lines that a fix changes.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.repair.cases import BadCase
from benchmarks.repair.harness import progress_bar
from benchmarks.repair.importers.commits import Clone, Commit
from benchmarks.repair.suspects import LIMITS, PRESENT, Line, place, report
from benchmarks.report import show
from workers.errors import ApprenticeError
from workers.repair.classify import belongs_to_tests, failure_of
from workers.repair.engines.search.localise import suspects
from workers.repair.reproduce import reproduce, sources_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

WITHOUT = "without the change"
SECONDS, MAX_SOURCES = 120.0, 2
"""The time of one commit's tests, and the most files of code that a fix changes."""


def regressions(path: Path, most: int, python: Path | None) -> Iterator[dict[str, float]]:
    """The places of the faults that the `most` newest fixes of a clone mend, one of each commit that brought any."""
    clone, outcomes = Clone(path), Counter[str]()
    commits = {commit.id: commit for commit in clone.commits()}
    fixes = [each for each in commits.values() if each.says_fix and each.test_modules and each.sources]
    few = [fix for fix in fixes if len(fix.sources) <= MAX_SOURCES][:most]
    brought: set[str] = set()
    with progress_bar(Console(stderr=True)) as bar:
        for fix in bar.track(few, description=clone.name):
            for commit, lines in clone.blamed(fix).items():
                cause = commits.get(commit)
                if cause is None or not cause.sources or commit in brought:
                    continue
                try:
                    found = _places(clone, fix, cause, lines, python)
                except ApprenticeError:
                    outcomes["its tests do not run"] += 1
                    continue
                outcomes["counts" if found else "nothing fails, or it fails before as well"] += 1
                if found:
                    brought.add(commit)
                    print(f"{clone.name}: {fix.id} mends what {cause.id} brought: {found}", file=sys.stderr, flush=True)
                    yield found
                    break
    print(f"{clone.name}, {len(few)} fixes, by fix and commit blamed: {dict(outcomes)}", file=sys.stderr, flush=True)


def _places(clone: Clone, fix: Commit, cause: Commit, lines: frozenset[Line], python: Path | None) -> dict[str, float]:
    """With the change and without it; empty where the fix's tests do not tell the cause from what was before it."""
    before = {path: clone.file(cause.parent, path) for path in cause.changed if not belongs_to_tests(path)}
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        clone.export(cause.id, tree)
        for path in fix.tests:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(clone.file(fix.id, path) or b"")
        command = f"python -m pytest {shlex.join(fix.test_modules)}"
        project = discover(tree, python=python, test_command=command)
        seen = reproduce(Bubblewrap(), project, limits=LIMITS, seconds=SECONDS, before=before)
        sources = sources_of(project, seen)
    failure = failure_of(seen.failing_report)
    if failure is None or not seen.broken:
        return {}
    last = sum(text.count("\n") for path, text in sources.items() if not belongs_to_tests(path))
    return {
        way: place(suspects(failure, seen.lines, seen.passing, sources=sources, before=known), lines, last=last)
        for way, known in ((PRESENT, before), (WITHOUT, {}))
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.regressions", description=__doc__)
    parser.add_argument("clones", type=Path, nargs="+", metavar="CLONE")
    parser.add_argument("--most", type=int, default=100, help="so many fixes of a clone, the newest")
    parser.add_argument("--python", type=Path, help="an interpreter with what the tests need; else this one")
    given = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    try:
        for path in given.clones:
            for places in regressions(path, given.most, given.python):
                found.setdefault(path.name, []).append(places)
    except BadCase as problem:
        parser.error(str(problem))
    if not found:
        parser.error("no fix mends what an earlier commit brought, as far as the tests that run here tell")
    faults = sum(map(len, found.values()))
    show(f"places of faults among the suspects: {faults} faults of {len(found)} repositories", report(found))


if __name__ == "__main__":
    main()
