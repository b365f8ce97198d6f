"""A trace that a test leaves in memory is noticed, so that nothing is tried on top of it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from workers.repair.running.in_sandbox.batch import Unwatchable, WatchedState

SOURCE = """
import collections, functools

COUNT = 0
NAMES = ["a"]
DEEP = {"list": [{"inner": [1]}], "pair": ([],)}
SEEN = {1}
QUEUE = collections.deque([1, 2])
RAW = bytearray(b"a")

def bump():
    global COUNT
    COUNT += 1

def remember(value, known=[]):
    known.append(value)

def closed():
    held = []
    def add(value):
        held.append(value)
    return add

add = closed()

@functools.lru_cache(maxsize=None)
def square(value):
    return value * value

class Basket:
    made = 0
    def __init__(self):
        self.items = []

class Slotted:
    __slots__ = ("value",)
    def __init__(self):
        self.value = 1

BASKET, SLOTTED = Basket(), Slotted()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of a project, freshly imported."""
    (tmp_path / "watched_basket.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("watched_basket")
    del sys.modules["watched_basket"]


TRACES: dict[str, Callable[[ModuleType], object]] = {
    "a global": lambda m: m.bump(),
    "a new global": lambda m: setattr(m, "NEW", 1),
    "a list": lambda m: m.NAMES.append("b"),
    "an element exchanged": lambda m: m.NAMES.__setitem__(0, "b"),
    "a list within": lambda m: m.DEEP["list"][0]["inner"].append(2),
    "a list in a tuple": lambda m: m.DEEP["pair"][0].append(2),
    "a key": lambda m: m.DEEP.update(more=1),
    "a set": lambda m: m.SEEN.add(2),
    "a set of the same size": lambda m: (m.SEEN.clear(), m.SEEN.add(7)),
    "a queue": lambda m: m.QUEUE.rotate(1),
    "bytes": lambda m: m.RAW.append(1),
    "a default": lambda m: m.remember(1),
    "a closure": lambda m: m.add(1),
    "a memoised result": lambda m: m.square(2),
    "a class": lambda m: setattr(m.Basket, "made", 1),
    "an instance": lambda m: m.BASKET.items.append(1),
    "an attribute": lambda m: setattr(m.BASKET, "more", 1),
    "a slot": lambda m: setattr(m.SLOTTED, "value", 2),
    "a module": lambda m: sys.modules.__setitem__("watched_too", m),
}


@pytest.mark.parametrize("trace", sorted(TRACES))
def test_a_trace_is_noticed(module: ModuleType, tmp_path: Path, trace: str) -> None:
    """Whatever is reached from the project's modules, and however it is changed."""
    state = WatchedState(str(tmp_path), [])
    assert state.is_unchanged()
    TRACES[trace](module)
    assert not state.is_unchanged()
    sys.modules.pop("watched_too", None)


def test_what_leaves_no_trace_is_none(module: ModuleType, tmp_path: Path) -> None:
    """Making and dropping things, and warning of something, changes nothing that another test could see."""
    state = WatchedState(str(tmp_path), [])
    module.Basket().items.append(1)
    module.closed()(1)
    vars(module)["__warningregistry__"]["version"] = 1
    assert state.is_unchanged()


def test_the_environment_and_the_directory_are_watched(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are shared by all that runs in a process."""
    state = WatchedState(str(tmp_path), [])
    with monkeypatch.context() as changed:
        changed.setenv("BASKET", "full")
        assert not state.is_unchanged()
    with monkeypatch.context() as changed:
        changed.chdir(tmp_path)
        assert not state.is_unchanged()
    assert state.is_unchanged()


def test_what_is_given_is_watched(tmp_path: Path) -> None:
    """Parameters of tests are in no module."""
    params = {"items": [1, 2]}
    state = WatchedState(str(tmp_path), [params])
    params["items"].sort(reverse=True)
    assert not state.is_unchanged()


def test_an_iterator_cannot_be_watched(tmp_path: Path) -> None:
    """To look at it is to change it."""
    with pytest.raises(Unwatchable):
        WatchedState(str(tmp_path), [{"items": iter([1])}])


def test_too_much_cannot_be_watched(tmp_path: Path) -> None:
    """It would cost more than the fork that it spares."""
    with pytest.raises(Unwatchable):
        WatchedState(str(tmp_path), [list(range(30_000))])
