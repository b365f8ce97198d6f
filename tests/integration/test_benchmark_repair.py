"""The repair harness on two small cases: one that it repairs and judges, one that nothing can repair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.repair.cases import write_case

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]

SOURCE = """\
def widest(pairs):
    best = 0
    for start, end in pairs:
        if end - start < best:
            best = end - start
    return best
"""
TESTS = """\
from spans import widest


def test_widest():
    assert widest([(0, 3), (1, 2), (5, 9)]) == 4
    assert widest([(2, 9), (3, 4)]) == 7
    assert widest([(0, 1), (2, 5), (7, 8)]) == 3
    assert widest([(10, 12), (0, 1)]) == 2


def test_none():
    assert widest([]) == 0
"""
HELD_OUT = """\
from spans import widest


def test_last():
    assert widest([(0, 1), (20, 29), (3, 4)]) == 9
"""
HOPELESS = "from spans import widest\n\n\ndef test_hopeless():\n    assert widest([]) is TESTS\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    write_case(
        tmp_path / "cases/spans",
        name="spans",
        files={"spans.py": SOURCE, "test_spans.py": TESTS},
        held_out={"test_held_out.py": HELD_OUT},
        labels={"kind": "comparison"},
        test_command="python -m pytest -q",
        budget_seconds=300.0,
    )
    write_case(
        tmp_path / "cases/hopeless",
        name="hopeless",
        files={"spans.py": SOURCE, "test_spans.py": HOPELESS},
        test_command="python -m pytest -q",
        budget_seconds=15.0,
    )
    return tmp_path / "cases"


def harness(*args: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.repair", *args],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def written(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.sandbox
def test_cases_are_repaired_judged_and_kept(cases: Path, tmp_path: Path) -> None:
    """Each result is in the JSON with what the held-out tests said; the tables name what was not fixed."""
    kept = tmp_path / "results.json"
    done = harness("--cases", str(cases), "--jobs", "2", "--seed", "7", "--json", str(kept), home=tmp_path)
    assert done.returncode == 0, done.stderr
    results = written(kept)
    assert (results["seed"], results["jobs"]) == (7, 2)
    hopeless, spans = results["cases"]
    assert (spans["id"], spans["plausible"], spans["correct"]) == ("spans", True, True)
    assert spans["patch"].startswith("diff --git a/spans.py b/spans.py")
    assert spans["labels"] == {"kind": "comparison"}
    assert 0 < spans["candidates_to_first"] <= spans["candidates"]
    assert (hopeless["plausible"], hopeless["correct"], hopeless["patch"]) == (False, None, "")
    assert "| plausible: all tests pass | 1 of 2 (50%; 95 % 9% to 91%) |" in done.stdout
    assert "Not fixed: hopeless" in done.stdout


@pytest.mark.sandbox
def test_a_run_is_resumed_with_what_is_left(cases: Path, tmp_path: Path) -> None:
    """What the file holds is not done again; another seed's results are refused."""
    kept = tmp_path / "results.json"
    first = harness("--cases", str(cases), "--only", "spans", "--jobs", "1", "--json", str(kept), home=tmp_path)
    assert first.returncode == 0, first.stderr
    marked = written(kept)
    marked["cases"][0]["patch"] = "as it was"
    kept.write_text(json.dumps(marked), encoding="utf-8")
    again = harness("--cases", str(cases), "--jobs", "1", "--json", str(kept), "--resume", home=tmp_path)
    assert again.returncode == 0, again.stderr
    assert [case["id"] for case in written(kept)["cases"]] == ["hopeless", "spans"]
    assert written(kept)["cases"][1]["patch"] == "as it was"
    refused = harness("--cases", str(cases), "--json", str(kept), "--resume", "--seed", "9", home=tmp_path)
    assert refused.returncode == 2
    assert "made with --seed 1" in refused.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id = 3", "'id' has to be a text"),
        ("id = ", "is not TOML"),
        ('id = "a"\nrepository = "gone"\ntest_command = "pytest"\nbudget_seconds = 1', "no folder 'gone'"),
        ('id = "a"\nrepository = "."\ntest_command = "pytest"\nbudget_seconds = 0', "a number above 0"),
    ],
)
def test_a_bad_case_is_told(tmp_path: Path, text: str, said: str) -> None:
    """The file and what to change in it are named, and the exit code is that of a usage error."""
    (tmp_path / "cases/bad").mkdir(parents=True)
    (tmp_path / "cases/bad/case.toml").write_text(text, encoding="utf-8")
    done = harness("--cases", str(tmp_path / "cases"), home=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "case.toml" in done.stderr
