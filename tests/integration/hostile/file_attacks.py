"""Attacks on files, devices and settings of the host. Each one passes only if it succeeds."""

import ctypes
import fcntl
import glob
import os
import pathlib
import socket
import stat
import subprocess

from bait import BAIT, LIBC, call, opened, reads

KNOWN_VARIABLES = {"PATH", "HOME", "TMPDIR", "APPRENTICE_REPORT_FD", "PWD", "OLDPWD", "SHLVL", "_", "LANG", "LC_CTYPE"}
OF_TESTS = ("PYTEST", "PYTHON", "APPRENTICE", "COLUMNS", "LINES")
OWN_SETTINGS = tuple(
    f"/proc/sys/{name}"
    for name in ("fs/mqueue", "kernel/msg", "kernel/auto_msg", "kernel/sem", "kernel/shm", "kernel/pid_max")
)
"""They count in the namespaces of this run alone; the kernel gives them to whoever made those."""

MINE = ("/workspace", "/tmp", "/dev/shm")


def test_what_the_copy_leaves_out() -> None:
    """The secret of the checkout's `.git`, in every place that the checkout itself might be mounted or open at."""
    places = ["/run/apprentice/private/tree", BAIT["repository"], *glob.glob("/proc/[0-9]*/cwd")]
    places += [*glob.glob("/proc/[0-9]*/fd/*"), *glob.glob("/proc/[0-9]*/root/run/*"), "/workspace"]
    assert BAIT["secret"].encode() in b"".join(reads(f"{place}/.git/config") for place in places)


def test_paths_of_the_host_in_mounts() -> None:
    """Where on the host the checkout lies."""
    seen = b"".join(reads(path) for path in glob.glob("/proc/[0-9]*/mount*"))
    assert BAIT["repository"].encode() in seen


def test_secret_through_another_root() -> None:
    """The secret file, below the root or the directory of another process."""
    places = [*glob.glob("/proc/[0-9]*/root"), *glob.glob("/proc/[0-9]*/cwd")]
    assert any(reads(place + BAIT["secret_file"]) for place in places)


def test_secret_by_climbing() -> None:
    """The secret file, by `..` from everything that is open."""
    places = [*glob.glob("/proc/self/fd/*"), "/", "/workspace", "/proc/self/cwd"]
    assert any(reads(place + "/.." * 20 + BAIT["secret_file"]) for place in places)


def test_inherited_descriptors() -> None:
    """A directory, a file of ours, or a file of the host that was left open."""
    found = {os.readlink(path) for path in glob.glob("/proc/self/fd/*") if os.path.islink(path)}
    left = [path for path in found if path.startswith(("/memfd:apprentice", BAIT["directory"], BAIT["repository"]))]
    left += [path for path in found if os.path.isdir(path) and not path.startswith(("/proc/", *MINE))]
    assert left, found


def test_descriptors_of_the_first_process() -> None:
    """A pipe to the supervisor that the first process holds."""
    assert opened(glob.glob("/proc/1/fd/*"), os.O_WRONLY)


def test_memory_map_of_the_first_process() -> None:
    """Where things are in it."""
    assert any(reads(f"/proc/1/{name}") for name in ("maps", "auxv", "environ", "stack", "io"))


def test_kernel_memory() -> None:
    """The kernel's memory, addresses and messages."""
    addresses = [line.split()[0] for line in reads("/proc/kallsyms").splitlines()[:100]]
    doors = opened(
        ["/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/proc/kmsg", "/sys/kernel/debug"]
    )
    assert doors or any(address.strip(b"0") for address in addresses)


def test_block_devices() -> None:
    """The disks of the host."""
    names = ("sda", "vda", "vda1", "xvda", "nvme0n1", "loop0", "loop-control", "dm-0", "mapper/control", "fuse", "kvm")
    assert opened([f"/dev/{name}" for name in names], os.O_RDONLY)


def test_make_a_device() -> None:
    """The host's memory or disk, by a node of one's own."""
    for place in MINE:
        for kind, major, minor in ((stat.S_IFCHR, 1, 1), (stat.S_IFBLK, 254, 0), (stat.S_IFBLK, 8, 0)):
            try:
                os.mknod(f"{place}/node", kind | 0o666, os.makedev(major, minor))
                return
            except OSError:
                continue
    raise OSError("all refused")


def test_devices_of_the_checkout() -> None:
    """A pipe or a device that the repository brought."""
    kinds = [os.lstat(entry).st_mode for entry in os.scandir("/workspace")]
    assert [mode for mode in kinds if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))]


def test_programs_that_change_the_user() -> None:
    """A mount on which set-user-id bits count."""
    lines = reads("/proc/self/mountinfo").decode().splitlines()
    assert [line for line in lines if "nosuid" not in line.split()[5]]


