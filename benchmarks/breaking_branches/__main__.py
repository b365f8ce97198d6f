"""Review branches that break tests, and branches that do not, with `apprentice review`, and judge it by plain pytest.

    python -m benchmarks.breaking_branches --clones DIRECTORY --json FILE

DIRECTORY holds a clone of each repository, called `owner+name`; nothing is written to it. Which tests a branch breaks is
found in the same run, by pytest in an environment of its own. Results are kept in the JSON file, and what is in it is not
done again. The product has one home for each repository: the first review of it makes the environment too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.breaking_branches.branches import BASE, HEAD, Branch, Cases, Kind, cases, lay_out
from benchmarks.breaking_branches.oracle import Oracle
from benchmarks.environments.checkouts import NotBuilt
from benchmarks.repair.results import share
from benchmarks.report import commit, show

HERE = Path(__file__).parent


class Named(msgspec.Struct, frozen=True):
    """A test that the review names."""

    id: str
    path: str = ""
    line: int = 0


class Tests(msgspec.Struct, frozen=True):
    """What the review says that the tests say."""

    broken: list[Named] = []
    failing_before: list[str] = []
    flaky: list[str] = []
    unknown: list[str] = []
    ran: int = 0
    whole: bool = False
    trouble: str = ""


class Fix(msgspec.Struct, frozen=True):
    """A repair of the head."""

    patch: str


class Document(msgspec.Struct, frozen=True):
    """What `apprentice review --json` prints; as it is made here, the command ended without it."""

    tests: Tests | None = None
    culprit: str | None = None
    fix: Fix | None = None

    @property
    def patches(self) -> list[str]:
        """Its suggestions for the broken tests."""
        return [patch for patch in (self.culprit, self.fix.patch if self.fix else None) if patch]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One branch. `truth` are the tests that it breaks, `places` the lines that do it; `good` counts patches that mend it.

    `seconds` is the time of the whole review, `cold` whether an environment had to be made in it.
    """

    branch: str
    repository: str
    kind: Kind
    slip: str
    commit: str
    truth: list[str]
    places: dict[str, list[int]]
    said: Document
    notes: list[str]
    good: int
    seconds: float
    cold: bool

    @property
    def named(self) -> set[str]:
        """The tests that the review calls broken."""
        return {each.id for each in self.said.tests.broken} if self.said.tests else set()

    @property
    def missed(self) -> list[str]:
        """Tests that are broken and not named; all where no test was run."""
        return sorted(set(self.truth) - self.named)

    @property
    def false(self) -> list[str]:
        """Tests that are named and not broken."""
        return sorted(self.named - set(self.truth))

    @property
    def placed(self) -> list[bool]:
        """For each broken test with a line, whether it is one of those that break it."""
        broken = self.said.tests.broken if self.said.tests else []
        return [each.line in self.places.get(each.path, ()) for each in broken if each.path]

    @property
    def right(self) -> bool:
        """Whether the tests ran, and exactly the broken ones are named."""
        return self.said.tests is not None and not self.missed and not self.false


def reviewed(branch: Branch, given: argparse.Namespace, all_cases: Cases) -> Result:
    """Make the branch, ask the oracle, run the review, and judge both."""
    repository = all_cases.repository_of(branch)
    work = given.work / repository.directory
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="apprentice-branch-", dir=work) as folder:
        checkout = Path(folder, repository.name.rpartition("/")[2])
        lay_out(branch, repository, given.clones / repository.directory, checkout)
        oracle = Oracle(work, repository, given.python)
        oracle.install(given.clones / repository.directory)
        truth = oracle.newly_failing(branch, checkout)
        cold = not (work / "home").exists()
        document, notes, seconds = _review(checkout, work / "home", given)
        return Result(
            branch=branch.name,
            repository=repository.name,
            kind=branch.kind,
            slip=branch.slip,
            commit=commit(),
            truth=sorted(truth),
            places={name: sorted(lines) for name, lines in branch.breaking_lines(checkout).items()},
            said=document,
            notes=notes,
            good=sum(oracle.passes_with(patch, truth) for patch in document.patches) if truth else 0,
            seconds=round(seconds, 1),
            cold=cold,
        )


