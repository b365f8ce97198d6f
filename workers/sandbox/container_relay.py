"""Beside the engine's client, on the host: turns the frames of container_init.py into streams, and gives it its input.

`relay.py SPEC STATUS REPORT INTERACTIVE COMMAND…`: three descriptors, 1 where standard input goes to the command, and the
client's command. It runs by path on our interpreter with `-I -S`, and imports only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
from typing import IO

OUTPUT, ERRORS, REPORT, STATUS, END = 1, 2, 3, 4, 5
HEADER = struct.Struct(">BI")
LENGTH = struct.Struct(">Q")
CHUNK = 1 << 16
CLIENT_SECONDS = 2.0
"""Podman's client does not always end with its container."""

DIE_WITH_PARENT = 1
"""prctl(2)."""


def main() -> None:
    """Run the client to its end; ends with its exit code."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    spec, status, report, interactive = map(int, sys.argv[1:5])
    with os.fdopen(spec, "rb") as stream:
        content = stream.read()
    client = subprocess.Popen(sys.argv[5:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  our own command
    assert client.stdin is not None
    assert client.stdout is not None
    feeding = threading.Thread(target=feed, args=(client.stdin.fileno(), content, interactive), daemon=True)
    feeding.start()
    code = spread(client.stdout, {OUTPUT: 1, ERRORS: 2, REPORT: report, STATUS: status})
    if code is None:
        os._exit(client.wait())
    os.close(client.stdin.fileno())
    try:
        client.wait(CLIENT_SECONDS)  # until then the engine may not know why the container ended
    except subprocess.TimeoutExpired:
        client.kill()
    os._exit(code)


def feed(client: int, content: bytes, interactive: int) -> None:
    """Send the specification, then what is to be sent to the command. The client's input stays open: its end is the container's."""
    try:
        write(client, LENGTH.pack(len(content)) + content)
        while interactive and (piece := os.read(0, CHUNK)):
            write(client, piece)
    except OSError:  # the client has ended, or its input was closed at the end
        return
    if interactive:
        os.close(client)


def spread(frames: IO[bytes], streams: dict[int, int]) -> int | None:
    """Write each frame to its stream, up to the exit code of the container; None without one."""
    while len(header := frames.read(HEADER.size)) == HEADER.size:
        stream, length = HEADER.unpack(header)
        content = frames.read(length)
        if stream == END:
            return content[0]
        if stream == STATUS and not content:
            os.close(streams[STATUS])
        else:
            write(streams[stream], content)
    return None


def write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


if __name__ == "__main__":
    main()
