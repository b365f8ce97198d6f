"""Exchanges lines with a sandboxed process, while a thread enforces its limits."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from workers.errors import SandboxEnded
from workers.ports import CompletedRun, Limits
from workers.sandbox.supervise import ProcessTree, supervise

STDERR_SHOWN = 400


class LineSession:
    """A process that answers requests; see workers.ports.SandboxSession. Lines have no line feed."""

    def __init__(self, tree: ProcessTree, limits: Limits) -> None:
        self._tree, self._limits = tree, limits
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._partial = bytearray()
        self._unread = 0
        self._lock = threading.Lock()
        self._completed: CompletedRun | None = None

    def send(self, line: bytes) -> None:
        """Write one line to its standard input; raises SandboxEnded when the process is gone."""
        assert self._tree.process.stdin is not None
        descriptor, left = self._tree.process.stdin.fileno(), memoryview(line + b"\n")
        try:
            while left:
                left = left[os.write(descriptor, left) :]
        except BrokenPipeError:
            raise SandboxEnded(self._why()) from None

    def receive(self, timeout: float) -> bytes:
        """The next line of its report; raises SandboxEnded when the process is gone, TimeoutError after `timeout` seconds."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer from the sandboxed process in {timeout:g} s") from None
        if line is None:
            self._lines.put(None)
            raise SandboxEnded(self._why())
        with self._lock:
            self._unread -= len(line) + 1
        return line

    def watch(self) -> None:
        """Enforce the limits until the process ends; runs in its own thread."""
        try:
            self._completed = supervise(self._tree, self._limits, self._take)
        finally:
            self._lines.put(None)

    def _take(self, piece: bytes) -> bool:
        """Split into lines. The unread lines may not exceed the cap on output."""
        with self._lock:
            self._unread += len(piece)
            fits = self._unread <= self._limits.output_kb << 10
        *lines, rest = (bytes(self._partial) + piece).split(b"\n")
        self._partial = bytearray(rest)
        for line in lines:
            self._lines.put(line)
        return fits

    def _why(self) -> str:
        if self._completed is None:
            return "the sandboxed process ended"
        tail = self._completed.stderr.strip()[-STDERR_SHOWN:]
        return f"the sandboxed process ended ({self._completed.ending}, exit code {self._completed.exit_code}): {tail}"


@contextmanager
def line_session(tree: ProcessTree, limits: Limits) -> Iterator[LineSession]:
    """Exchange lines with a started process; leaving the context ends its tree."""
    session = LineSession(tree, limits)
    watcher = threading.Thread(target=session.watch, name="sandbox-session", daemon=True)
    watcher.start()
    try:
        yield session
    finally:
        tree.kill()
        watcher.join()
