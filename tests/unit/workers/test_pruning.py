"""Files that nothing uses are removed by age, and what may be in use stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workers.environments.store import EnvironmentStore
from workers.home import scratch
from workers.queue.pruning import PrunedFiles, prune_files
from workers.settings import Settings

DAY = 86_400.0


def used(path: Path, days: float) -> None:
    """Say that it was used so many days ago."""
    at = time.time() - days * DAY
    os.utime(path, (at, at))


def mirror(home: Path, name: str, days: float) -> Path:
    made = home / "mirrors" / f"{name}.git"
    (made / "info").mkdir(parents=True)
    used(made / "info", days)
    return made


def test_nothing_to_prune(tmp_path: Path) -> None:
    """A home of a process that keeps no files gets none."""
    assert prune_files(Settings(home=tmp_path)) == PrunedFiles(mirrors=0, environments=0, scratch=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("days", [3, 30])
def test_files_go_by_their_last_use(tmp_path: Path, days: int) -> None:
    """A mirror or an environment that was used within the days that are set stays."""
    old, new = mirror(tmp_path, "old", days + 1), mirror(tmp_path, "new", days - 1)
    (begun := tmp_path / "mirrors" / "begun.git").mkdir()
    store = EnvironmentStore(tmp_path)
    made = {name: store.made([name], lambda place: (place / "file").touch(), print) for name in ("old", "new")}
    for name, age in (("old", days + 1), ("new", days - 1)):
        used(made[name].with_name(f"{made[name].name}.json"), age)
    assert prune_files(Settings(home=tmp_path, keep_files_days=days)) == PrunedFiles(
        mirrors=1, environments=1, scratch=0
    )
    assert begun.exists(), "it is being made"
    assert (old.exists(), new.exists(), made["old"].exists(), made["new"].exists()) == (False, True, False, True)


def test_scratch_of_living_processes_stays(tmp_path: Path) -> None:
    """Only what a process left that is gone is removed."""
    with scratch(tmp_path) as own:
        (tmp_path / "scratch" / "left").mkdir()
        assert prune_files(Settings(home=tmp_path)).scratch == 1
        assert own.is_dir()
        assert not (tmp_path / "scratch" / "left").exists()
