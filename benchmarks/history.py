"""What learning from histories is worth in their later halves, and how fast a history is read.

    python -m benchmarks.history backtest REPOSITORY...
    python -m benchmarks.history speed REPOSITORY

What was read is kept under --kept, so that a second run only replays.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.report import show
from memory.history.backtest import (
    BUDGET,
    OURS,
    RECALL,
    Backtest,
    HistoryScorer,
    HistoryTooShort,
    ReplayedScores,
    backtest,
    informative,
    replay,
)
from memory.history.lessons import events
from memory.history.rankings import Floats, Interval, Ranking, interval_of, once
from memory.model import Fate, PastFinding
from memory.store import Store, open_store
from workers.history.learn import learn, settled
from workers.review.detectors.linters import Ruff
from workers.review.detectors.rules import BANDIT_SKIP, RUFF_IGNORE, RUFF_SELECT, SYNTAX_ERROR, is_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.work_tree import git_directory

CHANGES = 20
"""Changes with findings that are followed after an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationStart:
    """Comments posted in the changes after one installation, and how many were addressed: with history and without."""

    taught: tuple[float, float]
    untaught: tuple[float, float]


def starts(replayed: ReplayedScores, findings: Sequence[PastFinding], budget: int) -> tuple[InstallationStart, ...]:
    """An installation at every `CHANGES` scored changes, each followed for as many, with `budget` comments a change.

    `findings` are all those that were replayed. One installation shows little, so there are many.
    """
    known, last = informative(findings), int(replayed.change.max(initial=-1)) + 1
    return tuple(_start(replayed, known, first, budget) for first in range(0, last - CHANGES + 1, CHANGES))


def _start(replayed: ReplayedScores, known: Sequence[PastFinding], first: int, budget: int) -> InstallationStart:
    here = (replayed.change >= first) & (replayed.change < first + CHANGES)
    scored = [finding for finding, within in zip(replayed.findings, here.tolist(), strict=True) if within]
    begun, ended = scored[0].position, scored[-1].position
    addressed, change = replayed.addressed[here], replayed.change[here] - first
    untaught = _untaught([each for each in known if begun <= each.position <= ended], ended)
    return InstallationStart(
        taught=_posted(Ranking(replayed.scores[OURS][here], addressed, change), budget),
        untaught=_posted(Ranking(untaught, addressed, change), budget),
    )


def _untaught(known: Sequence[PastFinding], ended: int) -> Floats:
    """The scores, in the order of the changes, of a learner that begins with the first of these findings."""
    learner, scores = HistoryScorer(), dict[int, float]()
    for number, finding, is_new in events(known):
        if is_new:
            scores[number] = learner.found(number, finding)
        elif finding.until <= ended:
            learner.decided(number, finding)
    order = sorted(range(len(known)), key=lambda number: (known[number].position, number))
    return np.array([scores[number] for number in order])


def _posted(ranking: Ranking, budget: int) -> tuple[float, float]:
    posted = ranking.budget(budget)(once(ranking.changes))
    return posted.comments, posted.addressed


def advantage(all_starts: Sequence[InstallationStart]) -> Interval | None:
    """By how much the share addressed is higher with history, over all installations; the interval is over these.

    None where no posted finding was addressed.
    """
    taught, untaught = (np.array([getattr(each, name) for each in all_starts]) for name in ("taught", "untaught"))
    if not len(all_starts) or not (taught[:, 1].any() or untaught[:, 1].any()):
        return None

    def difference(counts: Floats) -> float:
        (posted, addressed), (posted_untaught, addressed_untaught) = counts @ taught, counts @ untaught
        return float(addressed / posted - addressed_untaught / posted_untaught)

    return interval_of(difference, len(all_starts))


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


# ── Backtest ───────────────────────────────────────────────────────────────────────────────────────────────────────


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


def with_sweeps(findings: Iterable[PastFinding]) -> list[PastFinding]:
    """The same, with what a tool swept counted as addressed."""
    return [replace(each, fate=Fate.FIXED) if each.fate is Fate.SWEPT else each for each in findings]


