"""The sandbox that runs nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.repair.remembered import Remembered
from workers.errors import SandboxEnded
from workers.ports import CompletedRun, Ending, SandboxSession, Workload


class Counting:
    """A sandbox that says how often it was asked."""

    def __init__(self) -> None:
        self.runs = 0
        self.lines: list[bytes] = []

    def run(self, workload: Workload) -> CompletedRun:
        self.runs += 1
        said = workload.overlay.get("a.py") or b""
        return CompletedRun(exit_code=0, ending=Ending.EXITED, stdout="", stderr="", report=said, seconds=0.0)

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        yield Echo(self.lines)


class Echo:
    """Answers every line with itself, and is lost at the word."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def send(self, line: bytes) -> None:
        if b"lost" in line:
            raise SandboxEnded("lost")
        self._lines.append(line)

    def receive(self, timeout: float) -> bytes:
        return self._lines[-1]


def workload(tree: Path, content: bytes) -> Workload:
    return Workload(command=("python",), tree=tree, python=Path("/usr/bin/python3"), overlay={"a.py": content})


def test_the_same_code_is_run_once(tmp_path: Path) -> None:
    """Other code is run for itself, and each has its own answer."""
    counting = Counting()
    remembered = Remembered(counting)
    said = [remembered.run(workload(tmp_path, content)).report for content in (b"x", b"y", b"x")]
    assert said == [b"x", b"y", b"x"]
    assert counting.runs == 2
