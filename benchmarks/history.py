"""How fast a history is read, beside its two tools run bare: `python -m benchmarks.history REPOSITORY...`."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.report import show
from memory.model import PastFinding
from memory.store import Store, open_store
from workers.history.learn import learn
from workers.review.detectors.linters import Ruff
from workers.review.detectors.rules import BANDIT_SKIP, RUFF_IGNORE, RUFF_SELECT, SYNTAX_ERROR, is_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.work_tree import git_directory

MOST = 3000


def name_of(path: Path) -> str:
    """What a repository is called here: its folder, or the one around a folder that says nothing."""
    return path.resolve().parent.name if path.name in ("repo", ".git") else path.resolve().name


def directory_of(path: Path) -> Path:
    """Where git keeps it."""
    directory = git_directory(path)
    if directory is None:
        raise SystemExit(f"{path} is not a git repository")
    return directory


def read(path: Path, store: Store, most: int, *, ruff_alone: bool = False) -> float:
    """Read what was not read yet, with ruff alone or bandit too; changes of the branch a second."""
    sandbox = Bubblewrap()
    detectors = (Ruff(sandbox, everything=True),) if ruff_alone else ()
    directory = directory_of(path)
    began = time.perf_counter()

    def progress(done: int, of: int) -> None:
        print(f"\r{name_of(path)}: {done} of {of} changes", end="", file=sys.stderr, flush=True)

    name = name_of(path)
    done = learn(directory, name, store=store, sandbox=sandbox, most=most, detectors=detectors, progress=progress)
    print(file=sys.stderr)
    return done.changes / (time.perf_counter() - began)


@cache
def is_selected(tool: str, rule: str) -> bool:
    """Whether a rule is among those that a review asks for."""
    if tool == "bandit":
        return rule not in BANDIT_SKIP
    selected, ignored = (any(is_of(rule, each) for each in codes) for codes in (RUFF_SELECT, RUFF_IGNORE))
    return rule == SYNTAX_ERROR or (selected and not ignored)


def of_selection(findings: Iterable[PastFinding]) -> list[PastFinding]:
    """Only those that a review would have asked for."""
    return [each for each in findings if is_selected(each.tool, each.rule)]


# ── Speed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def bare(path: Path, commits: int) -> float:
    """Seconds that ruff and bandit take by themselves on the Python files of the last commits, a run a commit."""

    def git(*command: str) -> bytes:
        return subprocess.run(("git", "-C", str(path), *command), capture_output=True, check=True).stdout

    listing = ("diff-tree", "--no-commit-id", "--name-only", "-r", "--diff-filter=AM", "-m", "--first-parent")
    spent = 0.0
    for sha in git("rev-list", "--first-parent", f"--max-count={commits}", "HEAD").decode().split():
        changed = git(*listing, sha).decode().splitlines()
        names = [each for each in changed if re.fullmatch(r"[\w./-]+\.pyi?", each)]
        if not names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(("tar", "-x", "-C", folder), input=git("archive", sha, "--", *names), check=True)
            began = time.perf_counter()
            for tool in (
                ("ruff", "check", "--isolated", "--no-cache", "--quiet", "--select", "ALL", "--exit-zero"),
                ("bandit", "-q", "--exit-zero"),
            ):
                subprocess.run((sys.executable, "-m", *tool, *names), cwd=folder, capture_output=True, check=False)
            spent += time.perf_counter() - began
    return spent


def speed(path: Path, most: int, runs: int) -> None:
    """Reading a history, against the two tools run bare on each commit's files; each run reads anew."""
    rates, ratios = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/past.db") as store:
            rates.append(read(path, store, most))
        ratios.append(bare(path, most) / (most / rates[-1]))
    show(
        f"reading the last {most} changes of {name_of(path)}",
        [
            ("changes a second", f"{np.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f}, {runs} runs)"),
            ("times as fast as both tools bare, commit by commit", f"{np.median(ratios):.2f}"),
        ],
    )


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=MOST, help="changes of each to read, the latest")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    for path in given.repositories:
        speed(path, given.most, given.runs)


if __name__ == "__main__":
    main()
