"""What a command is doing, for a user who waits, and how one ends that its user interrupts."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Self

from rich.console import Console

INTERRUPTED = 128 + signal.SIGINT

SILENT_AT_MOST, SILENT_IN_A_LOG = 10.0, 30.0
"""After so many seconds without a step the last one is printed again, on a terminal and off one."""


class Progress:
    """Prints each step on a line, and the last one again while it goes on; a `quiet` one keeps it to itself.

    Off a terminal the first line waits for the second, so that a project that cannot be run gets one line: why.
    """

    def __init__(self, notes: Console, *, quiet: bool = False, silent_at_most: float | None = None) -> None:
        self._notes = notes
        self._quiet = quiet
        self._patience = silent_at_most or (SILENT_AT_MOST if notes.is_terminal else SILENT_IN_A_LOG)
        self._held: list[str] | None = None if notes.is_terminal else []
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._began = self._at = time.monotonic()
        self._handler: object = None
        self.step = ""

    def __call__(self, line: str) -> None:
        with self._lock:
            self.step, self._at = line, time.monotonic()
            if self._held == []:
                self._held.append(line)
                return
            self._print(line)

    def __enter__(self) -> Self:
        threading.Thread(target=self._repeat, daemon=True).start()
        self._handler = signal.signal(signal.SIGINT, _interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        signal.signal(signal.SIGINT, self._handler)  # type: ignore[arg-type]  # what signal.signal returned

    @property
    def seconds(self) -> float:
        """How long the command has been running."""
        return time.monotonic() - self._began

    def interrupted(self, kept: str) -> str:
        """The line that an interrupted command ends with; `kept` says what is as before and what stays."""
        last = f", at: {self.step}" if self.step else ""
        return f"interrupted after {self.seconds:.1f} s{last}; {kept}"

    def _repeat(self) -> None:
        while not self._ended.wait(self._patience):
            with self._lock:
                if self.step and time.monotonic() - self._at >= self._patience:
                    self._print(f"after {self.seconds:.0f} s, still: {self.step}")

    def _print(self, line: str) -> None:
        for each in () if self._quiet else (*(self._held or ()), line):
            self._notes.print(each, style="dim", markup=False)
        self._held = None


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the command; a second Ctrl-C does not disturb how it removes its processes and files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
