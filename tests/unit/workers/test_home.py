"""The home directory and the scratch directories below it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from workers.errors import CannotRun
from workers.home import private, scratch

HOLDS = """
import sys, tempfile, time
from pathlib import Path
from workers.home import scratch
with scratch(Path(sys.argv[1])):
    tempfile.NamedTemporaryFile(delete=False)
    print("holding", flush=True)
    time.sleep(600)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def directories(home: Path) -> set[Path]:
    return {each for each in (home / "scratch").iterdir() if each.is_dir()}


def test_a_home_is_private(tmp_path: Path) -> None:
    """It is made for its owner alone, and one of an earlier version is closed."""
    assert mode(private(tmp_path / "a" / "new")) == 0o700
    earlier = tmp_path / "earlier"
    (earlier / "mirrors").mkdir(parents=True)
    earlier.chmod(0o755)
    assert mode(private(earlier)) == 0o700


def test_a_directory_that_others_need_stays(tmp_path: Path) -> None:
    """A home that holds something else may be /tmp or /var/lib: its mode is left to `apprentice doctor`."""
    (tmp_path / "postgresql").mkdir()
    tmp_path.chmod(0o755)
    assert mode(private(tmp_path)) == 0o755


def test_a_home_that_cannot_be(tmp_path: Path) -> None:
    """One line says what to set."""
    (tmp_path / "file").touch()
    with pytest.raises(CannotRun, match="set APPRENTICE_HOME to a directory of yours"):
        private(tmp_path / "file" / "home")


def test_temporary_files_are_below_the_home(tmp_path: Path) -> None:
    """All of them, as long as the context lasts; then they are gone and others are where they were."""
    before = tempfile.gettempdir()
    with scratch(tmp_path / "home") as own:
        made = Path(tempfile.mkdtemp())
        assert made.parent == own
        assert own.parent == tmp_path / "home" / "scratch"
        assert {mode(each) for each in (made, own, own.parent)} == {0o700}
    assert tempfile.gettempdir() == before
    assert directories(tmp_path / "home") == set()


def test_what_a_crash_leaves_is_swept(tmp_path: Path) -> None:
    """The next start removes the files of a killed process, and none of one that runs."""
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    holding = [subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ}) for _ in range(2)]
    try:
        for each in holding:
            assert each.stdout is not None
            assert each.stdout.readline() == b"holding\n"
        holding[0].send_signal(signal.SIGKILL)
        holding[0].wait()
        assert len(directories(tmp_path)) == 2
        with scratch(tmp_path) as own:
            (other,) = directories(tmp_path) - {own}
            assert len([each for each in other.iterdir() if each.name != ".lock"]) == 1
    finally:
        for each in holding:
            each.kill()
            each.communicate()


def test_what_multiprocessing_made_there_goes_with_the_process(tmp_path: Path) -> None:
    """The process ends without a word, nothing of its temporary files is left, and the next one removes the directory."""
    made = (
        "import sys, tempfile; from multiprocessing.util import get_temp_dir; from pathlib import Path\n"
        "from workers.home import scratch\n"
        "with scratch(Path(sys.argv[1])):\n    get_temp_dir()\n    tempfile.mkdtemp()\n"
    )
    ended = subprocess.run([sys.executable, "-c", made, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
    assert not any([*left.iterdir()] for left in directories(tmp_path))
    with scratch(tmp_path) as own:
        assert directories(tmp_path) == {own}
