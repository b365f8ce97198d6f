"""Try several edits in one fork, one after the other, as long as none leaves a trace in memory.

A fork costs more than most tests. Only what is plainly wrong is reported then: an edit that gets any failing test to pass
is left to a fork of its own, as is whatever comes after one that ended the process.

Watched is what can be reached from the project's modules, classes, functions and the tests' parameters through containers
and instances of the project's classes, and what the process itself keeps: its environment, directory, modules, threads.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
import unittest
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, Callable, Dict, List, NamedTuple, Tuple  # noqa: UP035 - subscripted types at run time need 3.9

import pytest

from .children import Message
from .codeswap import Swap, put
from .trial import Trial, phase

MAX_PARTS = 20_000
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
            if parts > MAX_PARTS:
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


# ── One fork for several edits ──

SHARED_BYTES = 1 << 18

FailedEdit = Dict[str, Any]  # noqa: UP006 - the same
"""The report on an edit: {error_type, message}; nothing, when it needs a fork of its own."""


class PlannedEdit(NamedTuple):
    """An edited text, and the swaps that bring it into memory; None when that cannot be."""

    source: str
    swaps: List[Swap] | None  # noqa: UP006 - the same


class SharedResults:
    """Memory that a fork shares with its parent: what it has written stays when it is killed."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SHARED_BYTES)
        self._results: list[FailedEdit | None] = []

    def add(self, result: FailedEdit | None) -> None:
        """In the fork: add what is known of the next edit."""
        self._results.append(result)
        text = json.dumps(self._results).encode() + b"\n"
        if len(text) <= SHARED_BYTES:
            self._memory[: len(text)] = text

    def read(self) -> list[FailedEdit | None]:
        """In the parent, once the fork is gone: what is known of the first edits, in their order."""
        text, newline, _ = self._memory[:].partition(b"\n")
        try:
            results: list[FailedEdit | None] = json.loads(text) if newline else []
        except ValueError:  # it was killed while it wrote
            return []
        return results


def try_together(
    plans: Sequence[PlannedEdit],
    path: Path,
    run: Callable[[], FailedEdit | None],
    state: WatchedState,
    shared: SharedResults,
) -> None:
    """In the fork: try each plan until one leaves a trace. `run` gives None for what has to be tried apart."""
    for plan in plans:
        if plan.swaps is None:
            shared.add(None)
            continue
        put(path, plan.source.encode())
        before = swap(plan.swaps)
        answer = run()
        swap(before)
        shared.add(answer)
        if not state.is_unchanged():
            return


def swap(swaps: Sequence[Swap]) -> list[Swap]:
    """Give functions other code; returns the swaps that undo it."""
    before = [Swap(function, function.__code__) for function, _ in swaps]
    for function, code in swaps:
        function.__code__ = code
    return before


def first_failure(session: pytest.Session, request: Message, trial: Trial) -> FailedEdit | None:
    """What running the first failing tests tells, after which all is torn down."""
    answer = trial.run(session, request, hasty=True)
    torn_down = not phase(session.items[0], lambda: _tear_down(session))
    if any(answer["outcomes"].values()) or not answer["test"] or not torn_down:
        return None
    return {"error_type": answer["error_type"], "message": answer["message"]}


def _tear_down(session: Any) -> None:  # noqa: ANN401 - its state is known to pytest alone
    """Tear down what the last test left standing for one to follow; before pytest 7 this fails."""
    session._setupstate.teardown_exact(None)


def roots(trial: Trial, session: pytest.Session, request: Message) -> list[object]:
    """What to watch beside the modules: the parameters of the tests, which one may change in place."""
    items = [test.item for test in trial.choose(session, request)]
    return [callspec.params for callspec in (getattr(item, "callspec", None) for item in items) if callspec is not None]
