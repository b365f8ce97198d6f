"""HumanEvalFix (Muennighoff et al., 2023): the Python lines of HumanEvalPack, as cases.

With the oracle "full" the engine sees all tests. With "examples" it sees those of the task's description, and is judged
by all: only tasks whose example tests fail are cases then. HumanEval itself (Chen et al., 2021) is made of the same
lines: each function's body is `raise NotImplementedError`, to be written from its docstring.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from benchmarks.repair.cases import BadCase, write_case, write_tree
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.run_tests import run_tests

BUDGET_SECONDS = 30.0
COMMAND = "python -m pytest -q"
UNWRITTEN = "    raise NotImplementedError\n"


class Task(msgspec.Struct, frozen=True):
    """The fields of a line that are used."""

    task_id: str
    prompt: str
    buggy_solution: str
    canonical_solution: str
    test: str
    example_test: str
    entry_point: str
    bug_type: str


def make(file: Path, into: Path, *, oracle: str) -> None:
    """Write a case folder for each task into `into`. Raises BadCase."""
    for task in tasks(file):
        seen = task.test if oracle == "full" else task.example_test
        name = test_file(task)
        files = {"solution.py": task.prompt + task.buggy_solution, name: tests(task, seen)}
        if oracle == "examples" and not fails(files, COMMAND):
            continue
        write_case(
            into / task.task_id.replace("/", "-"),
            name=task.task_id,
            files=files,
            test_command=COMMAND,
            budget_seconds=BUDGET_SECONDS,
            held_out=None if oracle == "full" else {name: tests(task, task.test)},
            solution={"solution.py": task.prompt + task.canonical_solution},
            labels={"bug_type": task.bug_type},
        )


def make_unwritten(file: Path, into: Path) -> None:
    """The same of HumanEval, where the examples of the docstring can be run. Raises BadCase."""
    for task in tasks(file):
        name = test_file(task)
        files = {"solution.py": task.prompt + UNWRITTEN, name: tests(task, task.example_test)}
        if fails(files, COMMAND):
            write_case(
                into / task.task_id.replace("/", "-"),
                name=task.task_id,
                files=files,
                test_command=COMMAND,
                budget_seconds=BUDGET_SECONDS,
                held_out={name: tests(task, task.test)},
            )


def fails(files: Mapping[str, str], command: str) -> bool:
    """Whether some test fails with these files, texts by path, in the sandbox."""
    with tempfile.TemporaryDirectory(prefix="apprentice-case-") as scratch:
        tree = Path(scratch) / "tree"
        write_tree(tree, files)
        return bool(run_tests(Bubblewrap(), discover(tree, python=None, test_command=command)).report.failing())


def test_file(task: Task) -> str:
    """Where a task's tests stand: by a name of its own, since a memory tells failures apart by their tests."""
    return f"test_{task.task_id.replace('/', '_').lower()}.py"


def tasks(file: Path) -> Iterator[Task]:
    """The tasks of a file. Raises BadCase."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as problem:
        raise BadCase(f"{file} cannot be read: {problem}") from None
    for number, line in enumerate(lines, start=1):
        try:
            yield msgspec.json.decode(line, type=Task)
        except msgspec.DecodeError as problem:
            raise BadCase(f"{file}:{number} is no task of HumanEvalPack: {problem}") from None


def tests(task: Task, text: str) -> str:
    """Some of a task's checks as one test: they are calls of `check` at the end of a script."""
    # At the start of a line only: `def check(...)` may name the function, too.
    body = re.sub(rf"(?m)^check\({task.entry_point}\)", "", text).rstrip()
    names = sorted({task.entry_point, *_defined(task.prompt)})
    return f"from solution import {', '.join(names)}\n{body}\n\n\ndef test_solution():\n    check({task.entry_point})\n"


def _defined(prompt: str) -> Iterator[str]:
    """Functions that the description defines beside the one to be repaired: some checks call them."""
    for line in prompt.splitlines():
        if line.startswith("def "):
            yield line[4 : line.index("(")].strip()
