"""The demo is the product's promise, so it is run as a user runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]


def demo(house: Path, path: str = "/usr/local/bin:/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    """The demo of the code in `house`, with the programs in `path`."""
    return subprocess.run(
        [sys.executable, "-m", "bot.cli", "demo"],
        cwd=house,
        env={"PATH": path, "HOME": "/nonexistent", "PYTHONPATH": str(house)},
        capture_output=True,
        text=True,
        check=False,
    )


def measured(output: str, what: str) -> int:
    found = re.search(rf"{re.escape(what)}\s*│\s*(\d+)", output)
    assert found, f"the summary does not show {what!r}:\n{output[-3000:]}"
    return int(found[1])


@pytest.mark.extended
def test_the_demo_runs_to_its_end() -> None:
    """It ends by itself with exit code 0; the second bug takes fewer candidates than the first, its fix gives the code from
    before it, and the last table is the row that the fix's strategy was drawn from.
    """
    done = demo(ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    first, second = (measured(done.stdout, f"{which} bug: candidates tried") for which in ("first", "second"))
    assert 0 < second < first
    assert "Why the second fix was right" in done.stdout
    assert "to the letter, what it was before finn's push" in done.stdout
    assert measured(done.stdout, "second bug, empty memory: candidates tried") > 0
    last = done.stdout.partition("the Q-row that decided the second fix")[2]
    row = re.findall(r"│ (›| ) (\S+) +│ ([\d.]+) +│", last)
    assert sum(float(odds) for _, _, odds in row) == pytest.approx(1.0, abs=0.01)
    assert "[info " not in done.stdout, "the log is routine"
    *_, found_by = re.findall(r"candidates: \d+ by (\S+), which the pull request names", done.stdout)
    assert [name for mark, name, _ in row if mark == "›"] == [found_by]


def test_the_demo_does_not_begin_without_a_sandbox() -> None:
    """One line says what to install, at once: nothing is started that would wait for a repair."""
    done = demo(ROOT, path="/nonexistent")
    assert done.returncode == 2
    assert "bubblewrap is not installed: install it" in done.stderr
    assert "maya" not in done.stdout


@pytest.mark.extended
def test_the_demo_fails_without_the_template_for_its_bug(tmp_path: Path) -> None:
    """Nothing in it is faked: with the edit family that repairs the bug removed, the demo fails."""
    for package in ("bot", "workers", "memory", "deploy/demo"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    templates = tmp_path / "workers" / "repair" / "engines" / "search" / "templates" / "expressions.py"
    without = re.sub(
        r"\n@template\([^@]*?\ndef missing_method\(.*?(?=\n@template|\Z)", "\n", templates.read_text(), flags=re.S
    )
    assert "def missing_method" not in without
    templates.write_text(without)
    done = demo(tmp_path)
    assert done.returncode == 2, done.stdout[-3000:]
    assert "not true:" in done.stderr
    assert re.search(r"\[info +\] job started", done.stdout), "the log is shown where a step failed"
