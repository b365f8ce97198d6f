"""What the attacks share: what there is to steal, as bait.json beside them names it, and ways to try for it."""

import ctypes
import json
import os
import pathlib

BAIT = json.loads(pathlib.Path(__file__).with_name("bait.json").read_text())
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


def reads(path: str | pathlib.Path) -> bytes:
    """The content of a file; nothing for one that cannot be read."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def call(number: int, *arguments: object) -> int:
    """A system call by its number on x86_64; -1 when it fails, or elsewhere."""
    return int(LIBC.syscall(number, *arguments)) if X86 else -1


def opened(paths: object, flags: int = os.O_RDONLY) -> list[str]:
    """The paths that can be opened."""
    found = []
    for path in paths:  # type: ignore[attr-defined]
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK))
            found.append(str(path))
        except OSError:
            continue
    return found