def test_own_program_that_changes_the_user() -> None:
    """A copy of the shell with the bit set."""
    path = pathlib.Path("/tmp/shell")
    path.write_bytes(reads("/bin/sh"))
    path.chmod(0o6755)
    os.chown(path, 0, 0)


def test_hard_links_to_the_system() -> None:
    """A second name for a program of the host, to write to it there."""
    for place in MINE:
        try:
            os.link("/usr/bin/env", f"{place}/env")
            return
        except OSError:
            continue
    raise OSError("all refused")


def test_settings_of_the_kernel() -> None:
    """Any file of /proc/sys, written as it is."""
    written = []
    for path in pathlib.Path("/proc/sys").rglob("*"):
        if path.is_file() and (before := reads(path)) and opened([path], os.O_WRONLY):
            try:
                path.write_bytes(before)
                written.append(path)
            except OSError:
                continue
    assert [path for path in written if not str(path).startswith(OWN_SETTINGS)]


def test_kernel_doors_in_proc() -> None:
    """sysrq and the rest."""
    assert opened(["/proc/sysrq-trigger", "/proc/irq", "/proc/bus/pci", "/proc/acpi", "/proc/timer_list"], os.O_WRONLY)


def test_control_groups() -> None:
    """Leave one's own group, or loosen it."""
    found = [*glob.glob("/sys/fs/cgroup/*"), *glob.glob("/proc/1/root/sys/fs/cgroup/*")]
    assert found or LIBC.mount(b"none", b"/tmp", b"cgroup2", 0, None) == 0


def test_system_tree() -> None:
    """Devices and modules of the machine."""
    assert glob.glob("/sys/*") or (glob.glob("/lib/modules/*/modules.dep") and opened(["/sys/module"]))


def test_other_directories_of_the_host() -> None:
    """Logs, states, sockets of services, other mounts."""
    places = ("/var", "/opt", "/srv", "/mnt", "/media", "/boot", "/run/systemd", "/run/dbus", "/var/run/docker.sock")
    assert [place for place in places if os.path.exists(place) and place not in BAIT["shown"]]


def test_name_of_the_machine() -> None:
    """The host's name and its identity."""
    assert socket.gethostname() == BAIT["hostname"] or reads("/etc/machine-id") or reads("/etc/hostname")


def test_variables_left_over() -> None:
    """A variable that the host set, or one that loads code."""
    extra = [name for name in os.environ if name not in KNOWN_VARIABLES and not name.startswith(OF_TESTS)]
    assert extra or os.path.exists("/etc/ld.so.preload")


def test_shared_memory_of_the_host() -> None:
    """What others keep in /dev/shm."""
    assert reads(BAIT["shared_memory"])


def test_queue_of_the_host() -> None:
    """A POSIX message queue."""
    assert LIBC.mq_open(BAIT["queue"].encode(), os.O_RDONLY) >= 0 or glob.glob("/dev/mqueue/*")


def test_system_v_objects() -> None:
    """Semaphores, queues and memory of the host by their key, or new ones that no limit counts."""
    calls = ((64, BAIT["key"], 0, 0), (68, BAIT["key"], 0), (29, BAIT["key"], 0, 0), (64, 0, 1, 0o1600))
    assert any(call(number, *rest) >= 0 for number, *rest in calls)


def test_type_into_the_terminal() -> None:
    """TIOCSTI and TIOCLINUX, on any terminal there is, our own included."""
    own, other = os.openpty()
    for terminal in (0, 1, 2, own, other):
        for request in (0x5412, 0x541C):
            try:
                fcntl.ioctl(terminal, request, b"x")
                return
            except OSError:
                continue
    raise OSError("all refused")


def test_terminals_of_the_host() -> None:
    """The terminal that started us, or the console."""
    assert opened(["/dev/tty", "/dev/console", "/dev/tty0", "/dev/ttyS0"], os.O_RDWR)


def test_core_dumps() -> None:
    """A core, in a file or handed to the host's handler."""
    done = subprocess.Popen(["sh", "-c", "kill -ABRT $$"])
    _, status = os.waitpid(done.pid, 0)
    done.returncode = 0
    assert os.WCOREDUMP(status) or glob.glob("core*")


def test_endless_sparse_file() -> None:
    """A file of a terabyte."""
    with open("/tmp/sparse", "wb") as stream:
        stream.truncate(1 << 40)


def test_shared_mapping_of_zeros() -> None:
    """Shared memory of any size from /dev/zero, which no limit counts."""
    LIBC.mmap.restype = ctypes.c_void_p
    descriptor = os.open("/dev/zero", os.O_RDWR)
    assert LIBC.mmap(None, ctypes.c_size_t(1 << 30), 3, 1, descriptor, ctypes.c_long(0)) != ctypes.c_void_p(-1).value


def test_large_shared_memory() -> None:
    """Shared anonymous memory in one piece."""
    LIBC.mmap.restype = ctypes.c_void_p
    assert LIBC.mmap(None, ctypes.c_size_t(1 << 30), 3, 0x21, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value
