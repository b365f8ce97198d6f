"""Whether what a test did is still to be seen in memory: then nothing else may be tried in the same process.

Watched is what can be reached from the project's modules, classes, functions and the tests' parameters through containers
and instances of the project's classes, and what the process itself keeps: its environment, directory, modules, threads.
"""

from __future__ import annotations

import os
import sys
import threading
import unittest
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from operator import is_
from types import FunctionType, MethodType, ModuleType
from typing import Any, Callable, List, Tuple  # noqa: UP035 - a subscripted type at run time needs 3.9

MOST_PARTS = 20_000
"""More than that costs more to watch than a fork does."""

NOTED_BY_UNITTEST = frozenset({"_classSetupFailed", "_class_cleanups", "tearDown_exceptions"})

Check = Callable[[], bool]
Parts = Tuple[List[Any], List[Check]]  # noqa: UP006 - the same
"""What a thing holds, and what has to be true as long as it holds nothing else."""


class Unwatchable(Exception):
    """There is too much to watch, or something that changes when it is looked at."""


class WatchedState:
    """What was there when this was made; raises Unwatchable."""

    def __init__(self, root: str, roots: Iterable[object]) -> None:
        self._root = root + os.sep
        self._checks: list[Check] = []
        self._kept: list[object] = []
        self._modules = self._ours()
        self._watch(deque([*self._modules, *roots]))
        self._process = self._kept_by_process()

    def is_unchanged(self) -> bool:
        """Whether everything that is watched is as it was."""
        return (
            self._process == self._kept_by_process()
            and self._modules == self._ours()
            and all(check() for check in self._checks)
        )

    def _ours(self) -> list[ModuleType]:
        return [module for module in list(sys.modules.values()) if self._is_ours(module)]

    def _kept_by_process(self) -> tuple[object, ...]:
        """Without the project's own places on the path: pytest adds them when it sets up the first test of a package."""
        return (
            dict(os.environ),
            os.getcwd(),  # noqa: PTH109 - a Path would be compared more slowly
            [place for place in sys.path if not (place + os.sep).startswith(self._root)],
            sys.getrecursionlimit(),
            threading.active_count(),
            len(warnings.filters),
        )

    def _watch(self, waiting: deque[object]) -> None:
        seen: set[int] = set()
        parts = 0
        while waiting:
            thing = waiting.popleft()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            self._kept.append(thing)
            held, checks = self._parts(thing)
            parts += len(held)
            if parts > MOST_PARTS:
                raise Unwatchable("too much to watch")
            self._checks += checks
            waiting.extend(held)

    def _parts(self, thing: Any) -> Parts:  # noqa: ANN401 - anything that a module may hold
        kind = type(thing)  # isinstance() would ask proxies for their class, and run their code
        if issubclass(kind, tuple):
            return list(tuple.__iter__(thing)), []
        for base in (list, deque):
            if issubclass(kind, base):
                return _sequence(thing, base)
        if issubclass(kind, dict):
            return _mapping(thing, dict)
        if issubclass(kind, set):
            before = {id(part) for part in set.__iter__(thing)}
            return list(set.__iter__(thing)), [lambda: {id(part) for part in set.__iter__(thing)} == before]
        if issubclass(kind, bytearray):
            text = bytes(thing)
            return [], [lambda: thing == text]
        if kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__"):
            raise Unwatchable("an iterator is kept")
        return self._members(thing, kind)

    def _members(self, thing: Any, kind: type) -> Parts:  # noqa: ANN401 - the same
        """What functions hold on to, and the attributes of modules, classes and instances of the project."""
        if kind is FunctionType:
            return [thing.__defaults__, thing.__kwdefaults__, thing.__dict__, *_cells(thing)], []
        if kind is MethodType:
            return [thing.__self__, thing.__func__], []
        if kind.__name__ == "_lru_cache_wrapper":
            before = thing.cache_info()
            return [thing.__wrapped__], [lambda: thing.cache_info() == before]
        if kind in (staticmethod, classmethod):
            return [thing.__func__], []
        if kind is property:
            return [thing.fget, thing.fset, thing.fdel], []
        if kind is ModuleType:
            return _globals(thing) if self._is_ours(thing) else ([], [])
        owner = thing if issubclass(kind, type) else kind
        if not self._is_ours(sys.modules.get(str(owner.__module__))):
            return [], []
        if owner is not thing:
            return _attributes(thing)
        return _cases(thing) if issubclass(thing, unittest.TestCase) else _mapping(vars(thing), type(vars(thing)))

    def _is_ours(self, module: object) -> bool:
        file = vars(module).get("__file__") if type(module) is ModuleType else None
        return isinstance(file, str) and file.startswith(self._root)


def _sequence(thing: Any, base: type) -> Parts:  # noqa: ANN401 - a list or deque
    """By the methods of `base`: a subclass may count how often it is looked at."""
    copy = list(base.__iter__(thing))  # type: ignore[attr-defined]  # list and deque have it
    return copy, [lambda: len(copy) == base.__len__(thing) and all(map(is_, base.__iter__(thing), copy))]  # type: ignore[attr-defined]  # the same


def _mapping(thing: Any, base: Any) -> Parts:  # noqa: ANN401 - a dict, or what a class has in its place
    names, values = list(base.__iter__(thing)), list(base.values(thing))
    return [*names, *values], [
        lambda: (
            base.__len__(thing) == len(names)
            and all(map(is_, base.__iter__(thing), names))
            and all(map(is_, base.values(thing), values))
        )
    ]


def _globals(module: ModuleType) -> Parts:
    """What a module defines; what it has warned of is reset for every test."""
    vars(module).setdefault("__warningregistry__", {})
    held, checks = _mapping(vars(module), dict)
    return [part for part in held if part is not vars(module)["__warningregistry__"]], checks


def _cases(owner: type) -> Parts:
    """What a class of test cases defines, without what unittest notes there."""

    def defined() -> list[object]:
        return [value for name, value in vars(owner).items() if name not in NOTED_BY_UNITTEST]

    before = defined()
    return before, [lambda: len(before) == len(defined()) and all(map(is_, before, defined()))]


def _attributes(thing: object) -> Parts:
    try:
        held, checks = _mapping(object.__getattribute__(thing, "__dict__"), dict)
    except AttributeError:
        held, checks = [], []
    before = list(_slots(thing))
    return [*held, *before], [*checks, lambda: all(map(is_, _slots(thing), before))]


def _cells(function: FunctionType) -> list[object]:
    """What a closure holds; a cell that is still empty holds nothing."""
    held = []
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            continue
    return held


def _slots(thing: object) -> Iterator[object]:
    for owner in type(thing).__mro__:
        names = owner.__dict__.get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            member = owner.__dict__.get(name)
            if member is not None and hasattr(member, "__get__"):
                yield _slot(member, thing)


def _slot(member: Any, thing: object) -> object:  # noqa: ANN401 - a descriptor
    try:
        return member.__get__(thing)
    except AttributeError:
        return None
