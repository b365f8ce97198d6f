"""Attacks on other processes, on the kernel and on the network. Each one passes only if it succeeds."""

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
import threading
from collections.abc import Iterable

from bait import BAIT, LIBC, X86, call, reads

NEW_NAMESPACES = (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80)
CAPABILITY_VERSION = 0x20080522


def any_works(numbers: Iterable[tuple[int, ...]]) -> bool:
    """Whether one of these calls succeeds, or fails only because of its arguments."""
    for number, *arguments in numbers:
        ctypes.set_errno(0)
        if call(number, *arguments) != -1 or (X86 and ctypes.get_errno() not in (1, 38)):
            return True
    return False


def ends_alive(code: bytes) -> bool:
    """Whether a process that runs this machine code lives on."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    pid = os.fork()
    if pid == 0:
        ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        os._exit(0)
    return bool(os.WIFEXITED(os.waitpid(pid, 0)[1]))


# ── Processes ──


def test_signal_the_supervisor() -> None:
    """The process that started us, by its number on the host."""
    os.kill(BAIT["supervisor"], 0)


def test_handle_of_the_supervisor() -> None:
    os.pidfd_open(BAIT["supervisor"])


def test_take_descriptors_of_others() -> None:
    """pidfd_getfd, of the first process and of our parent."""
    assert any(call(438, os.pidfd_open(pid), fd, 0) >= 0 for pid in (1, os.getppid()) for fd in range(10))


def test_read_memory_of_others() -> None:
    """process_vm_readv and process_vm_writev."""
    assert any_works((number, os.getppid(), 0, 0, 0, 0, 0) for number in (310, 311))


def test_be_traced() -> None:
    """PTRACE_TRACEME, with which one could change calls after the filter has seen them on old kernels."""
    assert LIBC.ptrace(0, 0, 0, 0) == 0


def test_compare_with_others() -> None:
    """kcmp and process_madvise."""
    assert any_works([(312, os.getpid(), 1, 0, 0, 0), (440, -1, 0, 0, 0, 0)])


def test_priority() -> None:
    """A higher priority than others, up to real time."""
    for raised in (
        lambda: os.nice(-5),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 5),
    ):
        try:
            raised()
            return
        except OSError:
            continue
    raise OSError("all refused")


def test_outlive_others_when_memory_is_short() -> None:
    """An exemption from the kernel's killer."""
    with open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("-1000")


def test_raise_limits() -> None:
    """More of anything than the launcher allowed."""
    kinds = ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC")
    for kind in kinds:
        number = getattr(resource, f"RLIMIT_{kind}")
        try:
            resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return
        except (OSError, ValueError):
            continue
    raise OSError("all refused")


def test_threads_without_end() -> None:
    """A hundred thousand threads."""
    threading.stack_size(32768)
    over, begun = threading.Event(), threading.active_count()
    try:
        for _ in range(100_000):
            threading.Thread(target=over.wait, daemon=True).start()
    except RuntimeError:
        assert threading.active_count() - begun > 500, "stopped early"
    finally:
        over.set()


def test_zombies_without_end() -> None:
    """Children that nobody waits for."""
    made: list[int] = []
    try:
        for _ in range(2000):
            pid = os.fork()
            if not pid:
                os._exit(0)
            made.append(pid)
    except OSError:
        assert len(made) > 500, f"stopped after {len(made)}"
    finally:
        for pid in made:
            os.waitpid(pid, 0)


def test_arguments_without_end() -> None:
    """A command line of a hundred megabytes."""
    if not os.fork():
        try:
            os.execv("/bin/true", ["true", *["x" * 131_000] * 800])
        except OSError:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0


# ── Privileges ──


def test_capabilities_of_any_set() -> None:
    """A capability that is left in any set, of ours or of the first process."""
    lines = (reads("/proc/self/status") + reads("/proc/1/status")).splitlines()
    assert [line for line in lines if line.startswith(b"Cap") and int(line.split()[1], 16)]


def test_take_capabilities() -> None:
    """capset, and the ambient set."""
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    taken = LIBC.capset(ctypes.byref(header), ctypes.byref(sets)) == 0
    assert taken or any(LIBC.prctl(47, 2, number, 0, 0) == 0 for number in range(41))


def test_allow_new_privileges() -> None:
    assert LIBC.prctl(38, 0, 0, 0, 0) == 0 or b"NoNewPrivs:\t0" in reads("/proc/self/status")


def test_loosen_the_filter() -> None:
    """A second filter that allows everything, or none."""
    allow = ctypes.create_string_buffer(struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(allow)))
    LIBC.prctl(22, 2, program, 0, 0)
    assert LIBC.prctl(22, 0, 0, 0, 0) == 0 or LIBC.unshare(0x10000000) == 0


def test_become_root_by_a_map() -> None:
    """A map of users that makes us root."""
    with open("/proc/self/uid_map", "w") as stream:
        stream.write("0 0 1")


def test_join_groups() -> None:
    os.setgroups([0, 4, 27])


def test_unshare_anything() -> None:
    """Every kind of namespace, by unshare and by clone."""
    unshared = [flag for flag in NEW_NAMESPACES if LIBC.unshare(flag) == 0]
    assert unshared or any(call(56, flag | signal.SIGCHLD, 0, 0, 0, 0) > 0 for flag in NEW_NAMESPACES[:-1])


