"""Repair each slip as its developer would, with `apprentice fix`, and judge what it proposes by the original.

    python -m benchmarks.strangers --clones DIRECTORY --json FILE

DIRECTORY holds a clone of each repository, called `owner+name`; nothing is written to it. Results are kept in the JSON
file, and what is in it is not done again. The environment is made before the clock starts, as on a developer's second run.
With `--environments DIRECTORY` the environments that lie there, called as the clones, take the place of the product's.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.environments.checkouts import NotBuilt, check_out
from benchmarks.environments.ours import ours
from benchmarks.repair.results import share
from benchmarks.report import commit, show
from benchmarks.strangers.judging import Verdict, judged
from benchmarks.strangers.slips import Slip, slips
from workers.errors import ApprenticeError
from workers.sandbox.run_tests import Project, discover

HERE = Path(__file__).parent
TOLERATED = 1.1
"""How much of its budget a repair may take."""

MADE = "made"
SEARCH_BEGINS = "trying strategy"
"""The first words of the line that `apprentice fix` writes when it begins to search."""


class _Proof(msgspec.Struct):
    asked: bool = False
    confidence: str = ""
    doubt: str = ""
    share: float = 1.0


class _Attempt(msgspec.Struct):
    reflection: str = ""


class Document(msgspec.Struct):
    """What `apprentice fix --json` prints; as it is made here, the command ended without it."""

    status: str = "ended"
    candidates_tried: int = 0
    error: str = ""
    advice: str | None = None
    attempts: list[_Attempt] = []
    patch: str | None = None
    proof: _Proof | None = None

    @property
    def reason(self) -> str:
        """Why it did not repair, in its own words: its error, or what was tried and what would help; empty where it says neither."""
        said = [self.error, *(each.reflection for each in self.attempts[-1:]), self.advice or ""]
        return " ".join(filter(None, said))


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One slip. `seconds` is the time of the whole command, `searching_after` that until its search began, if it did.

    `reason` is why it did not repair, as its document says; `verdict` is None where nothing was proposed.
    """

    repository: str
    commit: str
    status: str
    seconds: float
    searching_after: float | None
    candidates: int
    reason: str
    patch: str = ""
    asked: bool = False
    confidence: str = ""
    doubt: str = ""
    share: float = 1.0
    verdict: Verdict | None = None

    @property
    def silent(self) -> bool:
        """Whether it ended without a patch and without a reason; that nothing fails is none, as something does."""
        return not self.patch and not self.reason


def repaired(slip: Slip, given: argparse.Namespace) -> Result:
    """What comes of a slip, judged."""
    with _checkout(slip, given) as (checkout, project):
        original = (checkout / slip.file).read_bytes()
        (checkout / slip.file).write_bytes(slip.slipped(slip.original(checkout)).encode())
        result = fixed(slip, checkout, project, given)
        (checkout / slip.file).write_bytes(original)
        if not result.patch:
            return result
        verdict = judged(slip, result.patch, project, given.seconds)
        return msgspec.structs.replace(result, verdict=verdict)


@contextmanager
def _checkout(slip: Slip, given: argparse.Namespace) -> Iterator[tuple[Path, Project]]:
    """A copy of the repository as it should be, and how its own suite is run."""
    with tempfile.TemporaryDirectory(prefix="apprentice-stranger-") as folder:
        checkout = Path(folder, slip.repository.rpartition("/")[2])
        check_out(given.clones / slip.directory, slip.commit, checkout)
        if given.environments is None:
            yield checkout, ours(checkout, Path(folder, MADE))
        else:
            python = given.environments / slip.directory / "bin" / "python"
            yield checkout, discover(checkout, python=python, test_command=None)


