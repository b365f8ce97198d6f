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
INSIDE_BYTES = os.fsencode(WORKSPACE)


class UnsandboxedRunner:
    """Runs code as an ordinary process, in a copy of its checkout. No protection: see the module.

    The copy is not at /workspace: this class translates the path in command, environment and output.
    """

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; its processes are dead when this returns."""
        with self._started(workload, subprocess.DEVNULL) as (tree, workspace):
            completed = supervise(tree, workload.limits)
        return dataclasses.replace(
            completed,
            stdout=completed.stdout.replace(str(workspace), INSIDE),
            stderr=completed.stderr.replace(str(workspace), INSIDE),
            report=completed.report.replace(os.fsencode(workspace), INSIDE_BYTES),
        )

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """Start a process that answers requests; leaving the context ends it."""
        with (
            self._started(workload, subprocess.PIPE) as (tree, workspace),
            line_session(tree, workload.limits) as session,
        ):
            yield _TranslatedSession(session, os.fsencode(workspace))

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[tuple[ProcessTree, Path]]:
        """The tree, and the real path of its copy."""
        with ExitStack() as stack:
            aside = tempfile.TemporaryDirectory(prefix="apprentice-plain-", ignore_cleanup_errors=True)
            place = Path(stack.enter_context(aside))
            workspace = _laid_out(place, workload.python)
            descriptors = Descriptors(stack)
            translated = dataclasses.replace(
                workload,
                command=tuple(word.replace(INSIDE, str(workspace)) for word in workload.command),
                env={name: value.replace(INSIDE, str(workspace)) for name, value in workload.env.items()},
            )
            spec = _launch_spec(translated, place, descriptors)
            process = spawned(launcher_command(LAUNCHER_SOURCE, spec, descriptors), descriptors, stdin)
            tree = process_tree(process, process.pid, descriptors, grouped=True)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            await_ready(tree, descriptors.status)
            yield tree, workspace


class _TranslatedSession:
    def __init__(self, session: SandboxSession, workspace: bytes) -> None:
        self._session, self._workspace = session, workspace

    def send(self, line: bytes) -> None:
        self._session.send(line.replace(INSIDE_BYTES, self._workspace))

    def receive(self, timeout: float) -> bytes:
        return self._session.receive(timeout).replace(self._workspace, INSIDE_BYTES)


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
