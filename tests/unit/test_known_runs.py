"""Which runs of stories count as the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stories.known_runs import fingerprint
from workers.ports import Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    for name in ("tree", "apprentice-probe-one", "apprentice-probe-two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x = 1\n")
    return Workload(
        command=("bandit", "--ini", ".apprentice-0123456789abcdef.ini"),
        tree=tmp_path / "tree",
        python=Path(sys.executable),
        read_only=(tmp_path / "apprentice-probe-one",),
        env={"PYTHONPATH": str(tmp_path / "apprentice-probe-one")},
    )


def test_names_by_chance_and_limits_do_not_count(workload: Workload, tmp_path: Path) -> None:
    """The plug-in's directory and the file of options have another name in each run."""
    same = replace(
        workload,
        command=("bandit", "--ini", ".apprentice-fedcba9876543210.ini"),
        read_only=(tmp_path / "apprentice-probe-two",),
        env={"PYTHONPATH": str(tmp_path / "apprentice-probe-two")},
        limits=Limits(wall_seconds=7),
    )
    found = {fingerprint(Bubblewrap(), each, (tmp_path,)) for each in (workload, same)}
    assert len(found) == 1


def test_all_else_counts(workload: Workload, tmp_path: Path) -> None:
    """The command, each file, its mode, the overlay, the environment, and what is shown beside the tree."""
    found = [fingerprint(Bubblewrap(), workload, (tmp_path,))]
    for other in (
        replace(workload, command=(*workload.command, "-v")),
        replace(workload, overlay={"a.py": b"x = 2\n"}),
        replace(workload, overlay={"a.py": None}),
        replace(workload, env={}),
        replace(workload, directory="below"),
    ):
        found.append(fingerprint(Bubblewrap(), other, (tmp_path,)))
    for changed in (workload.tree / "a.py", tmp_path / "apprentice-probe-one" / "a.py"):
        changed.write_text("x = 3\n")
        found.append(fingerprint(Bubblewrap(), workload, (tmp_path,)))
    (workload.tree / "a.py").chmod(0o755)
    found.append(fingerprint(Bubblewrap(), workload, (tmp_path,)))
    assert len(set(found)) == len(found) == 9
