"""The first process of a container: it sets up the inside as launcher.py does, and carries the command's streams.

An engine hands no descriptors into a container. So the specification comes on standard input, and all that comes out goes
over standard output, in frames: a byte for the stream, four for the length, and the content. The command never holds that
output: it has pipes of its own. When standard input ends, the worker is gone, and the container ends.

It runs by path on our interpreter with `-I -S`, and imports only the standard library and launcher.py beside it.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import selectors
import signal
import struct
import sys
from typing import TYPE_CHECKING, Any, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  as launcher.py

if TYPE_CHECKING:
    from workers.sandbox import launcher
else:
    import launcher

OUTPUT, ERRORS, REPORT, STATUS, END = 1, 2, 3, 4, 5
"""The streams. A status of no length is its end. END holds the exit code, and is the last."""

HEADER = struct.Struct(">BI")
LENGTH = struct.Struct(">Q")
CHUNK = 1 << 16
SOURCE = "/run/apprentice/private/source"
"""The checkout. Only root can enter the directory above it."""

SET_SECCOMP, FILTER = 22, 2
"""prctl(2)."""


class Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def main() -> NoReturn:
    """Start the command, carry its streams, and end with its exit code."""
    spec = json.loads(read_exactly(LENGTH.unpack(read_exactly(LENGTH.size))[0]))
    try:
        spec["source"] = os.open(SOURCE, os.O_RDONLY | os.O_DIRECTORY)
        launcher.copy_checkout(spec)
        confine(base64.b64decode(spec["filter"]))
    except OSError as problem:
        frame(STATUS, launcher.explain(problem, spec).encode())
        end(launcher.SET_UP_FAILED)
    read_from, written_to = zip(*(os.pipe() for _ in range(4)), strict=True)
    command_input = os.pipe() if spec["interactive"] else (os.open("/dev/null", os.O_RDONLY), -1)
    child = os.fork()
    if child == 0:
        become_the_command(spec, command_input[0], written_to)
    for descriptor in (command_input[0], *written_to):
        os.close(descriptor)
    launcher.empty_capabilities()
    carry(child, command_input[1], dict(zip(read_from, (OUTPUT, ERRORS, REPORT, STATUS), strict=True)))


def read_exactly(size: int) -> bytes:
    """Bytes of standard input; ends the container at its end."""
    found = b""
    while len(found) < size:
        piece = os.read(0, size - len(found))
        if not piece:
            os._exit(launcher.SET_UP_FAILED)
        found += piece
    return found


def confine(instructions: bytes) -> None:
    """Hide this process from the command, and let no process of the container gain a right or make a refused call."""
    launcher.prctl(launcher.SET_DUMPABLE, 0)
    launcher.prctl(launcher.SET_NO_NEW_PRIVILEGES, 1)
    with contextlib.suppress(OSError):  # gVisor has none, and without inheritable ones there are none
        launcher.prctl(launcher.AMBIENT, launcher.CLEAR_AMBIENT)
    launcher.drop_bounding()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a signal without handler does not reach a first process
    held = ctypes.create_string_buffer(instructions, len(instructions))
    program = Program(len(instructions) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no system-call filter")


def become_the_command(spec: dict[str, Any], command_input: int, written_to: tuple[int, ...]) -> NoReturn:
    """In the child: give up all rights, apply the overlay, and start the command."""
    output, errors, report, status = (os.dup(each) for each in written_to)
    os.dup2(command_input, 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    kept = os.dup2(status, 50, inheritable=False)
    os.dup2(report, REPORT)
    os.closerange(REPORT + 1, kept)
    os.closerange(kept + 1, launcher.OPEN_FILES)
    with launcher.reporting(spec, kept):
        launcher.drop_privileges(spec["uid"])
        launcher.empty_capabilities()
        launcher.prepare(spec)
    os.write(kept, b"ready")
    os.close(kept)
    launcher.execute(spec)


def frame(stream: int, content: bytes) -> None:
    """Write a frame; ends the container when its output has no reader."""
    left = memoryview(HEADER.pack(stream, len(content)) + content)
    try:
        while left:
            left = left[os.write(1, left) :]
    except OSError:
        os._exit(launcher.SET_UP_FAILED)


def end(code: int) -> NoReturn:
    """Say with which code the container ends, and end it."""
    frame(END, bytes([code]))
    os._exit(code)


def carry(child: int, command_input: int, streams: dict[int, int]) -> NoReturn:
    """Carry the streams until the command ends, reap orphans, and end with its exit code. What daemons write then is lost."""
    with selectors.DefaultSelector() as selector:
        for descriptor, stream in streams.items():
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ, stream)
        selector.register(0, selectors.EVENT_READ)
        deaths, written = os.pipe2(os.O_NONBLOCK)  # gVisor has no handles of processes
        signal.set_wakeup_fd(written)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        selector.register(deaths, selectors.EVENT_READ)
        while not has_ended(child):
            for key, _ in selector.select(1.0):
                if key.fd == 0:
                    take_input(command_input)
                elif key.fd == deaths:
                    os.read(deaths, CHUNK)
                elif passed_on(key.fd, key.data) is None:
                    selector.unregister(key.fd)
                    del streams[key.fd]
        for descriptor, stream in streams.items():
            while passed_on(descriptor, stream):
                pass
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    end(launcher.SIGNAL_BASE - code if code < 0 else code)


def take_input(command_input: int) -> None:
    """Pass standard input on; at its end the container ends."""
    piece = os.read(0, CHUNK)
    if not piece:
        os._exit(launcher.SET_UP_FAILED)
    left = memoryview(piece)
    try:
        while left and command_input >= 0:
            left = left[os.write(command_input, left) :]
    except BrokenPipeError:
        return


def passed_on(descriptor: int, stream: int) -> bool | None:
    """Carry what there is; false where there is nothing now, None at the end."""
    try:
        piece = os.read(descriptor, CHUNK)
    except BlockingIOError:
        return False
    if piece or stream == STATUS:
        frame(stream, piece)
    return True if piece else None


def has_ended(child: int) -> bool:
    """Whether the command has ended. Reaps the orphans that have."""
    while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if found.si_pid == child:
            return True
        os.waitpid(found.si_pid, 0)
    return False


if __name__ == "__main__":
    main()
