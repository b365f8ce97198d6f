"""Starts the launcher, sandboxed or not: its inherited descriptors, its specification, and its ready message."""

from __future__ import annotations

import base64
import json
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workers.errors import BadInput, CannotRun
from workers.ports import Workload
from workers.sandbox.supervise import ProcessTree, readable

SET_UP_SECONDS = 120.0
LAUNCHER_SOURCE = Path(__file__).with_name("launcher.py")


class Descriptors:
    """Pipes and files in memory for one start; `stack` closes what is open."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.inherited: list[int] = []
        self.status, self.status_inside = self.pipe()
        self.report, self.report_inside = self.pipe()

    def pipe(self) -> tuple[int, int]:
        """Our reading end, and the writing end that is inherited."""
        reading, writing = os.pipe()
        self._stack.callback(os.close, reading)
        self._inherit(writing)
        return reading, writing

    def memory(self, content: bytes) -> int:
        """An inherited descriptor to read `content` from: on a command line it would be visible inside."""
        descriptor = os.memfd_create("apprentice")
        self._inherit(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close_inherited(self) -> None:
        """Close our copies of the inherited descriptors: a pipe ends only when its last writer closes it."""
        for descriptor in self.inherited:
            os.close(descriptor)
        self.inherited.clear()

    def _inherit(self, descriptor: int) -> None:
        self.inherited.append(descriptor)
        self._stack.callback(self._close, descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self.inherited:
            os.close(descriptor)


def launcher_command(launcher: Path, spec: int, status: int) -> list[str]:
    """The command that starts the launcher on our interpreter, because the project controls its own."""
    return [sys.executable, "-I", "-S", str(launcher), str(spec), str(status)]


def await_ready(tree: ProcessTree, status: int) -> None:
    """Wait until the launcher is ready to start the command. Raises CannotRun with the launcher's reason if it fails."""
    status_text = b""
    while readable(status, SET_UP_SECONDS):
        piece = os.read(status, 4096)
        status_text += piece
        if not piece:
            break
    if status_text == b"ready":
        return
    tree.kill()
    assert tree.process.stderr is not None
    reason = (status_text or tree.process.stderr.read()).decode(errors="replace").strip()
    raise CannotRun(f"the sandbox could not be set up: {reason or 'no reason given'}")


REPORT_VARIABLE = "APPRENTICE_REPORT_FD"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """Instructions for the launcher; all paths are those inside the sandbox.

    `first`: the launcher is the first process of a namespace. `user` is the user id for the command, None to keep the
    launcher's; `processes` is None where the limit would also count the host's processes.
    """

    workload: Workload
    source: Path
    workspace: Path
    home: Path
    user: int | None
    processes: int | None
    first: bool
    environment: dict[str, str]
    report: int

    def encoded(self) -> bytes:
        """As launcher.py reads it. Raises BadInput for an overlay path that leads out of the checkout."""
        limits = self.workload.limits
        spec = {
            "source": str(self.source),
            "workspace": str(self.workspace),
            "own": [str(self.workspace), str(self.home)],
            "uid": self.user,
            "first": self.first,
            "overlay": {_inner(path): _text(content) for path, content in self.workload.overlay.items()},
            "environment": {**self.environment, REPORT_VARIABLE: str(self.report)},
            "command": list(self.workload.command),
            "limits": {
                "cpu_seconds": limits.cpu_seconds,
                "memory_mb": limits.memory_mb,
                "processes": self.processes,
                "disk_mb": limits.disk_mb,
            },
        }
        return json.dumps(spec).encode()


def _inner(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise BadInput(f"{path!r} leads out of the checkout: name a file inside it")
    return str(pure)


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")
