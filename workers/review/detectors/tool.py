"""Runs one of our own tools in the sandbox on nothing but the files it is to read.

The repository's configuration and its other modules are not there, the interpreter is started isolated (-I), so that
neither the working directory nor a variable adds to the import path; what the tool reads, it never runs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from workers.ports import Completed, Ending, Limits, Sandbox, Workload
from workers.review.detectors.detector import DetectorFailed, HeadTree

_LIMITS = Limits(wall_seconds=90.0, cpu_seconds=120, memory_mb=1024, output_kb=16 * 1024)
_ROOT = "/workspace/"


def run_tool(
    sandbox: Sandbox,
    arguments: Sequence[str],
    tree: HeadTree,
    paths: Sequence[str],
    ours: Mapping[str, bytes] | None = None,
) -> Completed:
    """Run `python -I -m <arguments> -- ./<paths>`; raises DetectorFailed when a limit ended it.

    `ours` are files of our own, laid over the rest.
    """
    command = (sys.executable, "-I", "-m", *arguments, "--", *(f"./{path}" for path in paths))
    return run_command(sandbox, command, tree, paths, ours=ours)


def run_command(
    sandbox: Sandbox,
    command: tuple[str, ...],
    tree: HeadTree,
    paths: Sequence[str],
    *,
    ours: Mapping[str, bytes] | None = None,
    show: Sequence[Path] = (),
) -> Completed:
    """Run a command where there is nothing but `paths`, `ours`, our interpreter and the host's paths in `show`.

    Raises DetectorFailed when a limit ended it.
    """
    overlay: dict[str, bytes | None] = {path: tree.sources[path].encode() for path in paths}
    name = command[3] if command[:1] == (sys.executable,) and len(command) > 3 else Path(command[0]).name
    with tempfile.TemporaryDirectory(prefix="apprentice-review-") as empty:
        completed = sandbox.run(
            Workload(
                command=command,
                tree=Path(empty),
                python=Path(sys.executable),
                overlay=overlay | dict(ours or {}),
                read_only=(Path(sys.prefix), Path(sys.base_prefix), *show),
                limits=_LIMITS,
            )
        )
    if completed.ending is not Ending.EXITED:
        raise DetectorFailed(f"{name} was stopped ({completed.ending.value.replace('_', ' ')})")
    return completed


def complaint(tool: str, completed: Completed) -> DetectorFailed:
    """The error for a tool that ended with an answer we cannot use: its last words, on one line."""
    said = (completed.stderr.strip() or completed.stdout.strip() or "it said nothing").splitlines()[-1]
    return DetectorFailed(f"{tool} failed with exit code {completed.exit_code}: {said[:200]}")


def relative(filename: str) -> str:
    """The repository's path for a file as a tool names it."""
    name = filename.removeprefix(_ROOT)
    while name.startswith("./"):
        name = name[2:]
    return name
