"""The sandbox of bubblewrap: namespaces, a system-call filter, limits, and a user without rights on the host.

The first half lists the visible files, as bubblewrap's arguments; seccomp.py lists the refused system calls, launcher.py sets up the inside.
"""

import json
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from workers.errors import CannotRun
from workers.ports import Workload
from workers.sandbox import seccomp
from workers.sandbox.control_groups import ControlGroup, new_group
from workers.sandbox.launching import (
    HIDDEN,
    SYSTEM_PATH,
    WORKSPACE,
    Descriptors,
    await_ready,
    interpreter_files,
    launch_spec,
    launcher_command,
    process_tree,
    spawned,
)
from workers.sandbox.supervise import ProcessTree, TreeSandbox

INSIDE = Path("/run/apprentice")
LAUNCHER = INSIDE / "launcher.py"
COMMANDS = INSIDE / "bin"
HOME = Path("/tmp/home")  # noqa: S108 - inside the sandbox, on a file system of its own
SHARED_MEMORY, SHARED_MEMORY_MB = Path("/dev/shm"), 128  # noqa: S108 - the same
WRITABLE = (SHARED_MEMORY, Path("/tmp"), WORKSPACE)  # noqa: S108 - the same

ROOT_DIRECTORIES = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
ETC_SHOWN = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "ssl/certs")
"""The files of the host's /etc that programs need to start; none of them names users or holds secrets."""

CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_READ_SEARCH", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID")
"""Capabilities that the launcher needs as root to copy the checkout, to change its user and to drop all capabilities."""


def file_systems(workload: Workload) -> Iterator[str]:
    """Everything except generated files: system, interpreters, and limited memory to write to.

    /dev/zero is /dev/full, which reads the same: mapped, it would be shared memory of any size, which nothing shows.

    The checkout itself is never mounted: the launcher copies it from a descriptor, which it closes.
    """
    yield from _system()
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--dev-bind", "/dev/full", "/dev/zero")
    for path in WRITABLE:
        yield from _memory(path, SHARED_MEMORY_MB if path == SHARED_MEMORY else workload.limits.disk_mb)
    for path in shown(workload):
        yield from _show(path.resolve(), path)


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
    """Host paths shown under their own name: what interpreters need (ours starts the launcher), and the workload's."""
    paths: list[Path] = []
    ours, theirs = interpreter_files(Path(sys.executable)), interpreter_files(workload.python)
    for path in (*ours, *theirs, *workload.read_only):
        if path.absolute() not in paths:
            paths.append(path.absolute())
    return sorted(paths, key=lambda path: len(path.parts))


def environment(workload: Workload) -> dict[str, str]:
    """The whole environment of the command, before $APPRENTICE_REPORT_FD."""
    places = (str(COMMANDS), str(workload.python.absolute().parent), *SYSTEM_PATH)
    return {**workload.env, "PATH": ":".join(places), "HOME": str(HOME), "TMPDIR": "/tmp"}  # noqa: S108


def inner_spec(workload: Workload, source: int, report: int, user: int | None) -> dict[str, object]:
    """Instructions for the launcher as the first process of a namespace; see launch_spec."""
    return launch_spec(
        workload,
        source=source,
        workspace=WORKSPACE,
        home=HOME,
        environment=environment(workload),
        report=report,
        user=user,
        processes=workload.limits.processes,
        first=True,
    )


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
    for path in HIDDEN:
        if path.is_dir() and not path.is_symlink():
            yield from ("--perms", "0755", "--tmpfs", str(path))
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


def _show(source: Path, destination: Path) -> Iterator[str]:
    yield from _directories(destination)
    yield from ("--ro-bind", str(source), str(destination))


def _directories(path: Path) -> Iterator[str]:
    """The directories above a path, readable by all: bubblewrap itself would make them for their owner alone."""
    for parent in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def _memory(path: Path, size_mb: int) -> tuple[str, ...]:
    """A file system in memory of at most `size_mb` that every user may write to."""
    return ("--perms", "1777", "--size", str(size_mb << 20), "--tmpfs", str(path))


