"""HumanEval as cases: what is to be written, what is seen, and that the solution stands nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.repair.cases import load_cases
from benchmarks.repair.importers import humanevalfix

TASK = {
    "task_id": "Python/7",
    "prompt": 'def doubled(x):\n    """Twice as much: doubled(2) is 4."""\n',
    "canonical_solution": "    return x + x\n",
    "buggy_solution": "    return x\n",
    "test": "\ndef check(doubled):\n    assert doubled(2) == 4\n    assert doubled(-3) == -6\n\ncheck(doubled)",
    "example_test": "def check(doubled):\n    assert doubled(2) == 4\ncheck(doubled)",
    "entry_point": "doubled",
    "bug_type": "missing logic",
}


@pytest.mark.sandbox
def test_the_body_is_to_be_written(tmp_path: Path) -> None:
    """The examples are seen and fail, the hidden tests judge, and no solution stands in the case's folder; without examples there is none."""
    file = tmp_path / "tasks.jsonl"
    without = TASK | {"task_id": "Python/8", "example_test": "def check(doubled):\n    pass\ncheck(doubled)"}
    file.write_text(f"{json.dumps(TASK)}\n{json.dumps(without)}\n")
    humanevalfix.make_unwritten(file, tmp_path / "cases")
    (case,) = load_cases(tmp_path / "cases")
    assert (case.repository / "solution.py").read_text() == TASK["prompt"] + "    raise NotImplementedError\n"
    assert "-6" not in (case.repository / "test_python_7.py").read_text()
    assert case.held_out is not None
    assert "-6" in (case.held_out / "test_python_7.py").read_text()
    assert not any("x + x" in path.read_text() for path in case.repository.parent.rglob("*") if path.is_file())
