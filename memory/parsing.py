"""Parses Python in a process of several threads.

CPython 3.11 counts the depth of all syntax trees that are being made in one number. A garbage collection meanwhile may
run Python code, which lets another thread make its own tree; then one of the two ends with SystemError.
"""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses: list[bool] = []
"""One for each pause that lasts; the first says whether there were collections before."""


@contextmanager
def no_collections() -> Iterator[None]:
    """Pause garbage collection, in all threads, until the last such block ends."""
    with _lock:
        _pauses.append(gc.isenabled() if not _pauses else _pauses[0])
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if _pauses.pop() and not _pauses:
                gc.enable()


def parse_module(text: str | bytes) -> ast.Module:
    """The syntax tree of a module; raises as ast.parse does."""
    with no_collections():
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression; raises as ast.parse does."""
    with no_collections():
        return ast.parse(text, mode="eval").body
