"""Environments on disk: made once, whole or not at all, and collected by last use."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from workers.environments.store import IN_USE_SECONDS, EnvironmentStore

LINES: list[str] = []


@pytest.fixture
def store(tmp_path: Path) -> EnvironmentStore:
    """An empty one."""
    return EnvironmentStore(tmp_path)


def test_two_workers_make_it_once(store: EnvironmentStore, tmp_path: Path) -> None:
    """The second worker waits, says so, and uses what the first one made."""
    begun, go_on, made, lines = threading.Event(), threading.Event(), list[Path](), list[str]()

    def fill(new: Path) -> None:
        begun.set()
        assert go_on.wait(300)
        (new / "a").write_text("whole")

    first = threading.Thread(target=lambda: made.append(store.made(("k",), fill, lines.append)))
    first.start()
    assert begun.wait(300)
    other = EnvironmentStore(tmp_path)
    second = threading.Thread(target=lambda: made.append(other.made(("k",), fail, lines.append)))
    second.start()
    while not lines:
        time.sleep(0.01)
    go_on.set()
    for thread in (first, second):
        thread.join()
    assert lines == ["another worker makes the same environment: waiting for it"]
    assert made[0] == made[1]
    assert (made[0] / "a").read_text() == "whole"


def fail(_new: Path) -> None:
    raise AssertionError("made a second time")


def test_what_fails_leaves_nothing(store: EnvironmentStore, tmp_path: Path) -> None:
    """An environment whose making fails does not exist, and is made the next time."""

    def half(new: Path) -> None:
        (new / "half").touch()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        store.made(("k",), half, LINES.append)
    assert not list((tmp_path / "environments").rglob("half"))
    place = store.made(("k",), lambda new: (new / "whole").touch(), LINES.append)
    assert [path.name for path in place.iterdir()] == ["whole"]


def test_the_least_recently_used_go_first(store: EnvironmentStore) -> None:
    """Over the limit the oldest go, and nothing that may be in use."""
    places = [store.made((name,), lambda new: (new / "a").write_bytes(bytes(600_000)), LINES.append) for name in "abc"]
    for place, age in zip(places, (3, 2, 0), strict=True):
        then = time.time() - age * IN_USE_SECONDS
        os.utime(place.with_name(f"{place.name}.json"), (then, then))
    store.collect(most_mb=2)
    assert [place.exists() for place in places] == [True, True, True]
    store.collect(most_mb=1)
    assert [place.exists() for place in places] == [False, False, True]
    store.collect(most_mb=0)
    assert places[2].exists()


def test_what_is_being_made_takes_no_place(store: EnvironmentStore) -> None:
    """While an environment is made for the build of a project, older ones stay; what a worker left that died goes."""
    long_ago = time.time() - 2 * IN_USE_SECONDS
    old = store.made(("old",), lambda new: (new / "a").write_bytes(bytes(600_000)), LINES.append)
    os.utime(old.with_name(f"{old.name}.json"), (long_ago, long_ago))
    left = old.with_name(".new-left")
    left.mkdir()
    os.utime(left, (long_ago, long_ago))

    def with_another(_new: Path) -> None:
        store.made(("build",), lambda new: (new / "a").touch(), LINES.append)

    store.made(("project",), with_another, LINES.append)
    assert (old.exists(), left.exists()) == (True, False)


def test_a_use_counts(store: EnvironmentStore) -> None:
    """What is used again is young again."""
    place = store.made(("k",), lambda new: (new / "a").touch(), LINES.append)
    seal = place.with_name(f"{place.name}.json")
    os.utime(seal, (0, 0))
    store.made(("k",), fail, LINES.append)
    assert seal.stat().st_mtime > time.time() - IN_USE_SECONDS


def test_a_package_that_goes_while_it_is_counted_is_left_out(store: EnvironmentStore) -> None:
    """Another worker may rename or remove what lies among the packages at any time: the link to nothing is such a file."""
    (store.packages / "new").symlink_to("gone")
    (store.packages / "old").write_text("a")
    os.utime(store.packages / "old", (0, 0))
    assert store.collect(most_mb=0) == 1
    assert not (store.packages / "old").exists()
