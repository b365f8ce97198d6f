"""What reviews of past changes say of their tests, and how often a later fix changes the lines that no test ran.

    python -m benchmarks.untested CLONE... [--most 25] [--json FILE]

Reviewed are past changes of code, evenly chosen from the last 400 without the newest, with the user's command. A line is fixed later if a commit whose message speaks of a bug changes it or takes it out, as `git blame`
says (Śliwerski, Zimmermann and Zeller 2005). What is in FILE is not reviewed again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.repair.importers.commits import Clone, Commit
from benchmarks.report import Numbers, bootstrap, show
from workers.diffs import changed_lines, parse_diff, unified
from workers.review.untested import Untested, runnable

OLDEST = 400
"""An older change needs an environment of its day."""
MAX_LINES = 400


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewed change: the lines that can run, by path, those that no test ran, and those that a later fix changes.

    `known` is whether all tests ran, and none was broken.
    """

    clone: str
    commit: str
    known: bool
    unnoticed: bool = False
    lines: dict[str, tuple[int, ...]] = {}
    untested: dict[str, tuple[int, ...]] = {}
    fixed: dict[str, tuple[int, ...]] = {}

    def counts(self) -> tuple[int, int, int, int]:
        """Lines that no test ran, those of them that are fixed later, and both of the other lines."""
        places = {(path, line) for path, some in self.lines.items() for line in some}
        untested = {(path, line) for path, some in self.untested.items() for line in some}
        fixed = {(path, line) for path, some in self.fixed.items() for line in some}
        ran = places - untested
        return len(untested), len(untested & fixed), len(ran), len(ran & fixed)


class _Review(msgspec.Struct):
    """What is read of `apprentice review --json`."""

    untested: Untested | None = None


def chosen(clone: Clone, most: int, newest: int) -> list[Commit]:
    """Past changes of code, evenly chosen, without the `newest`: a change needs time to be fixed."""
    commits = [each for each in islice(clone.commits(), newest, OLDEST) if each.sources]
    return commits[:: max(len(commits) // most, 1)][:most]


def fixed_later(clone: Clone) -> dict[str, dict[str, set[int]]]:
    """By commit and path, the lines that it wrote and that a later fix changes or takes out."""
    found: dict[str, dict[str, set[int]]] = {}
    for fix in islice(clone.commits(), OLDEST):
        for commit, places in clone.blamed(fix).items() if fix.says_fix else ():
            for path, line in places:
                found.setdefault(commit, {}).setdefault(path, set()).add(line)
    return found


def changes_of(path: Path, commits: Sequence[Commit], known: Sequence[Change]) -> Iterator[Change]:
    """These changes of a clone, reviewed; those that are `known` already are left out."""
    clone = Clone(path)
    fixed = fixed_later(clone)
    for commit in commits:
        lines = {source: _runnable(clone, commit, source) for source in commit.sources}
        if 0 < sum(map(len, lines.values())) <= MAX_LINES and all(each.commit != commit.id for each in known):
            untested = reviewed(path, commit)
            later = fixed.get(commit.id, {})
            yield Change(
                clone=clone.name,
                commit=commit.id,
                known=untested is not None,
                unnoticed=untested is not None and untested.unnoticed,
                lines=lines,
                untested=dict(untested.lines) if untested else {},
                fixed={source: tuple(sorted(later.get(source, ()))) for source in lines},
            )


def _runnable(clone: Clone, commit: Commit, path: str) -> tuple[int, ...]:
    before, after = ((clone.file(at, path) or b"").decode(errors="replace") for at in (commit.parent, commit.id))
    changed = changed_lines(parse_diff(unified(path, before, after))).get(path, frozenset())
    return tuple(each.start for each in runnable(after, changed))


def reviewed(path: Path, commit: Commit) -> Untested | None:
    """What the user's command says; None where it does not know."""
    words = [
        sys.executable,
        "-m",
        "bot.cli",
        "review",
        str(path),
        "--base",
        commit.parent,
        "--head",
        commit.id,
        "--json",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(words, capture_output=True, check=False, env=environment)
    return msgspec.json.decode(done.stdout, type=_Review).untested if done.stdout else None


def report(changes: Sequence[Change]) -> None:
    """Print how often the review has something to say, and how much oftener a line that no test ran is fixed later."""
    known = [each for each in changes if each.known]
    rows = [
        ("changes reviewed; known what no test tests", f"{len(changes)}; {len(known)}"),
        ("with lines that no test runs", str(sum(any(each.untested.values()) for each in known))),
        ("without which no test fails", str(sum(each.unnoticed for each in known))),
    ]
    if counts := [each.counts() for each in known]:
        untested, bad, ran, bad_of_ran = np.asarray(counts).sum(axis=0).tolist()
        rows.append(("lines that no test runs; fixed later", f"{untested}; {bad}"))
        rows.append(("lines that tests run; fixed later", f"{ran}; {bad_of_ran}"))
        rows.append(("fixed so many times as often", bootstrap(counts, times_as_often).shown()))
    show(f"{len({each.clone for each in changes})} repositories", rows)


def times_as_often(samples: Numbers) -> Numbers:
    """The share that is fixed later of lines that no test ran, over that of the others, with half a line more of each; one a row."""
    untested, bad, ran, bad_of_ran = np.moveaxis(samples.sum(axis=1), -1, 0)
    return np.asarray((bad + 0.5) / (untested + 1) / ((bad_of_ran + 0.5) / (ran + 1)), dtype=np.float64)


def main() -> None:
    """Review the changes that are not in the file yet, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=25, help="changes of each clone")
    parser.add_argument("--newest", type=int, default=50, help="so many of the newest commits are left out")
    parser.add_argument("--json", type=Path, help="where what was seen is kept")
    given = parser.parse_args()
    changes = (
        msgspec.json.decode(given.json.read_bytes(), type=list[Change]) if given.json and given.json.exists() else []
    )
    for path in given.clones:
        for change in changes_of(path, chosen(Clone(path), given.most, given.newest), changes):
            changes.append(change)
            part = f"{sum(map(len, change.untested.values()))} of {sum(map(len, change.lines.values()))} lines"
            print(
                f"{change.clone} {change.commit[:10]}: {part if change.known else 'not known'}",
                file=sys.stderr,
                flush=True,
            )
            if given.json:
                given.json.write_bytes(msgspec.json.encode(changes))
    report(changes)


if __name__ == "__main__":
    main()
