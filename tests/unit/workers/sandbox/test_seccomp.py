"""The system-call filter, run by a small interpreter of classic BPF."""

from __future__ import annotations

import errno
import struct
import tomllib

import pytest

from workers.errors import CannotRun
from workers.sandbox import seccomp

ALLOWED = seccomp.ALLOW
REFUSED = seccomp.ERRNO | errno.EPERM
UNKNOWN = seccomp.ERRNO | errno.ENOSYS
NO_FAMILY = seccomp.ERRNO | errno.EAFNOSUPPORT
X86, ARM = "x86_64", "aarch64"
MASK = (1 << 64) - 1

REFUSED_CALLS: dict[str, tuple[int | None, int | None]] = {
    # name: its number on x86_64, on aarch64, as in the kernel's syscall_64.tbl and asm-generic/unistd.h
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
    "semget": (64, 190),
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
    "vmsplice": (278, 75),
}
ABSENT_CALLS = {
    "clone3": (435, 435),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
}


def verdict(machine: str, number: int, *arguments: int, audit_id: int | None = None) -> int:
    """What the kernel would do with this call."""
    own = seccomp.ARCHITECTURES[machine].audit_id
    padded = [value & MASK for value in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, own if audit_id is None else audit_id, 0, *padded)
    lines = list(struct.iter_unpack("<HBBI", seccomp.program(machine)))
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = lines[position]
        position += 1
        if code == seccomp.RETURN:
            return int(value)
        if code == seccomp.LOAD_WORD:
            (accumulator,) = struct.unpack_from("<I", data, value)
            continue
        holds = {
            seccomp.JUMP_EQUAL: accumulator == value,
            seccomp.JUMP_AT_LEAST: accumulator >= value,
            seccomp.JUMP_ANY_BIT: bool(accumulator & value),
        }[code]
        position += if_true if holds else if_false


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("name", REFUSED_CALLS)
def test_named_calls_are_refused(machine: str, name: str) -> None:
    """Each of these calls gets EPERM on each processor that has it."""
    number = REFUSED_CALLS[name][(X86, ARM).index(machine)]
    if number is None:
        assert machine == ARM
    else:
        assert verdict(machine, number) == REFUSED


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("name", ABSENT_CALLS)
def test_calls_with_a_second_way_seem_absent(machine: str, name: str) -> None:
    """Calls for which C libraries fall back get ENOSYS."""
    assert verdict(machine, ABSENT_CALLS[name][(X86, ARM).index(machine)]) == UNKNOWN


def test_every_call_of_the_filter_is_expected() -> None:
    """A call that is added to the filter is added here too, with its numbers looked up again."""
    found = tomllib.loads(seccomp.REFUSED_CALLS.read_text(encoding="utf-8"))
    assert {error: set(calls) for error, calls in found.items()} == {
        "EPERM": set(REFUSED_CALLS),
        "ENOSYS": set(ABSENT_CALLS),
    }


@pytest.mark.parametrize(
    ("machine", "ordinary"), [(X86, (0, 1, 2, 9, 57, 59, 61, 62, 202, 257)), (ARM, (56, 63, 64, 93, 221, 222))]
)
def test_ordinary_calls_are_allowed(machine: str, ordinary: tuple[int, ...]) -> None:
    """Reading, writing, mapping, forking, executing and waiting go through."""
    assert {verdict(machine, number) for number in ordinary} == {ALLOWED}


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("number", [seccomp.LAST_KNOWN_CALL + 1, 1000, 0x40000000, 0x40000000 + 41, 0xFFFFFFFF])
def test_calls_nobody_looked_at_are_unknown(machine: str, number: int) -> None:
    """Newer calls and the x32 table do not exist inside."""
    assert verdict(machine, number) == UNKNOWN


