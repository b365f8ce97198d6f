"""Control groups of runs. How the kernel keeps to them is shown in test_sandbox_hostile.py, on a machine that has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workers.sandbox.control_groups import ControlGroup


def test_a_command_enters_its_group_before_it_starts(tmp_path: Path) -> None:
    """It is started by a shell that is a member already; where the group is gone, it is not started."""
    group = ControlGroup(tmp_path)
    command = ["/bin/sh", "-c", "echo started", "ignored"]
    assert subprocess.check_output(group.entering(command), text=True) == "started\n"
    assert (tmp_path / "cgroup.procs").read_text() == "0\n"
    done = subprocess.run(ControlGroup(tmp_path / "gone").entering(command), capture_output=True, check=False)
    assert done.returncode != 0
    assert done.stdout == b""


@pytest.mark.parametrize(("kills", "out"), [(0, False), (3, True)])
def test_the_kernel_counts_what_it_killed(tmp_path: Path, kills: int, out: bool) -> None:
    """A run was out of memory when the kernel killed a process of it."""
    (tmp_path / "memory.events").write_text(f"low 0\nhigh 0\nmax 17\noom 1\noom_kill {kills}\noom_group_kill 0\n")
    assert ControlGroup(tmp_path).ran_out_of_memory() is out
