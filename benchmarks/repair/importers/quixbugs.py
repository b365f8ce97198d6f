"""QuixBugs (Lin et al., 2017): forty programs with a bug on one line each, of a clone, as cases.

The engine sees a program and its tests. It is judged by its results on random inputs beside those of the published
correct program.
"""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks.repair.cases import BadCase, write_case

BUDGET_SECONDS = 60.0
SHARED = ("conftest.py", "python_testcases/load_testdata.py", "python_testcases/node.py")

HELD_OUT = """\
import copy
import random

import pytest
from held_out_inputs import INPUTS, plain
from held_out_reference import {name} as right
from node import Node
from python_programs.{name} import {name} as repaired

R = random.Random({name!r})


def promised(call):
    # Some calls are beyond what the correct program promises to handle.
    try:
        plain(right(*copy.deepcopy(call)))
    except Exception:
        return False
    return True


CALLS = [call for call in (INPUTS[{name!r}](R, Node) for _ in range(400)) if promised(call)]


def test_there_is_something_to_judge_by():
    assert len(CALLS) >= 100


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_behaves_as_the_correct_program(call):
    expected = plain(right(*copy.deepcopy(CALLS[call])))
    found = plain(repaired(*copy.deepcopy(CALLS[call])))
    {assertion}
"""
EXACT = "assert found == expected"
WITHIN = "assert found == pytest.approx(expected, abs=2 * CALLS[call][-1])"


def make(clone: Path, into: Path) -> None:
    """Write a case folder for each program into `into`. Raises BadCase."""
    tests = sorted((clone / "python_testcases").glob("test_*.py"))
    if not tests:
        raise BadCase(f"{clone} holds no python_testcases: name a clone of QuixBugs")
    for test in tests:
        name = test.stem.removeprefix("test_")
        write_case(
            into / name,
            name=name,
            files=_files(clone, name),
            test_command=f"python -m pytest -q python_testcases/test_{name}.py",
            budget_seconds=BUDGET_SECONDS,
            held_out=_held_out(clone, name),
            held_out_command="python -m pytest -q python_testcases/test_held_out.py",
            solution={f"python_programs/{name}.py": _right(clone, name)},
        )


def _files(clone: Path, name: str) -> dict[str, str]:
    wanted = [*SHARED, f"python_programs/{name}.py", f"python_testcases/test_{name}.py", f"json_testcases/{name}.json"]
    return {path: (clone / path).read_text(encoding="utf-8") for path in wanted if (clone / path).is_file()}


def _held_out(clone: Path, name: str) -> dict[str, str]:
    inputs = Path(__file__).with_name("quixbugs_inputs.py").read_text(encoding="utf-8")
    return {
        "python_testcases/held_out_inputs.py": inputs,
        "python_testcases/held_out_reference.py": _right(clone, name),
        "python_testcases/test_held_out.py": HELD_OUT.format(name=name, assertion=WITHIN if name == "sqrt" else EXACT),
    }


def _right(clone: Path, name: str) -> str:
    """The right program with its first definition only: those that follow are other ways, some of which are not right."""
    source = (clone / "correct_python_programs" / f"{name}.py").read_text(encoding="utf-8")
    body = ast.parse(source).body
    same = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    return ast.unparse(ast.Module(body=[node for node in body if node not in same[1:]], type_ignores=[]))
