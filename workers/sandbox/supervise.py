"""Watches one sandboxed process tree: reads its pipes or exchanges lines with it, enforces its limits, and ends it."""

import os
import queue
import select
import selectors
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from memory.measures import SANDBOX
from workers.errors import SandboxEnded
from workers.ports import CompletedRun, Ending, Limits, Workload
from workers.sandbox.usage import MemoryMeter, TreeWatch, usage_of

TICK_SECONDS = 0.05
CHUNK_BYTES = 1 << 16
FLOOD_FACTOR = 64
"""Standard output and error are clipped at their cap; a run that writes this many times as much ends."""

SIGNAL_BASE = 128
DEATH_SECONDS = 20.0

OnReport = Callable[[bytes], bool]
"""Receives a piece of the report; false ends the run with Ending.OUTPUT."""


class RunGroup(Protocol):
    """A control group that limits the memory of a run."""

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended the run, or a process of it, because it reached the limit."""

    def kill(self) -> None:
        """Kill every process that is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTree:
    """A started process and its tree.

    `leader` is the process whose death ends all others: a namespace's init, or with `grouped` a group's leader.
    `file_systems` are those in memory that it alone has, as paths inside; a tree with any has a network of its own too.
    With a `group` the kernel limits its memory, else we do.
    This value owns the descriptors; `close` closes them.
    """

    process: subprocess.Popen[bytes]
    leader: int
    leader_handle: int
    process_handle: int
    report: int
    grouped: bool = False
    file_systems: tuple[str, ...] = ()
    group: RunGroup | None = None

    def kill(self) -> None:
        """Kill every process of the tree and wait until they are gone."""
        runs = self.process.poll() is None
        if self.grouped:
            descendants = usage_of(self.leader).pids[1:]
            with suppress(ProcessLookupError):
                os.killpg(self.leader, signal.SIGKILL)
            for pid in descendants:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        _kill_by_handle(self.leader_handle)
        # The kernel reports an init's death after that of its whole namespace:
        readable(self.leader_handle, DEATH_SECONDS)
        _kill_by_handle(self.process_handle)
        self.process.wait()
        if runs and self.group is not None:
            self.group.kill()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        for descriptor in (self.leader_handle, self.process_handle, self.report):
            os.close(descriptor)