MISSING = "bubblewrap is not installed: install it (`apt install bubblewrap`, `dnf install bubblewrap`)"
TOO_OLD = "bubblewrap is too old: install version 0.6 or later"
APPARMOR_SWITCH = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
APPARMOR = (
    "AppArmor keeps bubblewrap from making user namespaces (Ubuntu 24.04 and later): install an AppArmor profile for "
    "/usr/bin/bwrap that allows `userns`, or set the sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)
NAMESPACES = (
    "the kernel or the container refuses user namespaces: set the sysctls user.max_user_namespaces above 0 and, where "
    "it exists, kernel.unprivileged_userns_clone=1; in Docker use a seccomp profile that allows them"
)
PROC = (
    "the container does not let a new /proc be mounted: start it with an unmasked /proc "
    "(`--security-opt systempaths=unconfined` in Docker)"
)


def explained(stderr: str, apparmor_switch: Path = APPARMOR_SWITCH) -> str:
    """The problem and its remedy, from bubblewrap's error output."""
    words = stderr.strip().removeprefix("bwrap: ") or "no reason given"
    lower = words.lower()
    if "unknown option" in lower:
        return TOO_OLD
    if "proc" in lower and "mount" in lower:
        return f"{PROC} ({words})"
    if "namespace" in lower or "uid map" in lower or "not permitted" in lower or "permission denied" in lower:
        is_on = apparmor_switch.is_file() and apparmor_switch.read_text(encoding="ascii").strip() == "1"
        return f"{APPARMOR if is_on else NAMESPACES} ({words})"
    return f"bubblewrap cannot make a sandbox here: {words}"


FIRST_USER, USERS = 1_500_000_000, 500_000_000
"""As root every run gets its own user id, outside the range of accounts: no run counts or reaches another's processes."""


class Bubblewrap(TreeSandbox):
    """Runs untrusted code under bubblewrap. Works as root and as an ordinary user.

    `run` and `session` raise CannotRun when the sandbox does not start or the checkout does not fit, BadInput for an
    interpreter that does not exist and for overlay paths that lead out of the checkout.
    """

    def __init__(self, program: Path | None = None) -> None:
        self._program = program

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[ProcessTree]:
        program = self._program or shutil.which("bwrap")
        if program is None:
            raise CannotRun(MISSING)
        with ExitStack() as stack:
            group = new_group(workload.limits)
            if group is not None:
                stack.callback(group.remove)
            descriptors = Descriptors(stack)
            blocked, gate = descriptors.gate()
            tree = _spawned(str(program), workload, stdin, descriptors, group, blocked)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            gate.close()
            await_ready(tree, descriptors.status, explained)
            yield tree


def _spawned(
    program: str, workload: Workload, stdin: int, descriptors: Descriptors, group: ControlGroup | None, blocked: int
) -> ProcessTree:
    """Start bubblewrap and wait until it reports its child's process id. Raises CannotRun when it fails.

    The child starts no program before `blocked` can be read: a quick one would end before we hold its process.
    """
    as_root = os.geteuid() == 0
    user = _spare_user() if as_root else os.geteuid()
    source = descriptors.directory(workload.tree)
    spec = inner_spec(workload, source, descriptors.report_inside, user if as_root else None)
    info, info_inside = descriptors.pipe()
    arguments = [
        *isolation(as_root=as_root),
        *file_systems(workload),
        *_generated(workload, user, descriptors),
        *("--remount-ro", "/dev", "--remount-ro", "/"),  # what was assembled becomes read-only
        *("--seccomp", str(descriptors.memory(seccomp.program(os.uname().machine)))),
        *("--info-fd", str(info_inside), "--block-fd", str(blocked)),
    ]
    listed = descriptors.memory("".join(f"{line}\0" for line in arguments).encode())
    launcher = launcher_command(LAUNCHER, spec, descriptors)
    command = [program, "--args", str(listed), "--", *launcher]
    process = spawned(command if group is None else group.entering(command), descriptors, stdin)
    try:
        return process_tree(process, _init_of(info), descriptors, file_systems=tuple(map(str, WRITABLE)), group=group)
    except (ValueError, ProcessLookupError):
        process.kill()
        _, errors = process.communicate()
        raise CannotRun(explained(errors.decode(errors="replace"))) from None


def _generated(workload: Workload, user: int, descriptors: Descriptors) -> Iterator[str]:
    files = generated_files(workload, user)
    for path in files:
        yield from _directories(path)
    for path, (mode, text) in files.items():
        content = descriptors.memory(text.encode())
        yield from ("--perms", f"{mode:o}", "--ro-bind-data", str(content), str(path))


def _init_of(info: int) -> int:
    """The host's id of the namespace's first process; ValueError when bubblewrap ends without reporting it."""
    report = b""
    while b"}" not in report:
        piece = os.read(info, 4096)
        if not piece:
            raise ValueError
        report += piece
    return int(json.loads(report)["child-pid"])


def _spare_user() -> int:
    """A user id for one run: from an unused range where all ids are available, else from the end of the available range."""
    lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    end = max(int(first) + int(length) for first, _, length in (line.split() for line in lines))
    if end >= FIRST_USER + USERS:
        return FIRST_USER + secrets.randbelow(USERS)
    return end - 2 - secrets.randbelow(max(end // 4, 1))
