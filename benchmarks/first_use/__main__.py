"""Play a new user's session of `apprentice` in each of six repositories, and compare what is printed with what was kept.

    python -m benchmarks.first_use --clones DIRECTORY [--write] [--repository NAME]

DIRECTORY holds a clone of each repository, called `owner+name`; nothing is written to it. A session has a checkout and a
home of its own, so its first command makes the environment. Every command is held against plain pytest in another
environment. It ends with 1 where a line differs from `transcripts/`, or where something does not hold.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benchmarks.breaking_branches.branches import BASE, HEAD, Branch, Repository, git, lay_out
from benchmarks.breaking_branches.oracle import Oracle
from benchmarks.environments.checkouts import NotBuilt
from benchmarks.first_use.checks import problems
from benchmarks.first_use.session import Desk, Ran, Sessions, Way, sessions
from benchmarks.first_use.transcript import normal, written
from benchmarks.report import show

HERE = Path(__file__).parent
TRANSCRIPTS = HERE / "transcripts"


@dataclass(slots=True)
class Judge:
    """Plain pytest: which tests a change breaks, and which patches mend that."""

    oracle: Oracle
    clone: Path
    work: Path
    known: dict[str, frozenset[str]] = field(default_factory=dict)

    def broken_by(self, change: Branch | None) -> frozenset[str]:
        """The tests that a change breaks. Its branches are the oracle's from now on. Raises NotBuilt."""
        if change is None:
            return frozenset()
        with tempfile.TemporaryDirectory(prefix="apprentice-first-", dir=self.work) as folder:
            laid = Path(folder, "laid")
            lay_out(change, self.oracle.repository, self.clone, laid)
            if change.name not in self.known:
                self.known[change.name] = self.oracle.newly_failing(change, laid)
            git(self.oracle.checkout, "fetch", "-q", str(laid), f"+{BASE}:{BASE}", f"+{HEAD}:{HEAD}")
        return self.known[change.name]


def played(repository: Repository, given: argparse.Namespace, all_sessions: Sessions) -> tuple[str, list[str]]:
    """The transcript of one session, and what does not hold in it. Raises NotBuilt."""
    work = given.work / repository.directory
    work.mkdir(parents=True, exist_ok=True)
    oracle = Oracle(work, repository)
    oracle.install(given.clones / repository.directory)
    desk = Desk(checkout=work / "user" / repository.name.rpartition("/")[2], home=work / "home")
    desk.clone(given.clones / repository.directory, repository)
    judge = Judge(oracle, given.clones / repository.directory, work)
    lines, wrong = list[tuple[Ran, list[str], list[str]]](), list[str]()
    places = ((str(desk.checkout), "<checkout>"), (str(desk.home), "<home>"), (str(work), "<work>"))
    for command in all_sessions.of(repository):
        change = all_sessions.change(command)
        desk.lay(command, change)
        begun = time.perf_counter()
        ran = desk.run(command)
        spent = time.perf_counter() - begun
        broken = judge.broken_by(change)
        wrong += [
            f"{_named(ran)}: {each}"
            for each in problems(ran, broken, lambda patch: oracle.passes_with(patch, broken))  # noqa: B023  used at once
        ]
        lines.append((ran, normal(ran.err, places), normal(ran.out, places)))
        print(
            f"{repository.name}: {_named(ran)}: ends with {ran.code} after {spent:.0f} s", file=sys.stderr, flush=True
        )
        if given.raw:
            (given.raw / f"{repository.directory}-{len(lines):02}.json").write_bytes(msgspec.json.encode(ran))
    return written(repository.name, repository.commit, lines), wrong


def _named(ran: Ran) -> str:
    way = "" if ran.command.way is Way.PIPED else f" {ran.command.way.value}"
    return f"{ran.command.title}: {' '.join(ran.command.words)}{way}"


def compared(name: str, text: str) -> list[str]:
    """The lines in which a transcript differs from the one that was kept."""
    file = TRANSCRIPTS / f"{name}.txt"
    kept = file.read_text(encoding="utf-8") if file.exists() else ""
    return list(difflib.unified_diff(kept.splitlines(), text.splitlines(), f"kept/{name}", f"now/{name}", lineterm=""))


def main() -> None:
    """Play, compare or keep, and print what does not hold."""
    given = _parser().parse_args()
    given.work = given.work.absolute()
    all_sessions = sessions(given.cases)
    wanted = [each for each in all_sessions.repository if given.repository in each.name]
    rows, failed = list[tuple[str, str]](), False
    for repository in wanted:
        begun = time.perf_counter()
        try:
            text, wrong = played(repository, given, all_sessions)
        except NotBuilt as problem:
            rows.append((repository.name, f"not played: {problem}"))
            failed = True
            continue
        different = [] if given.write else compared(repository.directory, text)
        if given.write:
            TRANSCRIPTS.mkdir(exist_ok=True)
            (TRANSCRIPTS / f"{repository.directory}.txt").write_text(text, encoding="utf-8")
        print("\n".join([*different, *(f"WRONG {each}" for each in wrong)]), flush=True)
        counts = (
            f"{len(all_sessions.of(repository))} commands, {len(text.splitlines())} lines, {len(different)} of the diff"
        )
        rows.append((repository.name, f"{counts}, {len(wrong)} wrong, {time.perf_counter() - begun:.0f} s"))
        failed = failed or bool(different or wrong)
    show("sessions of a new user", rows)
    sys.exit(int(failed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=HERE / "cases.toml", metavar="FILE")
    parser.add_argument("--clones", type=Path, required=True, metavar="DIRECTORY", help="where the clones are")
    parser.add_argument("--work", type=Path, default=Path(".first-use"), metavar="DIRECTORY", help="for what it makes")
    parser.add_argument("--write", action="store_true", help="keep what is printed, instead of comparing it")
    parser.add_argument("--repository", default="", metavar="TEXT", help="the repositories whose name holds this")
    parser.add_argument("--raw", type=Path, metavar="DIRECTORY", help="write what was printed there, as it was")
    return parser


if __name__ == "__main__":
    main()
