"""Each benchmark still runs, and prints its table with the commit."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.repair.cases import write_case
from tests.conftest import missing
from tests.unit.workers.history.conftest import Branch

ROOT = Path(__file__).parents[2]

HISTORY = "a git repository"
"""Stands for one with three commits."""

CLOSED = "a folder of clones"
"""Stands for one with a history in which a change closed an issue."""

CASES = "a folder of cases"
"""Stands for one with a single case."""

KEPT = "a folder for what was read"
"""Stands for an empty one."""

SUMS = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"

TINY = {
    "ingest": ("--rounds", "1", "--deliveries", "20", "--sqlite-only"),
    "host_limits": ("--only", "headers"),
    "proof": (CASES, "--time-every", "1"),
    "web_limits": ("--clients", "30", "--seconds", "1"),
    "screen": ("--runs", "1", "--candidates", "2"),
    "ledger": ("rebuild", "--events", "60", "--repositories", "2", "--runs", "1"),
    "poisoning": ("--signals", "4", "--honest", "2", "--rounds", "4"),
    "localise": ("--clones", CLOSED),
    "posting": ("own", HISTORY, "--most", "3", "--kept", KEPT),
    "history": (HISTORY, "--most", "2", "--runs", "1"),
    "reviewing": (HISTORY, "--runs", "1", "--files", "1", "--lines", "2"),
    "untested": (HISTORY, "--most", "1", "--newest", "0"),
    "slow_suite": ("--files", "4", "--budget", "30", "--ways", "1"),
    "agent": ("overhead", "--steps", "6"),
    "scale": ("jobs", "--kinds", "embedded", "--workers", "1", "--count", "20"),
    "fairness": ("--repairs", "8", "--seconds", "0.2", "--waiting", "200"),
    "estimates": ("--worlds", "1", "--tasks", "120", "--runs", "5"),
}

EXPECTED = {
    "ingest": r"SQLite / bare +\d+\.\d\d",
    "host_limits": r"headers.+ s of processor time",
    "proof": r"proven without a question +1\n(.|\n)+unchallenged +\d\.\d\d",
    "web_limits": r"memory at its peak, MB +\d+\n(.|\n)+answered 202 +10 of 10",
    "screen": r"verdicts alike +2 of 2",
    "localise": r"all 1 issues of 1 clones\n +hit@1 +BM25 \d.\d+, ours 1.000",
    "posting": r"its own linter reports +none\n +all others +none",
    "history": r"changes a second +\d+\.\d",
    "reviewing": r"the last \d commits of shop: 1 files(.|\n)+beyond the tools, s +-?\d+\.\d",
    "ledger": r"the same table, bit for bit +yes",
    "poisoning": r"a malicious maintainer, nobody else +unmoved;.+undo exact",
    "untested": r"changes reviewed; known what no test tests +1; \d",
    "slow_suite": r"limit, s +\d.+\n(.|\n)+first candidate after \d+\.\d s",
    "fairness": r"answered after, s +\d+\.\d\d\n +in the order of arrival, s +\d(.|\n)+200 jobs of 1000 installations, ms",
    "estimates": r"present: dr +1 of 1(.|\n)+only with a hostile file +0 of 5(.|\n)+2172 repairs +seen \d of 5",
    "scale": r"embedded, 1 workers? +\d+\.\d a second; \d+\.\d statements",
    "agent": r"a step less its tool +\d+\.\d\d(.|\n)+a step beyond bare HTTP .+-?\d+\.\d\d",
}


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.parametrize("name", TINY)
def test_runs_and_says_what_it_measured(name: str, tmp_path: Path) -> None:
    """In its smallest size it ends well, with its main figure and the commit."""
    (tmp_path / "shop").mkdir()
    branch = Branch(tmp_path / "shop")
    for number in range(3):
        branch.commit({"shop.py": f"import os\n\nPRICE = {number}\n"})
    write_case(
        tmp_path / "cases" / "sums",
        name="sums",
        files={"sums.py": "def add(a, b):\n    return a - b\n", "test_sums.py": SUMS},
        test_command="python -m pytest",
        budget_seconds=10.0,
        solution={"sums.py": "def add(a, b):\n    return a + b\n"},
    )
    (tmp_path / "clones" / "mill").mkdir(parents=True)
    mill = Branch(tmp_path / "clones" / "mill")
    mill.commit({f"mill/part{number}.py": f"def part{number}():\n    pass\n" for number in range(6)})
    mill.commit({"mill/wheel.py": "def turn(water):\n    return water\n"}, "Add what the water turns")
    mill.commit({"mill/wheel.py": "def turn(water):\n    return -water\n"}, "Let water turn backwards, fixes #4")
    made = {CLOSED: str(tmp_path / "clones"), HISTORY: str(tmp_path / "shop"), CASES: str(tmp_path / "cases")}
    made[KEPT] = str(tmp_path / "kept")
    arguments = [made.get(word, word) for word in TINY[name]]
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "could not be downloaded" in done.stderr:
        missing(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(EXPECTED[name], done.stdout), done.stdout
    assert re.search(r"^  commit \w+(\+changes)?, Python 3", done.stdout, re.MULTILINE)


def test_every_benchmark_is_tried() -> None:
    """A module that can be run as a benchmark is in the list above; a package may be, or has tests of its own."""
    runnable = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text()}
    packages = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
    assert runnable <= set(TINY) <= runnable | packages


def test_the_product_does_not_know_them() -> None:
    """No module of the product imports a benchmark."""
    for package in ("bot", "workers", "memory"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                named = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not any(name.split(".")[0] == "benchmarks" for name in named), path
