"""The files that are visible inside the sandbox, as bubblewrap's arguments. This module only reads the system."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from workers.ports import Workload
from workers.sandbox.interpreters import prefixes

WORKSPACE = Path("/workspace")
INSIDE = Path("/run/apprentice")
SOURCE = INSIDE / "private" / "tree"
LAUNCHER = INSIDE / "launcher.py"
COMMANDS = INSIDE / "bin"
HOME = Path("/tmp/home")  # noqa: S108 - inside the sandbox, on a file system of its own
SHARED_MEMORY_MB = 128
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")

ROOT_DIRECTORIES = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
ETC_SHOWN = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "ssl/certs")
"""The files of the host's /etc that programs need to start; none of them names users or holds secrets."""

CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_READ_SEARCH", "CAP_SETGID", "CAP_SETUID")
"""Capabilities that the launcher needs as root to copy the checkout and to change its user; the command has none."""


def file_systems(workload: Workload) -> Iterator[str]:
    """Everything except generated files: system, interpreters, the checkout, and limited memory to write to."""
    yield from _system()
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from _memory(Path("/dev/shm"), SHARED_MEMORY_MB)  # noqa: S108
    yield from _memory(Path("/tmp"), workload.limits.disk_mb)  # noqa: S108
    yield from _memory(WORKSPACE, workload.limits.disk_mb)
    yield from _directories(SOURCE.parent)
    yield from ("--perms", "0700", "--dir", str(SOURCE.parent))
    yield from _show(workload.tree.resolve(), SOURCE)
    for path in shown(workload):
        yield from _show(path.resolve(), path)
    yield from _environment_in_workspace(workload)


def sealed() -> tuple[str, ...]:
    """The last arguments: the assembled file system becomes read-only."""
    return ("--remount-ro", "/dev", "--remount-ro", "/")


def isolation(*, as_root: bool) -> Iterator[str]:
    """Namespaces and capabilities. Root gets no user namespace: its root would be the host's, and own the host's files."""
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield "--as-pid-1"  # bubblewrap's own first process would be the only one without the system-call filter
    yield from ("--die-with-parent", "--new-session", "--hostname", "sandbox", "--chdir", "/", "--cap-drop", "ALL")
    if not as_root:
        yield "--unshare-user"
        return
    for capability in CAPABILITIES:
        yield from ("--cap-add", capability)


def shown(workload: Workload) -> list[Path]:
    """Host directories shown under their own path: interpreters (ours starts the launcher) and the workload's."""
    paths: list[Path] = []
    for path in (*prefixes(Path(sys.executable)), *prefixes(workload.python), *workload.read_only):
        if path.absolute() not in paths:
            paths.append(path.absolute())
    return sorted(paths, key=lambda path: len(path.parts))


def environment(workload: Workload) -> dict[str, str]:
    """The whole environment of the command, before $APPRENTICE_REPORT_FD."""
    places = (str(COMMANDS), str(workload.python.absolute().parent), *SYSTEM_PATH)
    return {**workload.env, "PATH": ":".join(places), "HOME": str(HOME), "TMPDIR": "/tmp"}  # noqa: S108


def generated_directories(paths: Iterable[Path]) -> Iterator[str]:
    """The directories of the generated files."""
    for path in paths:
        yield from _directories(path)


def generated_files(workload: Workload, user: int) -> dict[Path, tuple[int, str]]:
    """Generated files that exist only inside the sandbox: permission bits and content."""
    start = f'#!/bin/sh\nexec {shlex.quote(str(workload.python.absolute()))} "$@"\n'
    account = f"root:x:0:0:root:/:/bin/sh\nsandbox:x:{user}:{user}:sandbox:{HOME}:/bin/sh\n"
    return {
        COMMANDS / "python": (0o755, start),
        COMMANDS / "python3": (0o755, start),
        LAUNCHER: (0o444, Path(__file__).with_name("launcher.py").read_text(encoding="utf-8")),
        Path("/etc/passwd"): (0o444, account),
        Path("/etc/group"): (0o444, f"root:x:0:\nsandbox:x:{user}:\n"),
        Path("/etc/hosts"): (0o444, "127.0.0.1 localhost sandbox\n::1 localhost\n"),
        Path("/etc/nsswitch.conf"): (0o444, "passwd: files\ngroup: files\nhosts: files\n"),
    }


def _system() -> Iterator[str]:
    yield from _show(Path("/usr"), Path("/usr"))
    for name in ROOT_DIRECTORIES:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from _show(path, path)
    for name in ETC_SHOWN:
        path = Path("/etc", name)
        if path.exists():
            yield from _show(path.resolve(), path)


def _environment_in_workspace(workload: Workload) -> Iterator[str]:
    """The project's own environment, shown in its copy too, so that `.venv/bin/python` works there."""
    tree = workload.tree.absolute()
    for path in prefixes(workload.python):
        if tree in path.absolute().parents:
            yield from _show(path.resolve(), WORKSPACE / path.absolute().relative_to(tree))


def _show(source: Path, destination: Path) -> Iterator[str]:
    if SOURCE.parent not in destination.parents:
        yield from _directories(destination)
    yield from ("--ro-bind", str(source), str(destination))


def _directories(path: Path) -> Iterator[str]:
    """The directories above a path, readable by all: bubblewrap itself would make them for their owner alone."""
    for parent in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def _memory(path: Path, size_mb: int) -> tuple[str, ...]:
    """A file system in memory of at most `size_mb` that every user may write to."""
    return ("--perms", "1777", "--size", str(size_mb << 20), "--tmpfs", str(path))
