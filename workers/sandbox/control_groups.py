"""A control group (cgroup v2) for each run: the kernel counts and limits all of its memory, and ends the run as a whole.

Needs a group that systemd delegated to this process (`Delegate=yes`). Where there is none, a watchdog measures: usage.py.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

from workers.errors import CannotRun
from workers.ports import Limits

ROOT = Path("/sys/fs/cgroup")
OURS = "apprentice"
"""Our own processes move here, because a group that holds processes cannot limit the groups below it."""

DELEGATED = "user.delegate"
"""The extended attribute that systemd sets on a delegated group, since its version 251."""

BESIDE_THE_COMMAND, PREPARE_TRIES, DEATH_SECONDS = 4, 20, 5.0
ENTER = 'echo 0 > "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class ControlGroup:
    path: Path

    def entering(self, command: Sequence[str]) -> list[str]:
        """The command that starts `command` as a member."""
        return ["/bin/sh", "-c", ENTER, str(self.path / "cgroup.procs"), *command]

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended the run because it reached its limit."""
        events = dict(line.split() for line in (self.path / "memory.events").read_text(encoding="ascii").splitlines())
        return int(events["oom_kill"]) > 0

    def kill(self) -> None:
        with suppress(OSError):  # cgroup.kill came with Linux 5.14
            (self.path / "cgroup.kill").write_text("1", encoding="ascii")

    def remove(self) -> None:
        """Kill what is left, and remove the group. Systemd removes one that stays when it stops the service."""
        self.kill()
        deadline = time.monotonic() + DEATH_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.01)


def new_group(limits: Limits) -> ControlGroup | None:
    """A group with these limits, to be removed by the caller; None where there can be none.

    Raises CannotRun when there should be one, and it cannot be made.
    """
    parent = _parent()
    if parent is None:
        return None
    group = ControlGroup(parent / f"run-{uuid4().hex}")
    try:
        group.path.mkdir()
        _write(group.path / "memory.max", limits.memory_mb << 20)
        _write(group.path / "memory.oom.group", 1)
        _write(group.path / "pids.max", limits.processes + BESIDE_THE_COMMAND)
        if (group.path / "memory.swap.max").exists():
            _write(group.path / "memory.swap.max", 0)
    except OSError as problem:
        raise CannotRun(f"no control group for the run: {problem.strerror}: {problem.filename}") from None
    return group


@cache
def _parent() -> Path | None:
    try:
        return delegated_group()
    except CannotRun:
        return None


def delegated_group() -> Path:
    """The group below which each run gets its own. Moves our processes out of its way. Raises CannotRun with the reason."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    own = ROOT / next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")
    group = own.parent if own.name == OURS else own
    try:
        if os.getxattr(group, DELEGATED) != b"1":
            raise CannotRun("the control group of this process is not delegated")
    except OSError:
        raise CannotRun("this process has no control group of its own") from None
    try:
        _divide(group)
    except OSError as problem:
        raise CannotRun(f"the control group of this process cannot be divided: {problem.strerror}") from None
    return group


def _divide(group: Path) -> None:
    """Move all processes into one group below, as often as one of them forks meanwhile, and allow limits there."""
    (group / OURS).mkdir(exist_ok=True)
    for left in reversed(range(PREPARE_TRIES)):
        try:
            for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
                with suppress(ProcessLookupError):
                    _write(group / OURS / "cgroup.procs", pid)
            _write(group / "cgroup.subtree_control", "+memory +pids")
        except OSError:
            if not left:
                raise
        else:
            return


def _write(path: Path, value: object) -> None:
    path.write_text(str(value), encoding="ascii")
