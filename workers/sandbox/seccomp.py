"""The system-call filter of the sandbox as a classic BPF program, made without libseccomp.

Named calls are refused, and so is every call newer than those known here (ENOSYS, so that C libraries fall back).
Layout of the data the filter reads: `struct seccomp_data` in linux/seccomp.h; instructions: linux/filter.h.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

from workers.errors import CannotRun

LOAD_WORD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER_OFFSET, ARCHITECTURE_OFFSET, FIRST_ARGUMENT_OFFSET = 0, 4, 16
LAST_KNOWN_CALL = 462
"""mseal, Linux 6.10. Later calls are not reviewed yet, so the filter refuses them."""

CLONE_NEW_NAMESPACE = 0x7E020000
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID and -NET together."""

TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal that started us."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
PERSONALITY_QUERY, PERSONALITY_LINUX, PERSONALITY_NO_RANDOM = 0xFFFFFFFF, 0, 0x0040000

REFUSED: dict[str, tuple[int | None, int | None]] = {
    # name: its number on x86_64, on aarch64
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}
"""Calls that reach the kernel's keys, other processes, mounts and namespaces, or memory that no limit counts (shmget)."""

ABSENT: dict[str, tuple[int, int]] = {
    "clone3": (435, 435),  # its flags lie in memory, where no filter can see them
    "io_uring_enter": (426, 426),  # runs system calls past the filter
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),  # memory that belongs to no process's size
    "memfd_secret": (447, 447),
}
"""Calls that programs replace when the kernel lacks them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A processor's audit id, and the numbers of the calls whose arguments the filter checks."""

    audit_id: int
    column: int
    clone: int
    ioctl: int
    personality: int
    socket: int
    socketpair: int


ARCHITECTURES = {
    "x86_64": Architecture(
        audit_id=0xC000003E, column=0, clone=56, ioctl=16, personality=135, socket=41, socketpair=53
    ),
    "aarch64": Architecture(
        audit_id=0xC00000B7, column=1, clone=220, ioctl=29, personality=92, socket=198, socketpair=199
    ),
}


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
            *_refused_calls(here),
            *_when(here.clone, [_load(FIRST_ARGUMENT_OFFSET), *_refuse_bits(CLONE_NEW_NAMESPACE)]),
            *_when(here.ioctl, [_load(_argument(1)), *_refuse_values(TERMINAL_INJECTION)]),
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


def _refused_calls(here: Architecture) -> list[bytes]:
    lines: list[bytes] = []
    for table, code in ((REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            number = numbers[here.column]
            if number is not None:
                lines += [_jump(JUMP_EQUAL, number, 0, 1), _refuse(code)]
    return lines


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """`body` for this call alone; it allows what it does not refuse."""
    body = [*body, _end(ALLOW)]
    return [_jump(JUMP_EQUAL, number, 0, len(body)), *body]


def _sockets() -> list[bytes]:
    """Local sockets, IP (there is only loopback), and netlink to the routing table (getifaddrs asks it)."""
    return [
        _load(FIRST_ARGUMENT_OFFSET),
        *_allow_values((UNIX, INET, INET6)),
        _jump(JUMP_EQUAL, NETLINK, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
        _load(_argument(2)),
        _jump(JUMP_EQUAL, 0, 1, 0),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _only(values: tuple[int, ...], code: int) -> list[bytes]:
    return [_load(FIRST_ARGUMENT_OFFSET), *_allow_values(values), _refuse(code)]


def _allow_values(values: tuple[int, ...]) -> list[bytes]:
    return [line for value in values for line in (_jump(JUMP_EQUAL, value, 0, 1), _end(ALLOW))]


def _refuse_values(values: tuple[int, ...]) -> list[bytes]:
    return [line for value in values for line in (_jump(JUMP_EQUAL, value, 0, 1), _refuse(errno.EPERM))]


def _refuse_bits(mask: int) -> list[bytes]:
    return [_jump(JUMP_ANY_BIT, mask, 0, 1), _refuse(errno.EPERM)]


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
