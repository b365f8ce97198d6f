"""Runs inside the sandbox before the untrusted command: copies the checkout, drops its privileges, sets limits.

It runs by path on our interpreter with `-I -S`, and imports only the standard library.
It reads its specification as JSON from the descriptor in argv[1] and writes `ready`, or one line with the problem, to that in argv[2].
"""

# Every run waits for this copy, and pathlib would double its time:
# ruff: noqa: PTH103, PTH110, PTH115, PTH118, PTH211

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

COMMAND_NOT_FOUND, SET_UP_FAILED = 127, 125
NEVER_COPIED = frozenset(
    {".git", "node_modules", ".tox", ".nox", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
)
ENVIRONMENTS = frozenset({".venv", "venv", "env"})
OPEN_FILES = 1024
SIGNAL_BASE = 128
NO_CORE = 1
"""core(5): with one byte, and unlike with none, the kernel does not start the host's handler of cores either."""

ADDRESSES = 128
"""A process may reserve this many times its memory; page tables for all of that are a quarter of its memory."""

SET_DUMPABLE, READ_BOUNDING, DROP_BOUNDING, SET_NO_NEW_PRIVILEGES, AMBIENT, CLEAR_AMBIENT = 4, 23, 24, 38, 47, 4
"""prctl(2). Dumpable 0 hides /proc/PID/mem and /proc/PID/fd from the same user."""

CAPABILITY_VERSION = 0x20080522
"""capset(2), _LINUX_CAPABILITY_VERSION_3."""

CPU_GRACE_SECONDS = 2
"""Time between SIGXCPU at the CPU limit and SIGKILL."""


def main() -> None:
    """Set up the sandbox and become the command; exit code 125 if the set-up fails, 127 without such a command."""
    spec_descriptor, status_descriptor = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(spec_descriptor, "rb") as stream:
        spec = json.load(stream)
    with reporting(spec, status_descriptor):
        copy_checkout(spec)
        if spec["first"]:
            stay_as_init(status_descriptor)
        drop_privileges(spec["uid"])
        if spec["first"]:
            empty_capabilities()
        prepare(spec)
    os.write(status_descriptor, b"ready")
    os.close(status_descriptor)
    execute(spec)


@contextlib.contextmanager
def reporting(spec: dict[str, Any], status_descriptor: int) -> Iterator[None]:
    """Write the reason of a failed set-up, and end."""
    try:
        yield
    except OSError as problem:
        os.write(status_descriptor, explain(problem, spec).encode())
        os._exit(SET_UP_FAILED)


def copy_checkout(spec: dict[str, Any]) -> None:
    """Copy the checkout with the launcher's privileges, and give the copy to the command's user.

    The checkout is known by a descriptor alone: once that is closed, nothing inside leads to it.
    """
    os.umask(0o022)
    os.fchdir(spec["source"])
    os.close(spec["source"])
    copy_tree(".", spec["workspace"], spec["uid"])
    os.chdir("/")
    for directory in spec["own"]:
        os.makedirs(directory, exist_ok=True)
        change_owner(directory, spec["uid"])


def prepare(spec: dict[str, Any]) -> None:
    """Apply the overlay, without privileges."""
    for path, content in spec["overlay"].items():
        apply_overlay(spec["workspace"], path, None if content is None else base64.b64decode(content))
    os.chdir(spec["start"])


def copy_tree(source: str, target: str, owner: int | None) -> None:
    """Copy directories, files and links (as links). Skips other kinds of files, and caches."""
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        destination = os.path.join(target, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), destination)
        elif entry.is_dir():
            if skipped(entry):
                continue
            os.makedirs(destination, exist_ok=True)
            copy_tree(entry.path, destination, owner)
        elif entry.is_file() and entry.name != ".git":
            copy_file(entry.path, destination)
        else:
            continue
        change_owner(destination, owner)


def skipped(entry: os.DirEntry[str]) -> bool:
    """Whether to leave a directory out. A package may be called `venv`, so this checks for a real environment."""
    if entry.name in ENVIRONMENTS:
        return os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
    return entry.name in NEVER_COPIED


