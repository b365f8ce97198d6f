"""A sandbox that runs no whole suite twice: what the same code did before, it does again."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from workers.ports import CompletedRun, Sandbox, SandboxSession, Workload


class Remembered:
    """Runs each workload once."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._runs: dict[str, CompletedRun] = {}

    def run(self, workload: Workload) -> CompletedRun:
        """As it ended before, or as it ends now."""
        key = _key(workload)
        if key not in self._runs:
            self._runs[key] = self._sandbox.run(workload)
        return self._runs[key]

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """A real session: what it answers is not repeated, as a repeated answer counts as forged."""
        with self._sandbox.session(workload) as session:
            yield session

    def forget(self) -> None:
        """Forget all, as nothing of it is asked again."""
        self._runs.clear()


def _key(workload: Workload) -> str:
    """What decides how a workload ends: its code and its command, wherever they lie."""
    temporary = [path for path in workload.read_only if path.is_relative_to(tempfile.gettempdir())]
    total = hashlib.sha256(_digest(workload.tree).encode())
    for path in temporary:
        total.update(_digest(path).encode())
    for name, content in sorted(workload.overlay.items()):
        total.update(name.encode() + b"\0" + (content or b"") + b"\0")
    words = json.dumps([list(workload.command), dict(workload.env)], sort_keys=True)
    for number, path in enumerate(temporary):
        words = words.replace(str(path), f"<{number}>")
    total.update(words.encode())
    return total.hexdigest()


@cache
def _digest(directory: Path) -> str:
    """The identity of a directory's files; a directory is not changed once it was run."""
    total = hashlib.sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        total.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
