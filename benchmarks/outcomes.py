"""Whether suggestions change what tests say: those that a review offers for real past changes, all applied together.

Each suggestion is offered on the word of the tests that cover it; here the whole suite speaks, and on all of them at once.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Suggestion
from workers.errors import ApprenticeError
from workers.git import Mirror, Remote
from workers.review.covering import ImportGraph
from workers.review.edits import applied
from workers.review.engine import Reviewed, review_change
from workers.review.tree import python_sources, read_text
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.report import TestReport
from workers.sandbox.testing import run_tests

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
"""Our own environment's plug-ins are none of the projects'; one of them shuffles tests."""

Offered = tuple[str, Suggestion]
"""A suggestion with the path of its file."""


@dataclass(slots=True)
class Tally:
    """What was seen so far. `withheld` are safe fixes that could not be proven, which no review offers."""

    changes: int = 0
    untested: Counter[str] = field(default_factory=Counter)
    offered: int = 0
    uncovered: int = 0
    withheld: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    tests: int = 0
    unsteady: int = 0
    lost: list[str] = field(default_factory=list)
    would_be_lost: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, str]]:
        """As lines of a table."""
        reasons = "".join(f"; {count} {why}" for why, count in self.untested.most_common())
        return [
            ("changes", f"{self.changes} with a suite that runs{reasons}"),
            ("suggestions offered", f"{self.offered} of {len(self.rules)} rules, each with its own proof"),
            ("reached by no test file, so that the whole suite was their proof", str(self.uncovered)),
            ("passing tests of the whole suites, with all offered for a change applied", str(self.tests)),
            ("tests lost", str(len(self.lost))),
            ("unsteady without any suggestion", str(self.unsteady)),
            ("safe fixes withheld for want of a proof", str(self.withheld)),
            ("tests lost with those applied besides", str(len(self.would_be_lost))),
            *(("lost", each) for each in self.lost),
            *(("would be lost", each) for each in self.would_be_lost),
        ]


def weigh(directory: Path, shas: Sequence[str], tally: Tally, *, seconds: float = math.inf) -> None:
    """Review the changes as they were, apply all that is offered for each together, and run the whole suite without and with it."""
    mirror = Mirror(directory, Remote(url=str(directory)))
    begun = time.monotonic()
    for number, sha in enumerate(shas, 1):
        if time.monotonic() - begun > seconds:
            tally.untested["for which there was no time"] = len(shas) - number + 1
            break
        print(f"\r{number} of {len(shas)} changes", end="", file=sys.stderr, flush=True)
        with TemporaryDirectory(prefix="apprentice-") as scratch:
            try:
                _weigh(mirror, sha, Path(scratch), tally)
            except ApprenticeError as error:
                tally.untested[f"not to be had ({str(error)[:80]})"] += 1
    print(file=sys.stderr)


def _weigh(mirror: Mirror, sha: str, scratch: Path, tally: Tally) -> None:
    base = mirror.resolve(f"{sha}^")
    head_tree = mirror.export(sha, scratch / "head")
    project = discover(head_tree, python=None, test_command=PYTEST)
    reviewed = review_change(
        Bubblewrap(),
        base_tree=mirror.export(base, scratch / "base"),
        head_tree=head_tree,
        diff=mirror.diff(base, sha),
        project=project,
        may_run_tests=True,
        progress=lambda _: None,
    )
    found = list(_side_by_side(reviewed))
    offered = [(path, each) for path, each in found if each.proof is not None]
    withheld = [(path, each) for path, each in found if each.proof is None]
    if not found:
        tally.untested["with nothing to suggest"] += 1
        return
    project = discover(head_tree, python=None, test_command=f"{PYTEST} --continue-on-collection-errors")
    before = _run(project, {})
    if not (before.started and before.passing()):
        tally.untested["whose suite does not run here"] += 1
        return
    imports = ImportGraph(python_sources(head_tree))
    tally.changes += 1
    tally.offered += len(offered)
    tally.withheld += len(withheld)
    tally.uncovered += sum(not imports.tests_of(path) for path, _ in offered)
    tally.rules.update(each.rule for each in reviewed.findings if each.suggestion and each.suggestion.proof)
    tally.tests += len(before.passing()) if offered else 0
    suite = _Suite(project=project, tree=head_tree, before=before)
    lost = suite.lost_with(offered) if offered else set()
    beyond = suite.lost_with([*offered, *withheld]) if withheld else set()
    if lost | beyond:
        unsteady = suite.lost_with([])
        tally.unsteady += len((lost | beyond) & unsteady)
        tally.lost += [f"{sha[:10]} {each}" for each in suite.culprits(offered, lost - unsteady)]
        tally.would_be_lost += [f"{sha[:10]} {each}" for each in suite.culprits(withheld, beyond - lost - unsteady)]


def _side_by_side(reviewed: Reviewed) -> Iterator[Offered]:
    """The suggestions, without those that meet a proven one, or one above them."""
    taken: dict[str, list[range]] = {}
    suggestions = [(each.path, each.suggestion) for each in reviewed.findings if each.suggestion is not None]
    for path, each in sorted(suggestions, key=lambda one: (one[1].proof is None, one[0], one[1].start_line)):
        lines = range(each.start_line, each.end_line + 1)
        if all(lines.stop <= other.start or other.stop <= lines.start for other in taken.get(path, ())):
            taken.setdefault(path, []).append(lines)
            yield path, each


def _overlay(tree: Path, offered: Sequence[Offered]) -> dict[str, bytes | None]:
    """The files with these suggestions applied, the last line first so that the others stay in place."""
    texts: dict[str, str] = {}
    for path, suggestion in sorted(offered, key=lambda each: -each[1].start_line):
        text = texts[path] if path in texts else read_text(tree, path)
        texts[path] = applied(suggestion, text)
    return {path: text.encode() for path, text in texts.items()}


def _run(project: Project, overlay: dict[str, bytes | None]) -> TestReport:
    return run_tests(Bubblewrap(), project, overlay=overlay).report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Suite:
    """The whole suite of a change, and how it went without any suggestion."""

    project: Project
    tree: Path
    before: TestReport

    def lost_with(self, offered: Sequence[Offered]) -> set[str]:
        """The tests that pass without these suggestions and not with them."""
        after = _run(self.project, _overlay(self.tree, offered))
        return {each.id for each in self.before.passing()} - {each.id for each in after.passing()}

    def culprits(self, offered: Sequence[Offered], lost: set[str]) -> Iterator[str]:
        """Each suggestion that loses some of these tests by itself, or all of them together where none does."""
        alone = False
        for path, suggestion in offered if lost else ():
            mine = lost & self.lost_with([(path, suggestion)])
            if mine:
                alone = True
                yield f"{path}:{suggestion.start_line} loses {len(mine)}: {min(mine)}"
        if lost and not alone:
            yield f"all {len(offered)} together lose {len(lost)}: {min(lost)}"