@dataclass(slots=True, kw_only=True)
class ClippedStream:
    """Keeps the beginning and the end of a stream, `cap` bytes together."""

    cap: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    seen: int = 0

    def add(self, piece: bytes) -> bool:
        """Add a piece; false when the stream exceeds the flood limit."""
        self.seen += len(piece)
        room = max(self.cap // 2 - len(self.head), 0)
        self.head += piece[:room]
        self.tail += piece[room:]
        if len(self.tail) > self.cap:
            del self.tail[: len(self.tail) - self.cap // 2]
        return self.seen <= self.cap * FLOOD_FACTOR

    def text(self) -> str:
        """The kept text, with a note where something is missing."""
        tail = bytes(self.tail[-(self.cap // 2) :])
        missing = self.seen - len(self.head) - len(tail)
        note = f"\n[… {missing} bytes left out …]\n".encode() if missing else b""
        return (bytes(self.head) + note + tail).decode("utf-8", "replace")


@dataclass(slots=True, kw_only=True)
class ReportBuffer:
    """A report kept whole; more than `cap` bytes end the run."""

    cap: int
    content: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> bool:
        """Add a piece; false when the report exceeds its cap."""
        self.content += piece[: max(self.cap - len(self.content), 0)]
        return len(self.content) < self.cap


def supervise(tree: ProcessTree, limits: Limits, on_report: OnReport | None = None) -> CompletedRun:
    """Run `tree` to its end or to a limit. When this returns, all processes are dead and all output is read.

    Standard output and error keep their first and last halves of `output_kb`. A report beyond `report_kb`
    ends the run; with `on_report`, that receives it instead.
    """
    return _Watch(tree, limits, on_report).run()


class _Watch:
    def __init__(self, tree: ProcessTree, limits: Limits, on_report: OnReport | None) -> None:
        self.tree, self.limits = tree, limits
        self.started = time.monotonic()
        self.processes = TreeWatch(tree.leader)
        self.memory = MemoryMeter(tree.leader, tree.file_systems)
        self.output, self.errors = ClippedStream(cap=limits.output_kb << 10), ClippedStream(cap=limits.output_kb << 10)
        self.report = ReportBuffer(cap=limits.report_kb << 10)
        assert tree.process.stdout is not None
        assert tree.process.stderr is not None
        self.takers: dict[int, OnReport] = {
            tree.process.stdout.fileno(): self.output.add,
            tree.process.stderr.fileno(): self.errors.add,
            tree.report: on_report or self.report.add,
        }

    def run(self) -> CompletedRun:
        ended: Ending | None = None
        try:
            with selectors.DefaultSelector() as selector:
                for descriptor in (*self.takers, self.tree.process_handle):
                    os.set_blocking(descriptor, False)
                    selector.register(descriptor, selectors.EVENT_READ)
                ended = self._until_over(selector)
        finally:
            self.tree.kill()
        drained = self._drain()
        return self._completed(ended or (None if drained else Ending.OUTPUT))

    def _until_over(self, selector: selectors.BaseSelector) -> Ending | None:
        """None when the process ended by itself."""
        next_look = 0.0
        while True:
            for key, _ in selector.select(TICK_SECONDS):
                if key.fd == self.tree.process_handle:
                    return None
                more = self._read(key.fd)
                if more is None:
                    selector.unregister(key.fd)
                elif not more:
                    return Ending.OUTPUT
            if time.monotonic() >= next_look:
                broken = self._broken_limit()
                if broken is not None:
                    return broken
                next_look = time.monotonic() + TICK_SECONDS

    def _read(self, descriptor: int) -> bool | None:
        """Whether there may be more to read; None at the end of the stream."""
        try:
            piece = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return True
        return self.takers[descriptor](piece) if piece else None

    def _drain(self) -> bool:
        """Read the rest of the pipes; false when it exceeds a cap. A leaked descriptor does not block this."""
        for descriptor in self.takers:
            while readable(descriptor, 0.0):
                more = self._read(descriptor)
                if more is None:
                    break
                if not more:
                    return False
        return True

    def _broken_limit(self) -> Ending | None:
        if time.monotonic() - self.started > self.limits.wall_seconds:
            return Ending.WALL_TIME
        used = self.processes.usage()
        if used.cpu_seconds > self.limits.cpu_seconds:
            return Ending.CPU_TIME
        measured = self.tree.group is None and self.memory.exceeds(self.limits.memory_mb, used.pids)
        return Ending.MEMORY if measured else None

    def _completed(self, ended: Ending | None) -> CompletedRun:
        if ended is None and self.tree.group is not None and self.tree.group.ran_out_of_memory():
            ended = Ending.MEMORY
        code = self.tree.process.returncode
        exit_code = SIGNAL_BASE - code if code < 0 else code
        ending, seconds = ended or _ending_of(exit_code), time.monotonic() - self.started
        SANDBOX.observe(seconds, ending=ending.value)
        return CompletedRun(
            exit_code=exit_code,
            ending=ending,
            stdout=self.output.text(),
            stderr=self.errors.text(),
            report=bytes(self.report.content),
            seconds=seconds,
        )


def _ending_of(exit_code: int) -> Ending:
    """The ending that an exit code shows, for a run that no limit ended."""
    if exit_code == SIGNAL_BASE + signal.SIGXCPU:
        return Ending.CPU_TIME
    if exit_code == SIGNAL_BASE + signal.SIGKILL:
        return Ending.KILLED
    return Ending.EXITED


def _kill_by_handle(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the end, within `seconds`. A process's handle is readable once it ended."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


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


class TreeSandbox(ABC):
    """A sandbox that runs each workload in a process tree of its own."""

    @abstractmethod
    def _started(self, workload: Workload, stdin: int) -> AbstractContextManager[ProcessTree]:
        """The tree of a workload, ready to be watched; leaving the context ends it."""

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; the whole process tree is dead when this returns. See `supervise`."""
        with self._started(workload, subprocess.DEVNULL) as tree:
            return supervise(tree, workload.limits)

    @contextmanager
    def session(self, workload: Workload) -> Iterator[LineSession]:
        """Start a process that answers requests, for `wall_seconds` at most; leaving the context ends its process tree."""
        with self._started(workload, subprocess.PIPE) as tree, line_session(tree, workload.limits) as session:
            yield session
