"""The sandbox of bubblewrap: namespaces, a system-call filter, limits, and a user without rights on the host.

mounts.py lists the visible files, seccomp.py the refused system calls; launcher.py sets up the inside.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from workers.errors import CannotRun
from workers.ports import CompletedRun, SandboxSession, Workload
from workers.sandbox import mounts, seccomp
from workers.sandbox.launching import Descriptors, LaunchSpec, await_ready, launcher_command
from workers.sandbox.session import line_session
from workers.sandbox.supervise import ProcessTree, ReportBuffer, supervise

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
        return f"{APPARMOR if _is_on(apparmor_switch) else NAMESPACES} ({words})"
    return f"bubblewrap cannot make a sandbox here: {words}"


def _is_on(switch: Path) -> bool:
    return switch.is_file() and switch.read_text(encoding="ascii").strip() == "1"


FIRST_USER, USERS = 1_500_000_000, 500_000_000
"""As root every run gets its own user id, outside the range of accounts: no run counts or reaches another's processes."""


class Bubblewrap:
    """Runs untrusted code under bubblewrap. Works as root and as an ordinary user.

    `run` and `session` raise CannotRun when the sandbox does not start or the checkout does not fit, BadInput for an
    interpreter that does not exist and for overlay paths that lead out of the checkout.
    """

    def __init__(self, program: Path | None = None) -> None:
        self._program = program

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; the whole process tree is dead when this returns.

        Standard output and error keep their first and last halves of `output_kb`; a longer report ends the run.
        """
        with self._started(workload, subprocess.DEVNULL) as tree:
            report = ReportBuffer(cap=workload.limits.output_kb << 10)
            completed = supervise(tree, workload.limits, report.add)
        return dataclasses.replace(completed, report=bytes(report.content))

    @contextmanager
    def session(self, workload: Workload) -> Iterator[SandboxSession]:
        """Start a process that answers requests, for `wall_seconds` at most; leaving the context ends its process tree."""
        with self._started(workload, subprocess.PIPE) as tree, line_session(tree, workload.limits) as session:
            yield session

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[ProcessTree]:
        program = self._program or _find()
        with ExitStack() as stack:
            try:
                start, tree = _spawn(program, workload, stdin, stack)
            except _NoReasonGivenError:
                start, tree = _spawn(program, workload, stdin, stack)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            await_ready(tree, start.descriptors.status)
            yield tree


class _NoReasonGivenError(CannotRun):
    """Bubblewrap ended without any output. A busy machine shows this once in thousands of starts; a second start helps."""


def _spawn(program: Path, workload: Workload, stdin: int, stack: ExitStack) -> tuple[_Start, ProcessTree]:
    """Start bubblewrap and wait until it reports its child's process id."""
    start = _Start(workload, stack)
    process = subprocess.Popen(  # noqa: S603 - our own arguments; the untrusted command starts inside
        [str(program), "--args", str(start.arguments()), "--", *start.launcher()],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},  # the inside can read the environment of its first process, which is bubblewrap
        cwd="/",
        pass_fds=start.descriptors.inherited,
        start_new_session=True,
    )
    return start, start.tree(process)


class _Start:
    """The arguments of one start."""

    def __init__(self, workload: Workload, stack: ExitStack) -> None:
        self.workload, self.descriptors = workload, Descriptors(stack)
        self.as_root = os.geteuid() == 0
        self.user = _spare_user() if self.as_root else os.geteuid()
        self.info, self.info_inside = self.descriptors.pipe()

    def arguments(self) -> int:
        """The descriptor of bubblewrap's arguments."""
        lines = [
            *mounts.isolation(as_root=self.as_root),
            *mounts.file_systems(self.workload),
            *self._generated_files(),
            *mounts.sealed(),
            *("--seccomp", str(self.descriptors.memory(seccomp.program(os.uname().machine)))),
            *("--info-fd", str(self.info_inside)),
        ]
        return self.descriptors.memory("".join(f"{line}\0" for line in lines).encode())

    def launcher(self) -> list[str]:
        """The first command inside."""
        spec = LaunchSpec(
            workload=self.workload,
            source=mounts.SOURCE,
            workspace=mounts.WORKSPACE,
            home=mounts.HOME,
            user=self.user if self.as_root else None,
            first=True,
            processes=self.workload.limits.processes,
            environment=mounts.environment(self.workload),
            report=self.descriptors.report_inside,
        )
        encoded = self.descriptors.memory(spec.encoded())
        return launcher_command(mounts.LAUNCHER, encoded, self.descriptors.status_inside)

    def tree(self, process: subprocess.Popen[bytes]) -> ProcessTree:
        """The process tree that bubblewrap reports; CannotRun when bubblewrap fails."""
        self.descriptors.close_inherited()
        try:
            leader = _init_of(self.info)
            leader_handle = os.pidfd_open(leader)
        except (ValueError, ProcessLookupError):
            process.kill()
            _, errors = process.communicate()
            reason = errors.decode(errors="replace").strip()
            raise (CannotRun if reason else _NoReasonGivenError)(explained(reason)) from None
        return ProcessTree(
            process=process,
            leader=leader,
            leader_handle=leader_handle,
            process_handle=os.pidfd_open(process.pid),
            report=os.dup(self.descriptors.report),
        )

    def _generated_files(self) -> Iterator[str]:
        files = mounts.generated_files(self.workload, self.user)
        yield from mounts.generated_directories(files)
        for path, (mode, text) in files.items():
            content = self.descriptors.memory(text.encode())
            yield from ("--perms", f"{mode:o}", "--ro-bind-data", str(content), str(path))


def _find() -> Path:
    found = shutil.which("bwrap")
    if found is None:
        raise CannotRun(MISSING)
    return Path(found)


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
