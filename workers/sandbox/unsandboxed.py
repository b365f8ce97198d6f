"""Running code without a sandbox: only for those who set `unsafe_without_sandbox` and trust the repository fully.

The checkout is copied, the environment is empty, limits hold and the processes are killed; files and network are open.
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
from workers.sandbox import mounts
from workers.sandbox.launching import LAUNCHER_SOURCE, Descriptors, LaunchSpec, await_ready, launcher_command
from workers.sandbox.session import line_session
from workers.sandbox.supervise import ProcessTree, ReportBuffer, supervise

INSIDE = str(mounts.WORKSPACE)


class UnsandboxedRunner:
    """Runs code as an ordinary process, in a copy of its checkout. No protection: see the module.

    The copy is not at /workspace; the name is translated in command and environment, and back in what is written.
    """

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; its processes are dead when this returns."""
        with self._started(workload, subprocess.DEVNULL) as (tree, names):
            report = ReportBuffer(cap=workload.limits.output_kb << 10)
            completed = supervise(tree, workload.limits, report.add)
        return dataclasses.replace(
            completed,
            stdout=names.told(completed.stdout),
            stderr=names.told(completed.stderr),
            report=names.told_bytes(bytes(report.content)),
        )

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """Start a process to speak with; leaving the context ends it."""
        with (
            self._started(workload, subprocess.PIPE) as (tree, names),
            line_session(tree, workload.limits) as spoken,
        ):
            yield _Translated(spoken, names)

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[tuple[ProcessTree, _Names]]:
        with ExitStack() as stack:
            place = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="apprentice-plain-", ignore_cleanup_errors=True))
            )
            names = _Names(_laid_out(place, workload.python))
            descriptors = Descriptors(stack)
            order = descriptors.memory(_order(names.renamed(workload), place, descriptors.report_inside).encoded())
            process = subprocess.Popen(  # noqa: S603 - what the operator allowed by a setting of that name
                launcher_command(LAUNCHER_SOURCE, order, descriptors.status_inside),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                pass_fds=descriptors.inherited,
                start_new_session=True,
            )
            descriptors.handed_over()
            tree = _tree(process, descriptors.report)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            await_ready(tree, descriptors.status)
            yield tree, names


@dataclasses.dataclass(frozen=True, slots=True)
class _Names:
    """The copy's real place, and /workspace, which callers say for it."""

    workspace: Path

    def renamed(self, workload: Workload) -> Workload:
        return dataclasses.replace(
            workload,
            command=tuple(self._asked(word) for word in workload.command),
            env={name: self._asked(value) for name, value in workload.env.items()},
        )

    def asked_bytes(self, line: bytes) -> bytes:
        return line.replace(INSIDE.encode(), os.fsencode(self.workspace))

    def told(self, text: str) -> str:
        return text.replace(str(self.workspace), INSIDE)

    def told_bytes(self, line: bytes) -> bytes:
        return line.replace(os.fsencode(self.workspace), INSIDE.encode())

    def _asked(self, text: str) -> str:
        return text.replace(INSIDE, str(self.workspace))


class _Translated:
    def __init__(self, spoken: SandboxSession, names: _Names) -> None:
        self._spoken, self._names = spoken, names

    def send(self, line: bytes) -> None:
        self._spoken.send(self._names.asked_bytes(line))

    def receive(self, timeout: float) -> bytes:
        return self._names.told_bytes(self._spoken.receive(timeout))


def _laid_out(place: Path, python: Path) -> Path:
    """Make the directories and the `python` commands; the place of the copy."""
    for name in ("checkout", "home", "tmp", "bin"):
        (place / name).mkdir()
    for name in ("python", "python3"):
        path = place / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python.absolute()))} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    return place.resolve() / "checkout"


def _order(workload: Workload, place: Path, report: int) -> LaunchSpec:
    path = (place / "bin", workload.python.absolute().parent, *mounts.SYSTEM_PATH)
    return LaunchSpec(
        workload=workload,
        source=workload.tree.resolve(),
        workspace=place.resolve() / "checkout",
        home=place / "home",
        user=None,
        first=False,
        processes=None,
        environment={
            **workload.env,
            "PATH": ":".join(map(str, path)),
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "tmp"),
        },
        report=report,
    )


def _tree(process: subprocess.Popen[bytes], report: int) -> ProcessTree:
    return ProcessTree(
        process=process,
        leader=process.pid,
        leader_handle=os.pidfd_open(process.pid),
        process_handle=os.pidfd_open(process.pid),
        report=os.dup(report),
        grouped=True,
    )
