"""Run something in a forked process under caps, and speak JSON lines over descriptors."""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import IO, Any, Dict, NamedTuple  # noqa: UP035 - a subscripted dict at run time needs 3.9

Message = Dict[str, Any]  # noqa: UP006 - the same
"""One decoded JSON line."""

MIN_SECONDS = 0.001
"""A timer of no seconds would never ring."""


class Line(NamedTuple):
    """Two descriptors to speak JSON lines over."""

    incoming: IO[bytes]
    outgoing: int

    def read(self) -> Message | None:
        """The next message; None when the other side is gone."""
        text = self.incoming.readline()
        message: Message | None = json.loads(text) if text.endswith(b"\n") else None
        return message

    def close(self) -> None:
        """Cut a fork off: it is to run the project's code, which must neither speak in our name nor keep the line open."""
        os.close(self.outgoing)
        os.close(self.incoming.fileno())

    def write(self, message: Message) -> None:
        """Send all of it; raises BrokenPipeError when the other side is gone."""
        text = json.dumps(message).encode() + b"\n"
        while text:
            text = text[os.write(self.outgoing, text) :]


UNTRIED: Message = {"ended": "died", "cpu": 0.0}
"""The end of what was not tried."""

_answered: list[int] = []
"""Children that have answered, to be waited for before the next one."""


class Fork(NamedTuple):
    """One side of a fork: in the child `pid` is 0 and `pipe` is to be written to, in the parent it is to be read."""

    pid: int
    pipe: int

    def leave(self, message: Message) -> None:
        """In the child: hand the answer over, with its processor time, and end without any clean-up."""
        spent = time.process_time()
        os.write(self.pipe, json.dumps([message, spent]).encode() + b"\n")
        os._exit(0)

    def wait(self, wall: float, how: str) -> Message:
        """In the parent: wait `wall` seconds at most, then kill what is left of the child's process group.

        The answer of the child, if any, with `how` it was tried, how it ended and the seconds that it computed. A child that
        has answered runs no more code; it ends by itself, and is reaped later.
        """
        deadline = time.monotonic() + wall
        text = _read_line(self.pipe, self.pid, deadline)
        late = time.monotonic() >= deadline
        os.close(self.pipe)
        _kill_group(self.pid)
        if text.endswith(b"\n"):
            _answered.append(self.pid)
            answer, spent = json.loads(text)
            return dict(answer or {}, how=how, ended="answered", cpu=spent)
        _, status, usage = os.wait4(self.pid, 0)
        return {"how": how, "ended": _cause(status, late), "cpu": usage.ru_utime + usage.ru_stime}


def fork(cpu: float) -> Fork:
    """Fork; the child leads a process group of its own and may compute for `cpu` seconds."""
    while _answered:
        os.waitpid(_answered.pop(), 0)
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid:
        os.close(sending)
        return Fork(pid, receiving)
    os.setsid()
    os.close(receiving)
    _cap_cpu(cpu)
    return Fork(0, sending)


def in_child(body: Callable[[], Message], cpu: float, wall: float) -> Message:
    """Run `body`, which swaps code, in a fork under both caps, in seconds."""
    side = fork(cpu)
    if side.pid:
        return side.wait(wall, "swap")
    try:
        side.leave(body())
    finally:
        os._exit(0)


def _cap_cpu(seconds: float) -> None:
    """Have the kernel end this process by SIGPROF once its threads have computed for `seconds`.

    Processor time, because on a busy machine the clock on the wall kills what did nothing wrong.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    signal.setitimer(signal.ITIMER_PROF, seconds)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    wanted = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


class Allowance:
    """Shares what a capped process may compute among things done one after another, `each` so many seconds at most.

    None are given when `each` is empty. What the process may compute in all stays what it was.
    """

    def __init__(self, each: list[float]) -> None:
        self._each = each
        self._left = self._given = signal.getitimer(signal.ITIMER_PROF)[0]

    def begin(self, place: int) -> None:
        """Let the thing at `place` compute for its time, from now on."""
        if self._each and self._given:
            self._set(self._each[place])

    def end(self) -> None:
        """Leave what is left of the whole."""
        if self._each and self._given:
            self._set(self._left)

    def _set(self, seconds: float) -> None:
        self._left -= self._given - signal.getitimer(signal.ITIMER_PROF)[0]
        self._given = max(min(self._left, seconds), MIN_SECONDS)
        signal.setitimer(signal.ITIMER_PROF, self._given)


def _read_line(descriptor: int, pid: int, deadline: float) -> bytes:
    """What arrives up to a newline, the end of process `pid`, or the deadline."""
    text = b""
    while not text.endswith(b"\n") and time.monotonic() < deadline:
        if select.select([descriptor], [], [], min(0.2, max(0.0, deadline - time.monotonic())))[0]:
            part = os.read(descriptor, 65536)
            if not part:
                break
            text += part
        elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break  # it is gone, and a process that it left behind holds the pipe open
    return text


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _cause(status: int, late: bool) -> str:
    if late:
        return "wall"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU):
        return "cpu"
    return "died"