def _review(checkout: Path, home: Path, given: argparse.Namespace) -> tuple[Document, list[str], float]:
    """What `apprentice review` says of the branch, what it writes and when, and after how long it ends."""
    python = ("--python", str(given.python)) if given.python else ()
    words = ("review", str(checkout), "--base", BASE, "--head", HEAD, "--json", *python)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APPRENTICE_")}
    command = (sys.executable, "-m", "bot.cli", *words)
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, env={**kept, "APPRENTICE_HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(given.seconds, process.kill)
    watchdog.start()
    assert process.stdout is not None and process.stderr is not None
    lines, notes = list[str](), process.stderr
    reading = threading.Thread(
        target=lambda: lines.extend(f"{time.perf_counter() - begun:.1f} s: {line.rstrip()}" for line in notes)
    )
    reading.start()
    output = process.stdout.read()
    process.wait()
    seconds = time.perf_counter() - begun
    watchdog.cancel()
    reading.join()
    document = msgspec.json.decode(output, type=Document) if output.strip() else Document()
    return document, lines, seconds


def summary(results: Sequence[Result]) -> None:
    """Print the table, and a line for each branch."""
    breaking = [each for each in results if each.truth]
    harmless = [each for each in results if not each.truth]
    placed = [right for each in breaking for right in each.placed]
    tests = sum(len(each.truth) for each in breaking)
    warm = [each.seconds for each in results if not each.cold] or [0.0]
    show(
        "branches in real repositories, reviewed",
        [
            ("all broken tests named, no other", share(sum(each.right for each in breaking), len(breaking))),
            ("broken tests named", share(tests - sum(len(each.missed) for each in breaking), tests)),
            ("harmless, and no test blamed", share(sum(each.right for each in harmless), len(harmless))),
            ("line named is one that breaks it", share(sum(placed), len(placed))),
            ("with a suggestion that mends it", share(sum(each.good > 0 for each in breaking), len(breaking))),
            ("suggestions that do not", str(sum(len(each.said.patches) - each.good for each in breaking))),
            ("not as they were meant", str(sum(bool(each.truth) != (each.kind is Kind.BREAKS) for each in results))),
            ("seconds, environment there", f"{statistics.median(warm):.0f} (median), {max(warm):.0f} (most)"),
        ],
        [line_of(each) for each in results],
    )


def line_of(result: Result) -> str:
    """One line: the review, compared with the truth."""
    tests = result.said.tests
    ending = "no test run" if tests is None else f"{len(result.named)} named of {len(result.truth)}"
    mended = f", {result.good} of {len(result.said.patches)} suggestions mend it" if result.truth else ""
    placed = f", {sum(result.placed)} of {len(result.placed)} lines right" if result.placed else ""
    lacking = (
        "" if tests is None or tests.whole else f", not whole: {tests.trouble.splitlines()[0] if tests.trouble else ''}"
    )
    wrong = "".join(
        f", {word} {each[:3]}" for word, each in (("MISSED", result.missed), ("FALSE", result.false)) if each
    )
    return f"{result.branch}: {ending}{placed}{mended}, {result.seconds:.0f} s{lacking}{wrong}"


def main() -> None:
    """Read arguments, go on with what is missing, print the table."""
    given = _parser().parse_args()
    given.work = given.work.absolute()
    all_cases = cases(given.cases)
    wanted = [each for each in all_cases.branch if given.only in each.name]
    done = msgspec.json.decode(given.json.read_bytes(), type=list[Result]) if given.json.exists() else []
    for branch in wanted:
        if all(each.branch != branch.name for each in done):
            try:
                done.append(reviewed(branch, given, all_cases))
            except NotBuilt as problem:
                print(f"{branch.name}: left out: {problem}", file=sys.stderr, flush=True)
                continue
            given.json.write_bytes(msgspec.json.format(msgspec.json.encode(done)))
            print(line_of(done[-1]), file=sys.stderr, flush=True)
    chosen = {each.name for each in wanted}
    if results := [each for each in done if each.branch in chosen]:
        summary(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=HERE / "cases.toml", metavar="FILE")
    parser.add_argument("--clones", type=Path, required=True, metavar="DIRECTORY", help="where the clones are")
    parser.add_argument("--work", type=Path, default=Path(".branches"), metavar="DIRECTORY", help="for what it makes")
    parser.add_argument("--python", type=Path, metavar="FILE", help="has all that is needed: no environment is made")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where results are kept")
    parser.add_argument("--only", default="", metavar="TEXT", help="the branches whose name holds this")
    parser.add_argument("--seconds", type=float, default=900.0, help="end a review after so many (900)")
    return parser


if __name__ == "__main__":
    main()
