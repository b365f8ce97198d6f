"""A sandbox that runs nothing twice: what the same code said before, it says again.

For comparing in which order candidates are tried: their verdicts do not depend on that, and take nearly all the time.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from workers.errors import SandboxEnded
from workers.ports import CompletedRun, Sandbox, SandboxSession, Workload


class Remembered:
    """`asked` counts what was asked of it, `run` what really ran for that."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._runs: dict[str, CompletedRun] = {}
        self._answers: dict[str, bytes] = {}
        self.asked = 0
        self.ran = 0

    def run(self, workload: Workload) -> CompletedRun:
        """As it ended before, or as it ends now."""
        self.asked += 1
        key = _key(workload)
        if key not in self._runs:
            self.ran += 1
            self._runs[key] = self._sandbox.run(workload)
        return self._runs[key]

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """A session that starts its process when it is first asked something new."""
        with ExitStack() as stack:
            yield _Session(self, workload, stack)

    def known(self, key: str) -> bytes | None:
        """An answer that was given before."""
        self.asked += 1
        return self._answers.get(key)

    def learn(self, key: str, answer: bytes) -> None:
        """Keep an answer."""
        self.ran += 1
        self._answers[key] = answer

    def forget(self) -> None:
        """Forget all, as nothing of it is asked again."""
        self._runs.clear()
        self._answers.clear()

    def start(self, workload: Workload, stack: ExitStack) -> SandboxSession:
        """A real session."""
        return stack.enter_context(self._sandbox.session(workload))


class _Session:
    """Every answer depends on the opening line and on the request alone: each request is tried in a fork of its own."""

    def __init__(self, memory: Remembered, workload: Workload, stack: ExitStack) -> None:
        self._memory = memory
        self._workload = workload
        self._stack = stack
        self._place = _key(workload)
        self._opening: bytes | None = None
        self._sent: list[bytes] = []
        self._real: SandboxSession | None = None
        self._lost = ""

    def send(self, line: bytes) -> None:
        """Note what is asked."""
        if self._lost:
            raise SandboxEnded(self._lost)
        if self._opening is None:
            self._opening = line
        self._sent.append(line)

    def receive(self, timeout: float) -> bytes:
        """What was answered before, or is now."""
        line = self._sent.pop(0)
        asked = json.loads(line)
        number = asked.pop("id", None)
        key = f"{self._place}:{hashlib.sha256((self._opening or b'') + json.dumps(asked).encode()).hexdigest()}"
        answer = self._memory.known(key)
        if answer is None:
            answer = self._ask(line, timeout)
            self._memory.learn(key, answer)
        return answer if number is None else json.dumps(dict(json.loads(answer), id=number)).encode()

    def _ask(self, line: bytes, timeout: float) -> bytes:
        try:
            return self._asked(line, timeout)
        except SandboxEnded as end:
            self._lost = str(end)
            raise

    def _asked(self, line: bytes, timeout: float) -> bytes:
        if self._real is None:
            assert self._opening is not None, "the opening line was sent"
            self._real = self._memory.start(self._workload, self._stack)
            self._real.send(self._opening)
            opened = self._real.receive(timeout + 120.0)
            if line is self._opening:
                return opened
        self._real.send(line)
        return self._real.receive(timeout)


def _key(workload: Workload) -> str:
    """What decides how a workload ends: its code and its command, wherever they lie."""
    temporary = [path for path in workload.read_only if path.is_relative_to(tempfile.gettempdir())]
    total = hashlib.sha256(_digest(workload.tree).encode())
    for path in temporary:
        total.update(_digest(path).encode())
    for name, content in sorted(workload.overlay.items()):
        total.update(name.encode() + b"\0" + (content or b"") + b"\0")
    told = json.dumps([list(workload.command), dict(workload.env)], sort_keys=True)
    for number, path in enumerate(temporary):
        told = told.replace(str(path), f"<{number}>")
    total.update(told.encode())
    return total.hexdigest()


@cache
def _digest(directory: Path) -> str:
    """The identity of a directory's files; a directory is not changed once it was run."""
    total = hashlib.sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        total.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
