"""HumanEval (Chen et al., 2021), of HumanEvalPack's Python lines: a function's body is to be written from its docstring.

The body is `raise NotImplementedError`. The examples of the docstring are the tests that are seen, the hidden ones judge;
a task without examples that can be run is no case.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.repair.cases import write_case
from benchmarks.repair.importers.humanevalfix import BUDGET_SECONDS, COMMAND, tasks, test_file, tests
from benchmarks.repair.importers.running import fails

UNWRITTEN = "    raise NotImplementedError\n"


def make(file: Path, into: Path) -> None:
    """Write a case folder for each task into `into`. Raises BadCase."""
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
