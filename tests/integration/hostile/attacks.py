"""The tests of a malicious repository. Each one passes only if its attack succeeds.

Never collected here: test_sandbox_hostile.py copies it into a checkout and runs it in the sandbox.
"""

import ctypes
import errno
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from bait import BAIT, LIBC, call, reads


def test_environment_of_any_process() -> None:
    """The host's environment, wherever it might show."""
    seen = b"".join(reads(path) for path in pathlib.Path("/proc").glob("[0-9]*/environ"))
    assert BAIT["secret"].encode() in seen + repr(dict(os.environ)).encode()


def test_command_lines_of_other_processes() -> None:
    """Paths of the host in a command line."""
    seen = b"".join(reads(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"))
    assert BAIT["directory"].encode() in seen


def test_secret_file() -> None:
    """A file of the host that everybody may read there."""
    assert BAIT["secret"].encode() in reads(BAIT["secret_file"])


def test_secret_through_a_link() -> None:
    """The same file through links that the repository brought."""
    assert BAIT["secret"].encode() in reads("linked-file") + reads("linked-directory/secret.txt")


def test_shadow_passwords() -> None:
    """The host's accounts."""
    assert b"root:" in reads("/etc/shadow") or len(reads("/etc/passwd").splitlines()) > 2


def test_home_directories() -> None:
    """Anything in a home directory but the way to an interpreter."""
    ways = {pathlib.Path(sys.prefix), pathlib.Path(sys.base_prefix)}
    led_through = {parent for way in ways for parent in way.parents}
    places, found = [pathlib.Path(home) for home in BAIT["homes"]], []
    while places:
        for path in places.pop().glob("*"):
            (places if path in led_through else found).append(path)
    assert set(found) - ways, "nothing there"


def test_host_processes() -> None:
    """Processes other than the sandbox's own."""
    assert len(list(pathlib.Path("/proc").glob("[0-9]*"))) > 12


def test_listener_of_the_host() -> None:
    """A service on the host's loopback."""
    socket.create_connection(("127.0.0.1", BAIT["port"]), timeout=3).close()


def test_abstract_socket_of_the_host() -> None:
    """A socket of the host that has no path."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + BAIT["abstract"])


def test_socket_file_of_the_host() -> None:
    """A socket of the host that has a path."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(BAIT["socket_file"])


def test_outside_address() -> None:
    """The world (an address kept for documentation)."""
    socket.create_connection(("192.0.2.1", 443), timeout=3).close()


def test_name_resolution() -> None:
    """The world, by name."""
    socket.getaddrinfo("example.com", 443)


def test_exotic_sockets() -> None:
    """Sockets to the hypervisor, to the link layer, to the kernel's crypto and packet filter."""
    for family, kind, protocol in ((40, 1, 0), (17, 3, 0), (38, 5, 0), (16, 3, 12), (2, 3, 1)):
        try:
            socket.socket(family, kind, protocol).close()
        except OSError:
            continue
        return
    raise OSError("all refused")


def test_write_outside() -> None:
    """Files of the host, of the interpreter, of the system, and the checkout that was copied."""
    places = [
        BAIT["directory"],
        "/",
        "/usr",
        "/usr/lib",
        "/etc",
        "/dev",
        "/run",
        "/run/apprentice/bin",
        sys.prefix,
        sys.base_prefix,
    ]
    places += ["/run/apprentice/private/tree", str(pathlib.Path(os.__file__).parent), "/proc/sys/kernel", "/sys"]
    written = []
    for place in places:
        try:
            pathlib.Path(place, "apprentice-was-here").write_text("x")
            written.append(place)
        except OSError:
            continue
    assert written, "nothing writable"


def test_overwrite_the_way_in() -> None:
    """Programs and settings that the host might use later."""
    changed = []
    for path in (
        sys.executable,
        "/usr/bin/env",
        "/etc/passwd",
        "/run/apprentice/launcher.py",
        "/proc/sys/kernel/core_pattern",
    ):
        try:
            with pathlib.Path(path).open("r+b"):
                changed.append(path)
        except OSError:
            continue
    assert changed, "nothing can be opened for writing"


def test_change_the_clock_or_host_name() -> None:
    """Settings of the whole machine."""
    name = b"conquered"
    assert LIBC.sethostname(name, len(name)) == 0 or call(227, 0, ctypes.byref(ctypes.c_int64(0))) == 0


def test_trace_other_processes() -> None:
    """PTRACE_ATTACH and process_vm_readv on the first process and on the parent."""
    assert any(LIBC.ptrace(16, pid, 0, 0) == 0 for pid in (1, os.getppid()))


def test_memory_of_other_processes() -> None:
    """Another process's memory as a file."""
    with pathlib.Path("/proc/1/mem").open("rb") as memory:
        memory.read(1)


def test_new_namespaces() -> None:
    """A user namespace, in which one is root; by unshare and by clone."""
    assert LIBC.unshare(0x10000000) == 0 or LIBC.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) > 0


def test_mount() -> None:
    """Mount something, or take the lid off what is covered."""
    assert LIBC.mount(b"none", b"/workspace", b"tmpfs", 0, None) == 0 or LIBC.umount2(b"/dev/shm", 2) == 0


def test_become_root() -> None:
    """Root by asking, and by programs that have the bit."""
    for become in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/")):
        try:
            become()
        except OSError:
            continue
        return
    done = subprocess.run(["su", "-c", "id -u"], input="", capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0", done.stderr


def test_kernel_doors() -> None:
    """keyctl, bpf, userfaultfd, perf_event_open, io_uring_setup, open_by_handle_at, kexec_load, memfd_create (x86_64)."""
    doors = {
        "keyctl": (250, 0, -3, 1),
        "bpf": (321, 0, 0, 0),
        "userfaultfd": (323, 1),
        "perf_event_open": (298, 0, 0, -1, -1, 0),
    }
    doors.update({"io_uring": (425, 1, 0), "open_by_handle_at": (304, -1, 0, 0), "memfd_create": (319, b"x", 0)})
    opened = []
    for name, (number, *arguments) in doors.items():
        ctypes.set_errno(0)
        if LIBC.syscall(number, *arguments) != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            opened.append(name)
    assert opened, "all closed"


def test_kill_the_first_process() -> None:
    """End the sandbox's first process, and everything that can be signalled."""
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        os.kill(1, number)
    time.sleep(0.2)
    raise OSError("it lives on")


def test_fork_without_end() -> None:
    """More processes than allowed."""
    made = []
    try:
        while len(made) < 2000:
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            made.append(pid)
    except OSError as stopped:
        assert len(made) > 500, f"stopped early: {stopped}"
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_fill_memory() -> None:
    """More memory than allowed, in one process."""
    pieces = [bytearray(16 << 20) for _ in range(100)]
    assert len(pieces) == 100


def test_fill_disk() -> None:
    """More files than fit: in the checkout, in the directory for temporary files, in shared memory."""
    filled = []
    for place in ("/workspace", "/tmp", "/dev/shm"):
        big = pathlib.Path(place, "big")
        try:
            with big.open("wb", buffering=0) as stream:
                written = sum(stream.write(bytes(1 << 20)) for _ in range(1000))
            filled.append(f"{written} bytes in {place}")
        except OSError:
            big.unlink()
    assert filled, "all full"


def test_leave_a_daemon_behind() -> None:
    """A process in a session of its own, orphaned; the host looks for it afterwards."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", BAIT["daemon_sleep"]])
        os._exit(0)
    os.wait()
    raise OSError("left for the host to find")