def fixed(slip: Slip, checkout: Path, project: Project, given: argparse.Namespace) -> Result:
    """What `apprentice fix` does, from its document and its progress; ended after twice its budget."""
    home = checkout.parent / MADE / "home"
    chosen = ("--test-command", slip.command) if slip.command else ()
    command = (sys.executable, "-m", "bot.cli", "fix", str(checkout), "--json", "--budget", str(given.budget), *chosen)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")) or name == "PATH"}
    python = {"APPRENTICE_PYTHON": str(project.python)} if given.environments else {}
    variables = {**kept, **python, "HOME": str(home), "APPRENTICE_HOME": str(home)}
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(2 * given.budget, process.kill)
    watchdog.start()
    assert process.stdout is not None and process.stderr is not None
    lines: list[tuple[float, str]] = []
    notes = process.stderr
    reading = threading.Thread(target=lambda: lines.extend((time.perf_counter() - begun, line) for line in notes))
    reading.start()
    output = process.stdout.read()
    process.wait()
    seconds = time.perf_counter() - begun
    watchdog.cancel()
    reading.join()
    said = msgspec.json.decode(output, type=Document) if output.strip() else Document()
    return Result(
        repository=slip.repository,
        commit=commit(),
        status=said.status,
        seconds=round(seconds, 1),
        searching_after=next((round(at, 1) for at, line in lines if line.startswith(SEARCH_BEGINS)), None),
        candidates=said.candidates_tried,
        reason=said.reason,
        patch=said.patch or "",
        **(msgspec.structs.asdict(said.proof) if said.proof else {}),
    )


def summary(results: Sequence[Result], budget: float) -> None:
    """Print the table, and a line for each slip that was not repaired, or not rightly."""
    fixed = [each for each in results if each.status == "fixed"]
    proposed = [each for each in results if each.patch]
    right = [each for each in proposed if each.verdict and each.verdict.right]
    searching = [each.searching_after for each in results if each.searching_after is not None]
    show(
        "slips in strangers' repositories",
        [
            ("called fixed", share(len(fixed), len(results))),
            ("right of those called fixed", share(len([each for each in fixed if each in right]), len(fixed))),
            ("proposed, those undecided included", share(len(proposed), len(results))),
            ("right of those proposed", share(len(right), len(proposed))),
            ("right by the original", share(len(right), len(results))),
            ("over the budget", share(sum(each.seconds > TOLERATED * budget for each in results), len(results))),
            ("silent", share(sum(each.silent for each in results), len(results))),
            ("candidates", f"{statistics.median(each.candidates for each in results):g} (median)"),
            ("search begins after, s", f"{statistics.median(searching):.1f} (median)" if searching else "never"),
            (
                "seconds of the repaired",
                f"{statistics.median(each.seconds for each in fixed):.0f} (median)" if fixed else "none",
            ),
        ],
        [f"{each.repository}: {told(each)}" for each in results],
    )


def told(result: Result) -> str:
    """One line: how it ended, and why, or how it was judged."""
    ending = f"{result.status} in {result.seconds:.0f} s, {result.candidates} candidates"
    verdict = result.verdict
    if verdict is None:
        return f"{ending}; {result.reason}"
    judged_as = (
        "the original's code"
        if verdict.same_code
        else f"{verdict.lost} tests lost, {verdict.different} of {verdict.calls} calls differ"
    )
    return f"{ending}; {'right' if verdict.right else 'WRONG'}: {judged_as} {verdict.first}".rstrip()


def main() -> None:
    """Read arguments, go on with what is missing, print the table."""
    given = _parser().parse_args()
    wanted = [each for each in slips(given.slips) if given.only in each.repository]
    done = msgspec.json.decode(given.json.read_bytes(), type=list[Result]) if given.json.exists() else []
    for slip in wanted:
        if all(each.repository != slip.repository for each in done):
            try:
                done.append(repaired(slip, given))
            except (ApprenticeError, NotBuilt) as problem:
                print(f"{slip.repository}: left out: {problem}", file=sys.stderr, flush=True)
                continue
            given.json.write_bytes(msgspec.json.format(msgspec.json.encode(done)))
            print(f"{slip.repository}: {told(done[-1])}", file=sys.stderr, flush=True)
    chosen = {each.repository for each in wanted}
    if results := [each for each in done if each.repository in chosen]:
        summary(results, given.budget)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slips", type=Path, default=HERE / "slips.toml", metavar="FILE")
    parser.add_argument("--clones", type=Path, required=True, metavar="DIRECTORY", help="where the clones are")
    parser.add_argument("--environments", type=Path, metavar="DIRECTORY", help="environments to use instead of our own")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where results are kept")
    parser.add_argument("--only", default="", metavar="TEXT", help="the slips in repositories whose name holds this")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of each repair (300)")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="cut each run of a judge's whole suite after so many (300)"
    )
    return parser


if __name__ == "__main__":
    main()
