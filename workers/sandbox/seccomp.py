"""The system-call filter of the sandbox as a classic BPF program, made without libseccomp.

Named calls are refused, and so is every call newer than those known here (ENOSYS, so that C libraries fall back).
Layout of the data the filter reads: `struct seccomp_data` in linux/seccomp.h; instructions: linux/filter.h.
"""

import errno
import struct
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workers.errors import CannotRun
from workers.sandbox.usage import KB_OF_SHARED_OBJECT

LOAD_WORD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER_OFFSET, ARCHITECTURE_OFFSET, FIRST_ARGUMENT_OFFSET = 0, 4, 16
LAST_KNOWN_CALL = 462
"""mseal, Linux 6.10. Later calls are not reviewed yet, so the filter refuses them."""

CLONE_NEW_NAMESPACE = 0x7E020000
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID and -NET together."""

TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal that started us."""

SHARED, ANONYMOUS, HUGE_PAGES = 0x01, 0x20, 0x40000
LARGEST_SHARED_BYTES = KB_OF_SHARED_OBJECT << 10
SOL_SOCKET, SOCKET_BUFFERS = 1, (7, 8)
"""SO_SNDBUF and SO_RCVBUF."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
PERSONALITY_QUERY, PERSONALITY_LINUX, PERSONALITY_NO_RANDOM = 0xFFFFFFFF, 0, 0x0040000

REFUSED_CALLS = Path(__file__).with_name("refused_calls.toml")
"""Error → call → processor → number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A processor's audit id, and the numbers of the calls whose arguments the filter checks."""

    audit_id: int
    clone: int
    ioctl: int
    mmap: int
    personality: int
    setsockopt: int
    socket: int
    socketpair: int


ARCHITECTURES = {
    "x86_64": Architecture(
        audit_id=0xC000003E, clone=56, ioctl=16, mmap=9, personality=135, setsockopt=54, socket=41, socketpair=53
    ),
    "aarch64": Architecture(
        audit_id=0xC00000B7, clone=220, ioctl=29, mmap=222, personality=92, setsockopt=208, socket=198, socketpair=199
    ),
}


@cache
def program(machine: str) -> bytes:
    """The filter for `machine` (as `os.uname` names it), as bubblewrap's `--seccomp` reads it. Raises CannotRun for others."""
    here = ARCHITECTURES.get(machine)
    if here is None:
        known = " and ".join(sorted(ARCHITECTURES))
        raise CannotRun(f"the sandbox has no system-call filter for {machine}: run the worker on {known}")
    return b"".join(
        [
            *_same_architecture(here),
            _load(NUMBER_OFFSET),
            *_unknown_calls(),
            *_refused_calls(machine),
            *_when(here.clone, [_load(FIRST_ARGUMENT_OFFSET), *_refuse_bits(CLONE_NEW_NAMESPACE)]),
            *_when(here.ioctl, [_load(_argument(1)), *_when_equal(TERMINAL_INJECTION, _refuse(errno.EPERM))]),
            *_when(here.mmap, _mappings()),
            *_when(here.setsockopt, _buffers()),
            *_when(here.personality, _only((PERSONALITY_LINUX, PERSONALITY_NO_RANDOM, PERSONALITY_QUERY), errno.EPERM)),
            *_when(here.socket, _sockets()),
            *_when(here.socketpair, _only((UNIX,), errno.EAFNOSUPPORT)),
            _end(ALLOW),
        ]
    )


def _same_architecture(here: Architecture) -> list[bytes]:
    """Kill a process that uses another call table (32-bit calls on a 64-bit kernel): its numbers mean other calls."""
    return [_load(ARCHITECTURE_OFFSET), _jump(JUMP_EQUAL, here.audit_id, 1, 0), _end(KILL_PROCESS)]


def _unknown_calls() -> list[bytes]:
    """Refuse newer calls, and the x32 table, whose numbers begin at 0x40000000."""
    return [_jump(JUMP_AT_LEAST, LAST_KNOWN_CALL + 1, 0, 1), _refuse(errno.ENOSYS)]


def _refused_calls(machine: str) -> list[bytes]:
    """A table without one of the two errors raises KeyError: nothing runs with half a filter."""
    calls = tomllib.loads(REFUSED_CALLS.read_text(encoding="utf-8"))
    lines: list[bytes] = []
    for error, code in (("EPERM", errno.EPERM), ("ENOSYS", errno.ENOSYS)):
        numbers = [call[machine] for call in calls[error].values() if machine in call]
        lines += _when_equal(numbers, _refuse(code))
    return lines


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """`body` for this call alone; it allows what it does not refuse."""
    body = [*body, _end(ALLOW)]
    return [_jump(JUMP_EQUAL, number, 0, len(body)), *body]


def _sockets() -> list[bytes]:
    """Local sockets, IP (there is only loopback), and netlink to the routing table (getifaddrs asks it)."""
    return [
        _load(FIRST_ARGUMENT_OFFSET),
        *_when_equal((UNIX, INET, INET6), _end(ALLOW)),
        _jump(JUMP_EQUAL, NETLINK, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
        _load(_argument(2)),
        _jump(JUMP_EQUAL, 0, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _mappings() -> list[bytes]:
    """Refuse huge pages, which the machine keeps for others, and shared anonymous memory above a size (see usage.py)."""
    return [
        _load(_argument(3)),
        *_refuse_bits(HUGE_PAGES, errno.ENOMEM),
        *(line for bit in (SHARED, ANONYMOUS) for line in (_jump(JUMP_ANY_BIT, bit, 1, 0), _end(ALLOW))),
        _load(_argument(1) + 4),
        _jump(JUMP_EQUAL, 0, 1, 0),
        _refuse(errno.ENOMEM),
        _load(_argument(1)),
        _jump(JUMP_AT_LEAST, LARGEST_SHARED_BYTES + 1, 0, 1),
        _refuse(errno.ENOMEM),
    ]


def _buffers() -> list[bytes]:
    """Sockets keep the default size of their buffers: setting it succeeds without effect, as where the system's cap is low."""
    return [
        _load(_argument(1)),
        _jump(JUMP_EQUAL, SOL_SOCKET, 1, 0),
        _end(ALLOW),
        _load(_argument(2)),
        *_when_equal(SOCKET_BUFFERS, _refuse(0)),
    ]


def _only(values: tuple[int, ...], code: int) -> list[bytes]:
    return [_load(FIRST_ARGUMENT_OFFSET), *_when_equal(values, _end(ALLOW)), _refuse(code)]


def _when_equal(values: Iterable[int], action: bytes) -> list[bytes]:
    return [line for value in values for line in (_jump(JUMP_EQUAL, value, 0, 1), action)]


def _refuse_bits(mask: int, code: int = errno.EPERM) -> list[bytes]:
    return [_jump(JUMP_ANY_BIT, mask, 0, 1), _refuse(code)]


def _argument(index: int) -> int:
    """Offset of the low half of an argument: both processors are little-endian."""
    return FIRST_ARGUMENT_OFFSET + 8 * index


def _load(offset: int) -> bytes:
    return _instruction(LOAD_WORD, 0, 0, offset)


def _jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
    return _instruction(test, if_true, if_false, value)


def _refuse(code: int) -> bytes:
    return _end(ERRNO | code)


def _end(action: int) -> bytes:
    return _instruction(RETURN, 0, 0, action)


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
