"""Runs code without a sandbox, for operators who set `unsafe_without_sandbox` and trust the repository fully.

It copies the checkout, empties the environment, and enforces limits; the code can reach all files and the network.
tiers.open_sandbox chooses between this and the sandboxes.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from workers.ports import CompletedRun, SandboxSession, Workload
from workers.sandbox.launching import (
    LAUNCHER_SOURCE,
    SYSTEM_PATH,
    WORKSPACE,
    Descriptors,
    await_ready,
    launch_spec,
    launcher_command,
    process_tree,
    spawned,
)
from workers.sandbox.supervise import ProcessTree, line_session, supervise

INSIDE = str(WORKSPACE)


class UnsandboxedRunner:
    """Runs code as an ordinary process, in a copy of its checkout. No protection: see the module.

    The copy is not at /workspace: this class translates the path in command, environment and output.
    """

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; its processes are dead when this returns."""
        with self._started(workload, subprocess.DEVNULL) as (tree, paths):
            completed = supervise(tree, workload.limits)
        return dataclasses.replace(
            completed,
            stdout=completed.stdout.replace(str(paths.workspace), INSIDE),
            stderr=completed.stderr.replace(str(paths.workspace), INSIDE),
            report=paths.to_inside(completed.report),
        )

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """Start a process that answers requests; leaving the context ends it."""
        with self._started(workload, subprocess.PIPE) as (tree, paths), line_session(tree, workload.limits) as session:
            yield _TranslatedSession(session, paths)

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[tuple[ProcessTree, _PathTranslation]]:
        with ExitStack() as stack:
            place = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="apprentice-plain-", ignore_cleanup_errors=True))
            )
            paths = _PathTranslation(_laid_out(place, workload.python))
            descriptors = Descriptors(stack)
            spec = _launch_spec(paths.translated(workload), place, descriptors)
            process = spawned(launcher_command(LAUNCHER_SOURCE, spec, descriptors), descriptors, stdin)
            tree = process_tree(process, process.pid, descriptors, grouped=True)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            await_ready(tree, descriptors.status)
            yield tree, paths


@dataclasses.dataclass(frozen=True, slots=True)
class _PathTranslation:
    """Translates between the copy's real path and /workspace, the path that callers use."""

    workspace: Path

    def translated(self, workload: Workload) -> Workload:
        return dataclasses.replace(
            workload,
            command=tuple(word.replace(INSIDE, str(self.workspace)) for word in workload.command),
            env={name: value.replace(INSIDE, str(self.workspace)) for name, value in workload.env.items()},
        )

    def to_outside(self, line: bytes) -> bytes:
        return line.replace(INSIDE.encode(), os.fsencode(self.workspace))

    def to_inside(self, line: bytes) -> bytes:
        return line.replace(os.fsencode(self.workspace), INSIDE.encode())


class _TranslatedSession:
    def __init__(self, session: SandboxSession, paths: _PathTranslation) -> None:
        self._session, self._paths = session, paths

    def send(self, line: bytes) -> None:
        self._session.send(self._paths.to_outside(line))

    def receive(self, timeout: float) -> bytes:
        return self._paths.to_inside(self._session.receive(timeout))


def _laid_out(place: Path, python: Path) -> Path:
    """Make the directories and the `python` commands; returns the copy's path."""
    for name in ("checkout", "home", "tmp", "bin"):
        (place / name).mkdir()
    for name in ("python", "python3"):
        path = place / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python.absolute()))} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    return place.resolve() / "checkout"


def _launch_spec(workload: Workload, place: Path, descriptors: Descriptors) -> dict[str, object]:
    path = (place / "bin", workload.python.absolute().parent, *SYSTEM_PATH)
    places = {"PATH": ":".join(map(str, path)), "HOME": str(place / "home"), "TMPDIR": str(place / "tmp")}
    return launch_spec(
        workload,
        source=descriptors.directory(workload.tree),
        workspace=place.resolve() / "checkout",
        home=place / "home",
        environment={**workload.env, **places},
        report=descriptors.report_inside,
    )
