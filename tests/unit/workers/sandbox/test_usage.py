"""What a process tree uses: its processes are found at every look, those of others are read seldom."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workers.sandbox import usage
from workers.sandbox.usage import TreeWatch, usage_of

PARENT_OF_ONE = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'input()'])"


def test_a_process_that_starts_later_is_seen() -> None:
    """Both looks give the process, and the later one its child too."""
    command = [sys.executable, "-S", "-c", f"input(); {PARENT_OF_ONE}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        watch = TreeWatch(process.pid)
        assert watch.usage().pids == (process.pid,)
        process.stdin.write(b"\n")
        process.stdin.flush()
        while len(found := watch.usage().pids) == 1:
            assert process.poll() is None
        assert found == usage_of(process.pid).pids
        process.kill()
        os.kill(found[1], 9)


def test_others_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look reads none of the processes that are not below; one whose parent is gone may be, and is read again."""
    stats = {1: 0, 2: 1, 30: 1, 31: 30, 40: 39}
    read: list[int] = []

    def stat(path: str) -> bytes:
        pid = int(path.split("/")[2])
        read.append(pid)
        return f"{pid} (a (b) c) S {stats[pid]} {' '.join('7' * 20)}".encode()

    monkeypatch.setattr(usage, "_read", stat)
    monkeypatch.setattr(os, "listdir", lambda _place: ["self", *map(str, stats)])
    watch = TreeWatch(30)
    assert watch.usage().pids == (30, 31)
    assert read == [1, 2, 30, 31, 40]
    stats |= {32: 31, 40: 31}
    read.clear()
    assert watch.usage().pids == (30, 31, 40, 32)
    assert read == [30, 31, 40, 32]
