"""Make an environment for each of many repositories, run its suite there, and compare ways to make one.

    python -m benchmarks.environments --repos FILE --clones DIRECTORY --names FILE --json FILE

FILE is a TOML file as `repositories.toml` beside this one; DIRECTORY holds a clone of each, called `owner+name`. Each
repository is copied; nothing is written to the clone. What is done is kept in the JSON file, and left out when the command
is given again. `--names` lists distributions and their versions, tab-separated: pipreqs guesses among these.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.environments.baselines import pip_install, pipreqs_install
from benchmarks.environments.checkouts import NotBuilt, Repository, check_out, repositories
from benchmarks.environments.ours import ours
from benchmarks.environments.suites import ENOUGH, Outcome, measured
from benchmarks.repair.results import share
from benchmarks.report import show
from workers.sandbox.project import Project

HERE = Path(__file__).parent
OURS = "apprentice"
Way = Callable[[Path, Path], Project]
"""Makes an environment for a checkout below a scratch directory, and says how to test. Raises NotBuilt."""


def attempt(repository: Repository, clone: Path, name: str, way: Way, given: argparse.Namespace) -> Outcome:
    """One repository in one way, from a fresh copy of its clone."""
    scratch = given.scratch / f"{repository.directory}-{name.replace(' ', '-').rstrip('.')}"
    shutil.rmtree(scratch, ignore_errors=True)
    checkout = scratch / "checkout"
    begun = time.perf_counter()
    try:
        check_out(clone, repository.commit, checkout)
        begun = time.perf_counter()
        project = way(checkout, scratch)
        cold = time.perf_counter() - begun
        outcome = Outcome(
            repository=repository.name, way=name, cold=round(cold, 1), cached=_again(name, checkout, scratch)
        )
        return measured(outcome, project, given.seconds)
    except NotBuilt as problem:
        cold = round(time.perf_counter() - begun, 1)
        return Outcome(repository=repository.name, way=name, cold=cold, problem=str(problem))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _again(name: str, checkout: Path, scratch: Path) -> float | None:
    """Seconds to have the environment once more, where it is kept."""
    if name != OURS:
        return None
    begun = time.perf_counter()
    ours(checkout, scratch)
    return round(time.perf_counter() - begun, 2)


def ways(names: Mapping[str, str]) -> dict[str, Way]:
    """The ways that are compared, by name."""
    return {
        OURS: ours,
        "pip install -e .": pip_install,
        "pipreqs": lambda checkout, scratch: pipreqs_install(checkout, scratch, names),
    }


def summary(name: str, outcomes: Sequence[Outcome], fullest: Mapping[str, int]) -> None:
    """Print one way's table, and a line for each repository that fell short.

    Part of a suite is none: as collected counts what has about as many tests as the `fullest` way found in the repository.
    """
    cached = [each.cached for each in outcomes if each.cached is not None]
    built = [each.cold for each in outcomes if each.collected]
    collected = [each for each in outcomes if each.is_collected]
    whole = [each for each in collected if each.cut or each.collected >= ENOUGH * fullest[each.repository]]
    good = [each for each in whole if each.passes]
    rows = [
        ("tests collected, every file read", share(len(whole), len(outcomes))),
        ("at least 95 % of them pass", share(len(good), len(outcomes))),
        ("made in, s", f"{statistics.median(built):.1f} (median)" if built else "none"),
        (
            "made again in, s",
            f"{statistics.median(cached):.2f} (median), {max(cached):.2f} (most)" if cached else "not kept",
        ),
    ]
    show(name, rows, [f"{each.repository}: {_short(each)}" for each in outcomes if each not in good])


def _short(outcome: Outcome) -> str:
    counted = (
        f"{outcome.passed} passed, {outcome.failed} failed, {outcome.broken} files unread; "
        if outcome.collected
        else ""
    )
    return counted + (outcome.problem or outcome.command)


def main() -> None:
    """Read arguments, go on with what is missing, print the tables."""
    given = _parser().parse_args()
    wanted = [each for each in repositories(given.repos) if given.only in each.name]
    rows = (line.rstrip("\n").split("\t") for line in given.names.open(encoding="utf-8"))
    compared = {name: way for name, way in ways({row[0].lower(): row[1] for row in rows}).items() if given.way in name}
    done = msgspec.json.decode(given.json.read_bytes(), type=list[Outcome]) if given.json.exists() else []
    for repository in wanted:
        for name, way in compared.items():
            if not any((each.repository, each.way) == (repository.name, name) for each in done):
                outcome = attempt(repository, given.clones / repository.directory, name, way, given)
                done.append(outcome)
                given.json.write_bytes(msgspec.json.format(msgspec.json.encode(done)))
                print(f"{name}: {repository.name}: {_short(outcome)}", file=sys.stderr, flush=True)
    chosen = {each.name for each in wanted}
    fullest = {name: max((each.collected for each in done if each.repository == name), default=0) for name in chosen}
    for name in compared:
        summary(name, [each for each in done if each.way == name and each.repository in chosen], fullest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, default=HERE / "repositories.toml", metavar="FILE")
    parser.add_argument("--clones", type=Path, required=True, metavar="DIRECTORY", help="where the clones are")
    parser.add_argument(
        "--names", type=Path, required=True, metavar="FILE", help="distributions for pipreqs to guess among"
    )
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where results are kept")
    parser.add_argument(
        "--scratch", type=Path, default=Path(tempfile.gettempdir(), "environments"), metavar="DIRECTORY"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the repositories whose name holds this")
    parser.add_argument("--way", default="", metavar="TEXT", help="the ways whose name holds this")
    parser.add_argument("--seconds", type=float, default=120.0, help="cut each suite after so many (120)")
    return parser


if __name__ == "__main__":
    main()
