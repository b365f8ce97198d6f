"""The benchmark of retrieval runs on sets of its form, and makes them of what others published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.retrieval.importers import logs
from benchmarks.retrieval.quality import Case, Question, read, write

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.extended


def run(*arguments: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.retrieval", *arguments, "--embedder", "words"],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "HOME": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_says_what_is_found(tmp_path: Path) -> None:
    """On a tiny set it ends well, with its figures and the commit."""
    words = ("basket total", "header parser", "token stream", "empty mean")
    cases = [Case(id=f"c{n}", says=f"{words[n % 4]} {n}", where=f"{words[n % 3]} line {n}") for n in range(40)]
    questions = [Question(id=f"q{n}", says=cases[n].says, where=cases[n].where, answers=(f"c{n}",)) for n in range(8)]
    write(tmp_path / "tiny.jsonl", cases, questions)
    told = run("quality", "--data", str(tmp_path), home=tmp_path)
    assert re.search(r"hit@5 of 8 questions over 40 cases\n  dense +\d", told), told
    assert re.search(r"hybrid +1\.000", told), told
    assert re.search(r"^  commit \w+(\+changes)?, Python 3", told, re.MULTILINE)


def test_a_failing_log_is_told_in_short(tmp_path: Path) -> None:
    """Of a log stay what the error says and the project's own frames; the fix is found by its file."""
    project = tmp_path / "framework" / "projects" / "Shop"
    for bug in ("1", "2"):
        (project / "trigger_tests").mkdir(parents=True, exist_ok=True)
        (project / "patches").mkdir(exist_ok=True)
        (project / "trigger_tests" / bug).write_text(
            f"--- org.shop.CartTest::testTotal\njava.lang.Error: expected {bug} apples\n"
            "\tat org.junit.Assert.fail(Assert.java:88)\n\tat org.shop.Cart.total(Cart.java:5)\n"
        )
        (project / "patches" / f"{bug}.src.patch").write_text(
            "--- a/org/Cart.java\n+++ b/org/Cart.java\n@@ -1 +1 @@\n-a\n+b\n"
        )
    logs(tmp_path, tmp_path / "sets")
    one, _ = read(tmp_path / "sets" / "logs-to-fix.jsonl").questions
    assert (one.says, one.where, one.answers) == (
        "java.lang.Error: expected <number> apples", "Cart.total CartTest testTotal", ("fix-Shop-1",)
    )  # fmt: skip
