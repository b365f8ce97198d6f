"""Syntax trees in a process of several threads."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.parsing import no_collections, parse_expression, parse_module

DEEP = "x = " + "(" * 40 + "1" + " + 1)" * 40 + "\n"
LONG = DEEP * 150


@pytest.fixture
def _switching() -> Iterator[None]:
    """Each garbage collection lets another thread run, as a finaliser does, and there are many."""

    def switch(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0.0001)

    threshold = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(500)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(switch)


@pytest.mark.usefixtures("_switching")
def test_two_threads_parse_at_the_same_time() -> None:
    """Neither ends with SystemError, as ast.parse alone does here on Python 3.11."""
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(parse_module, [LONG] * 4))
    assert [len(tree.body) for tree in found] == [150] * 4


def test_collections_go_on_after_the_last_pause() -> None:
    """Pauses nest, and leave a collector alone that was switched off before."""
    with no_collections():
        parse_expression("1")
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        parse_expression("1")
        assert not gc.isenabled()
    finally:
        gc.enable()