def report(name: str, findings: Sequence[PastFinding]) -> Mapping[str, tuple[InstallationStart, ...]]:
    """The figures of one repository: all rules, our selection, and all rules with sweeps counted as addressed.

    Gives what was said after each installation, by pool, so that it can be told over all repositories.
    """
    begun = {}
    pools = {"all rules": findings, "our selection": of_selection(findings), "with sweeps": with_sweeps(findings)}
    for pool, some in pools.items():
        try:
            result = backtest(some)
        except HistoryTooShort as little:
            show(f"{name}, {pool}", [("nothing shown", str(little))])
            continue
        begun[pool] = starts(replay(some), some, BUDGET)
        show(f"{name}, {pool}: {result.findings} findings of {result.changes} changes", rows(result, begun[pool]))
    return begun


def report_starts(begun: Mapping[str, Sequence[InstallationStart]]) -> None:
    """What a history was worth in the first changes after an installation, over all repositories."""
    told = [(pool, advantage(some), len(some)) for pool, some in begun.items()]
    show(
        f"the first {CHANGES} changes after an installation, share addressed with history less without",
        [(pool, f"{points(gap)}, {count} installations" if gap else "nothing addressed") for pool, gap, count in told],
    )


def rows(result: Backtest, begun: Sequence[InstallationStart]) -> list[tuple[str, str]]:
    """One line for each arm and figure."""
    told = [("addressed of everything", f"{result.base:.3f}")]
    for arm in result.arms:
        kept, within = arm.keeping_posted, arm.budget_posted
        own = f"by itself {arm.posted.lift:.2f}, {arm.posted.share:.1%} of {arm.posted.comments:.0f}, ours there {arm.ours_at_volume.estimate:.2f}, ahead {said(arm.ahead)}"
        told.append(
            (
                arm.name,
                (
                    f"at {RECALL:.0%} kept {said(arm.keeping)}, {kept.share:.1%} of {kept.comments:.0f}; "
                    f"{BUDGET} a change {said(arm.budget)}, {within.share:.1%} of {within.comments:.0f}; {own}"
                ),
            )
        )
    cold = advantage(begun)
    told.append(("first changes, with history less without", points(cold) if cold else "nothing addressed"))
    told.append(("not said and addressed", f"{result.suppressed:.3f}"))
    told.append(("learning curve", " ".join(f"{lift:.1f}" for _, lift in result.curve)))
    return told


def points(value: Interval) -> str:
    """A difference of shares in percentage points, with its interval."""
    return f"{100 * value.estimate:+.2f} points ({100 * value.low:+.2f} to {100 * value.high:+.2f})"


def said(value: Interval) -> str:
    """A figure with its interval."""
    return f"{value.estimate:.2f} ({value.low:.2f} to {value.high:.2f})"


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
    parser.add_argument("what", choices=("backtest", "speed"))
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=MOST, help="changes of each to read, the latest")
    parser.add_argument("--kept", type=Path, default=Path(".cache/pasts"), help="where what was read is kept")
    parser.add_argument(
        "--ruff-alone",
        action="store_true",
        help="without bandit, whose rules ruff has too and which takes most of the time",
    )
    parser.add_argument("--runs", type=int, default=3, help="of speed")
    given = parser.parse_args()
    if given.what == "speed":
        for path in given.repositories:
            speed(path, given.most, given.runs)
        return
    given.kept.mkdir(parents=True, exist_ok=True)
    begun = dict[str, list[InstallationStart]]()
    for path in given.repositories:
        with open_store(f"sqlite:///{given.kept.resolve()}/{name_of(path)}.db") as store:
            read(path, store, given.most, ruff_alone=given.ruff_alone)
            for pool, some in report(name_of(path), settled(store, name_of(path))).items():
                begun.setdefault(pool, []).extend(some)
    if begun:
        report_starts(begun)


if __name__ == "__main__":
    main()