def test_another_architecture_kills() -> None:
    """A 32-bit call, whose numbers mean other things, ends the process."""
    assert verdict(X86, 0, audit_id=0x40000003) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize("flag", [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
def test_clone_makes_processes_but_no_namespaces(machine: str, flag: int) -> None:
    """Each CLONE_NEW* flag is refused; a thread and a fork are allowed."""
    clone = seccomp.ARCHITECTURES[machine].clone
    assert verdict(machine, clone, flag | 17) == REFUSED
    assert verdict(machine, clone, 17) == ALLOWED
    assert verdict(machine, clone, 0x3D0F00) == ALLOWED


@pytest.mark.parametrize("machine", [X86, ARM])
def test_sockets_are_local_ip_or_ask_for_routes(machine: str) -> None:
    """AF_UNIX, AF_INET, AF_INET6 and routing netlink are allowed, every other family is not supported."""
    socket = seccomp.ARCHITECTURES[machine].socket
    assert {verdict(machine, socket, family, 1, 0) for family in (1, 2, 10)} == {ALLOWED}
    assert verdict(machine, socket, 16, 3, 0) == ALLOWED
    assert {verdict(machine, socket, 16, 3, protocol) for protocol in (9, 12, 15, 21)} == {NO_FAMILY}
    assert {verdict(machine, socket, family, 1, 0) for family in (0, 17, 29, 31, 38, 40, 44, 45)} == {NO_FAMILY}


@pytest.mark.parametrize("machine", [X86, ARM])
def test_typing_into_the_terminal_is_refused(machine: str) -> None:
    """TIOCSTI and TIOCLINUX are refused even with rubbish in the upper half of the argument; other ioctls are allowed."""
    ioctl = seccomp.ARCHITECTURES[machine].ioctl
    assert {verdict(machine, ioctl, 0, request) for request in (0x5412, 0x541C, 0xFF_0000_5412)} == {REFUSED}
    assert verdict(machine, ioctl, 0, 0x5401) == ALLOWED


@pytest.mark.parametrize("machine", [X86, ARM])
def test_personality_may_be_asked_and_kept(machine: str) -> None:
    """Only Linux's own personality, that without address randomisation, and the question are allowed."""
    personality = seccomp.ARCHITECTURES[machine].personality
    assert {verdict(machine, personality, value) for value in (0, 0x0040000, 0xFFFFFFFF)} == {ALLOWED}
    assert verdict(machine, personality, 0x0400000) == REFUSED


@pytest.mark.parametrize("machine", [X86, ARM])
def test_shared_anonymous_memory_is_small(machine: str) -> None:
    """16 MB at most, whatever the other flags; files and private memory of any size are allowed, huge pages never."""
    mmap = seccomp.ARCHITECTURES[machine].mmap
    small, large = 16 << 20, (16 << 20) + 1
    shared, validated, private, huge = 0x21, 0x23, 0x22, 0x40022
    assert {verdict(machine, mmap, 0, small, 3, flags) for flags in (shared, validated, 0x01, private)} == {ALLOWED}
    assert {verdict(machine, mmap, 0, 1 << 40, 3, flags) for flags in (0x01, 0x02, private)} == {ALLOWED}
    refused = [verdict(machine, mmap, 0, size, 3, flags) for size in (large, 1 << 32) for flags in (shared, validated)]
    assert {*refused, verdict(machine, mmap, 0, 4096, 3, huge)} == {seccomp.ERRNO | errno.ENOMEM}


@pytest.mark.parametrize("machine", [X86, ARM])
def test_buffers_of_sockets_keep_their_size(machine: str) -> None:
    """SO_SNDBUF and SO_RCVBUF seem to be set; other options, and those numbers at other levels, go through."""
    setsockopt = seccomp.ARCHITECTURES[machine].setsockopt
    assert {verdict(machine, setsockopt, 3, 1, option) for option in (7, 8)} == {seccomp.ERRNO}
    assert {verdict(machine, setsockopt, 3, *rest) for rest in ((1, 2), (1, 15), (6, 7), (6, 1))} == {ALLOWED}


def test_the_program_fits_the_kernel() -> None:
    """The kernel takes 4,096 instructions at most."""
    assert max(len(seccomp.program(machine)) // 8 for machine in (X86, ARM)) <= 4096


def test_an_unknown_machine_is_refused() -> None:
    """Without a table for the processor nothing is run."""
    with pytest.raises(CannotRun, match="no system-call filter for riscv64"):
        seccomp.program("riscv64")