def copy_file(source: str, destination: str) -> None:
    """Copy content and time, with the permissions that git would give: the umask of the host's process says nothing of it."""
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        seen = os.fstat(reader)
        mode = 0o755 if seen.st_mode & stat.S_IXUSR else 0o644
        writer = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            while os.sendfile(writer, reader, None, 1 << 24):
                pass
            os.utime(writer, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def change_owner(path: str, owner: int | None) -> None:
    """Give a path to the command's user, if that is another one."""
    if owner is not None:
        os.chown(path, owner, owner, follow_symlinks=False)


def drop_privileges(user: int | None) -> None:
    """Change to `user` permanently: real, effective and saved ids; this drops the capabilities too."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def apply_overlay(root: str, path: str, content: bytes | None) -> None:
    """Write or delete one file. Opens each directory by descriptor, so that no link in the checkout leads elsewhere."""
    *parents, name = path.split("/")
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for parent in parents:
            directory = enter(directory, parent)
        if content is None:
            os.unlink(name, dir_fd=directory)
            return
        replace(directory, name, content)
    except FileNotFoundError:
        if content is not None:
            raise
    finally:
        os.close(directory)


def enter(directory: int, name: str) -> int:
    """The descriptor of a subdirectory, made if it is missing; closes the one it came from."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=directory)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    os.close(directory)
    return inner


def replace(directory: int, name: str, content: bytes) -> None:
    """Write a file again, keeping its permission bits; a link of that name is replaced, not followed."""
    mode = 0o644
    try:
        mode = stat.S_IMODE(os.lstat(name, dir_fd=directory).st_mode) & 0o777 | 0o200
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=directory), "wb") as stream:
        stream.write(content)


def set_limits(limits: dict[str, Any]) -> None:
    """Resource limits of each process. Set here, inside: outside the namespace NPROC would count the host's processes."""
    for kind, soft, hard in wanted_limits(limits):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def wanted_limits(limits: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Kind, soft and hard limit. AS is generous: programs reserve far more addresses than they ever fill."""
    cpu, memory, disk = limits["cpu_seconds"], limits["memory_mb"] << 20, limits["disk_mb"] << 20
    yield resource.RLIMIT_CPU, cpu, cpu + CPU_GRACE_SECONDS
    data = memory - memory // 8  # so that one process fails before the watchdog ends them all
    yield resource.RLIMIT_DATA, data, data
    yield resource.RLIMIT_AS, ADDRESSES * memory, ADDRESSES * memory
    processes = limits["processes"]
    if processes is not None:
        yield resource.RLIMIT_NPROC, processes, processes
    yield resource.RLIMIT_FSIZE, disk, disk
    yield resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES
    yield resource.RLIMIT_CORE, NO_CORE, NO_CORE


def stay_as_init(status_descriptor: int) -> None:
    """Stay as the namespace's first process, under the same filter; a child returns and continues.

    As root it stays root without any capability: the command cannot signal it, and bubblewrap's death still ends it.
    """
    prctl(SET_DUMPABLE, 0)  # the command may run as the same user, and must not see this memory
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    prctl(AMBIENT, CLEAR_AMBIENT)
    drop_bounding()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a signal without handler does not reach a first process
    child = os.fork()
    if child:
        os.close(status_descriptor)
        try:
            empty_capabilities()
        except OSError:
            os._exit(SET_UP_FAILED)
        os._exit(reap_children(child))


def prctl(option: int, value: int) -> int:
    """prctl(2); raises OSError."""
    import ctypes  # only here and below, because the import is slow

    result: int = ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} refused")
    return result


def drop_bounding() -> None:
    """Let no program that is started from here on gain a capability."""
    for capability in range(64):
        try:
            held = prctl(READ_BOUNDING, capability)
        except OSError:  # the kernel knows no such capability, and none above it; gVisor has no file that says so
            return
        if held:
            prctl(DROP_BOUNDING, capability)


def empty_capabilities() -> None:
    """Empty the effective, the permitted and the inheritable set, and with them the ambient one."""
    import ctypes

    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), ctypes.byref(sets)):
        raise OSError(ctypes.get_errno(), "capset refused")


def reap_children(child: int) -> int:
    """Wait for all children, orphans included; when the command ends, this process ends, and with it the namespace."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return SIGNAL_BASE - code if code < 0 else code


def execute(spec: dict[str, Any]) -> NoReturn:
    """Become the command."""
    command = spec["command"]
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and the command would too
    try:
        set_limits(spec["limits"])
        os.execvpe(command[0], command, spec["environment"])  # noqa: S606 - the purpose of this file
    except OSError as problem:
        os.write(2, f"sandbox: cannot start {command[0]}: {problem.strerror}\n".encode())
        os._exit(COMMAND_NOT_FOUND)


def explain(problem: OSError, spec: dict[str, Any]) -> str:
    """One line on why the set-up failed."""
    where = f": {problem.filename}" if problem.filename else ""
    return f"{problem.strerror}{where} (disk limit {spec['limits']['disk_mb']} MB)"


if __name__ == "__main__":
    main()