def test_clone3_with_namespaces() -> None:
    """Flags in memory, which no filter sees."""
    arguments = struct.pack("<11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    assert any_works([(435, ctypes.create_string_buffer(arguments), len(arguments))])


def test_join_namespaces() -> None:
    """setns, to those of the first process or by a handle."""
    joined = [LIBC.setns(os.pidfd_open(1), flag) for flag in NEW_NAMESPACES]
    assert 0 in joined


def test_change_the_root() -> None:
    """chroot and pivot_root."""
    assert any_works([(161, b"/tmp"), (155, b"/tmp", b"/tmp")])


def test_mount_by_the_new_calls() -> None:
    """open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr."""
    assert any_works([(428, -100, b"/", 1), *((number, -1, 0, 0, 0, 0) for number in (*range(429, 434), 442))])


def test_write_to_what_is_read_only() -> None:
    """Mount it again, for writing."""
    places = (b"/", b"/usr", b"/dev", b"/proc/irq")
    assert any(LIBC.mount(None, place, None, flags, None) == 0 for place in places for flags in (0x20, 0x1020))


# ── The kernel ──


def test_files_by_handle() -> None:
    """name_to_handle_at and open_by_handle_at, which know no mounts."""
    assert any_works([(303, -100, b"/", 0, 0, 0), (304, -1, 0, 0)])


def test_keys() -> None:
    """add_key and request_key."""
    assert any_works([(248, b"user", b"x", b"x", 1, -1), (249, b"user", b"x", 0, -1)])


def test_modules() -> None:
    """init_module, finit_module, delete_module, kexec_load, kexec_file_load."""
    assert any_works([(175, 0, 0, b""), (313, -1, b"", 0), (176, b"x", 0), (246, 0, 0, 0, 0), (320, -1, -1, 0, 0, 0)])


def test_machine() -> None:
    """reboot, swapon, swapoff, acct, quotactl, syslog, vhangup, iopl, ioperm."""
    calls = [(169, 0, 0, 0, 0), (167, b"/", 0), (168, b"/"), (163, 0), (179, 0, 0, 0, 0), (103, 3, 0, 0)]
    assert any_works([*calls, (153,), (172, 3), (173, 0, 1, 1)])


def test_clock() -> None:
    """settimeofday, adjtimex, clock_adjtime, clock_settime."""
    assert any_works([(164, 0, 0), (159, 0), (305, 0, 0), (227, 0, 0)])


def test_watch_all_files() -> None:
    """fanotify."""
    assert any_works([(300, 0, 0)])


def test_memory_beside_the_limits() -> None:
    """memfd_create, memfd_secret, vmsplice, io_setup, io_uring."""
    assert any_works([(319, b"x", 0), (447, 0), (278, 1, 0, 0, 0), (206, 1, 0), (425, 1, 0), (426, -1, 0, 0, 0, 0)])


def test_descriptor_tables_of_the_processor() -> None:
    """modify_ldt, and a personality that makes memory executable."""
    assert any_works([(154, 0, 0, 0)]) or LIBC.personality(0x0400000) != -1


def test_calls_of_other_tables() -> None:
    """The x32 table, and calls that came after the filter was written."""
    assert any_works((number, 0, 0, 0, 0, 0) for number in (0x40000000 + 41, 0x40000000 + 272, 463, 500, 1000))


def test_calls_of_32_bits() -> None:
    """`int 0x80`, whose numbers mean other calls."""
    getpid = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
    assert X86 and ends_alive(getpid)


# ── The network ──


def test_metadata_address() -> None:
    """The credentials of a cloud machine."""
    socket.create_connection(("169.254.169.254", 80), timeout=3).close()


def test_outside_by_version_six() -> None:
    socket.create_connection(("2001:db8::1", 443), timeout=3).close()


def test_outside_by_datagrams() -> None:
    """Name servers and others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for address in ("192.0.2.53", "8.8.8.8", "224.0.0.251", "255.255.255.255"):
            try:
                sender.sendto(b"x", (address, 53))
                return
            except OSError:
                continue
    raise OSError("all unreachable")


def test_host_by_its_other_addresses() -> None:
    """The service on the host's loopback, by every address of the host."""
    for address in ("0.0.0.0", "::1", "::ffff:127.0.0.1", "127.1.2.3", *BAIT["addresses"]):
        try:
            socket.create_connection((address, BAIT["port"]), timeout=1).close()
            return
        except OSError:
            continue
    raise OSError("none answers")


def test_interfaces() -> None:
    """An interface that leads somewhere."""
    assert [name for _, name in socket.if_nameindex() if name != "lo"] or len(reads("/proc/net/route").splitlines()) > 1


def test_raw_packets() -> None:
    for family, kind, protocol in ((2, 3, 1), (2, 3, 255), (10, 3, 58), (17, 3, 0x0300), (17, 2, 0x0300)):
        try:
            socket.socket(family, kind, protocol).close()
            return
        except OSError:
            continue
    raise OSError("all refused")


def test_virtual_machine_sockets() -> None:
    """The hypervisor's side."""
    for family in (40, 43, 30, 31, 44):
        try:
            socket.socket(family, socket.SOCK_STREAM).close()
            return
        except OSError:
            continue
    raise OSError("all refused")


def test_netlink() -> None:
    """The kernel's audit, packet filter, sockets of others and events."""
    for protocol in (4, 9, 10, 12, 15, 16, 21):
        try:
            socket.socket(16, socket.SOCK_RAW, protocol).close()
            return
        except OSError:
            continue
    raise OSError("all refused")


def test_configure_the_network() -> None:
    """Take the loopback interface down, or give it an address of the host."""
    with socket.socket() as any_socket:
        for request in (0x8914, 0x8916, 0x8922):
            try:
                fcntl.ioctl(any_socket, request, struct.pack("<16sH14s", b"lo", 0, b"\x00" * 14))
                return
            except OSError:
                continue
    raise OSError("all refused")


def test_low_ports() -> None:
    """A port that only root may use: the name server's."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 53))
