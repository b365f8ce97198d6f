"""How soon a repair tries its first candidate where the suite is slow, beside the failing tests' own time.

The suite is made: files of tests that wait for a second each, as tests of servers and queues do, three of which fail because
of one slip. The failing tests are known from pytest's cache, from the test command, from the module that was changed, which
they name, or not at all; then the suite is run once.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path

from benchmarks.repair.attempt import remembering
from benchmarks.report import show
from bot.local import digest, repository_name
from memory.model import Task, TaskKind
from memory.retrieval.embeddings import HashedWords
from workers.repair.engines.search.session import TRYING
from workers.repair.episode import repair
from workers.repair.result import Repaired
from workers.sandbox.project import discover

A_FILE, FAILING, SECONDS = 5, 3, 1.0
TIMES, MORE_SECONDS = 1.5, 10.0
"""The first candidate may be tried after so many times the failing tests' own time, and so much more."""

SLIPPED = "tests/test_03.py"
WAYS = ("pytest's cache", "the test command", "the changed module", "nothing: the suite is run once")
SOUND = "def double(number):\n    return number + number\n"


def made(root: Path, files: int) -> None:
    """A project with a suite of `files` times A_FILE tests of a second."""
    (root / "tests").mkdir(parents=True)
    (root / "doubles.py").write_text(SOUND.replace("number + number", "number + number + 1"))
    (root / "sames.py").write_text("def same(number):\n    return number\n")
    for number in range(files):
        slipped = f"tests/test_{number:02}.py" == SLIPPED
        tests = [_test(each, "double" if slipped and each < FAILING else "same") for each in range(A_FILE)]
        named = "from doubles import double\n" * slipped
        head = f"import time\n\n{named}from sames import same\n\n\n"
        (root / f"tests/test_{number:02}.py").write_text(head + "\n\n".join(tests))


def _test(number: int, called: str) -> str:
    right = 2 * number if called == "double" else number
    return f"def test_{number}():\n    time.sleep({SECONDS})\n    assert {called}({number}) == {right}\n"


def named_in_cache(root: Path) -> None:
    """What pytest leaves behind after its last run."""
    cache = root / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    failed = {f"{SLIPPED}::test_{number}": True for number in range(FAILING)}
    (cache / "lastfailed").write_text(json.dumps(failed))


def timed(way: str, files: int, budget: float) -> tuple[float, Repaired]:
    """Seconds to the first candidate, and what became of the repair."""
    found: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        root, home = Path(name, "project"), Path(name, "home")
        made(root, files)
        if way == WAYS[0]:
            named_in_cache(root)
        project = discover(root, python=None, test_command=f"python -m pytest {SLIPPED}" if way == WAYS[1] else None)
        context = remembering(home, budget, 1, HashedWords())
        try:
            task = Task(
                id=uuid.uuid4().hex,
                kind=TaskKind.REPAIR,
                repository=repository_name(root),
                sha=digest(root),
                number=0,
                created_at=context.clock(),
            )
            context.store.tasks.add(task)
            begun = time.monotonic()

            def note(line: str) -> None:
                if line.startswith(TRYING):
                    found.append(time.monotonic() - begun)

            before = {"doubles.py": SOUND.encode()} if way == WAYS[2] else {}
            repaired = repair(task, project, replace(context.repair_deps(), progress=note), before=before)
        finally:
            context.store.close()
    return (found or [float("inf")])[0], repaired


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_suite", description=__doc__)
    parser.add_argument("--files", type=int, default=12, help=f"test files, of {A_FILE} s each")
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--ways", type=int, default=len(WAYS), help="how many of the ways to know the failing tests")
    given = parser.parse_args()
    own = FAILING * SECONDS
    limit = TIMES * own + MORE_SECONDS
    rows = [("failing tests' own time, s; limit, s", f"{own:.1f}; {limit:.1f}")]
    for way in WAYS[: given.ways]:
        seconds, repaired = timed(way, given.files, given.budget)
        searched = repaired.seconds - repaired.proof_seconds
        ended = f"{repaired.status} in {searched:.1f} s of {given.budget:.0f} s, and {repaired.proof_seconds:.1f} s for proofs"
        rows.append((f"failing tests known from {way}", f"first candidate after {seconds:.1f} s; {ended}"))
        print(": ".join(rows[-1]), file=sys.stderr, flush=True)
    show(f"a suite of {given.files * A_FILE * SECONDS:.0f} s", rows)


if __name__ == "__main__":
    main()
