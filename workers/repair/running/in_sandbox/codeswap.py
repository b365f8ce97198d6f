"""Exchange the code of loaded functions for that of an edited module, where that is the same as importing it again.

Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
An edit may be swapped in when nothing that it changes had a part in importing the modules or collecting the tests.
"""

from __future__ import annotations
import __future__

import ast
import gc
import glob
import inspect
import os
import symtable
import sys
import threading
from importlib.util import cache_from_source
from itertools import takewhile
from pathlib import Path
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any, NamedTuple

from .children import Message

CO_OPTIMIZED = 0x1
"""Set on the code of functions, lambdas and comprehensions; absent on that of modules and class bodies."""

BOM = "\ufeff"
"""What some editors begin a file in UTF-8 with; Python skips it in bytes, and refuses it in text."""

SUSPENDED = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}
"""Where these keep the code that waits to go on: swapping its function would not reach it."""


class Unswappable(Exception):
    """The edit needs a fresh import; the text says why."""


class Swap(NamedTuple):
    """A live function and the code it should have."""

    function: FunctionType
    code: CodeType


class Loaded(NamedTuple):
    """What is in memory of one source file: live functions by their code, and every code object that has run."""

    functions: dict[CodeType, list[FunctionType]]
    ran: set[CodeType]


class Recorder:
    """Notes which code runs, from `start` until `stop`: the modules, class bodies and functions that collection calls."""

    def __init__(self) -> None:
        self._ran: dict[int, CodeType] = {}

    def start(self) -> None:
        """Begin; costs one Python call for every call made, in every thread."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def stop(self) -> bool:
        """End; false when something else replaced the profiler meanwhile, so that the record has gaps."""
        whole = sys.getprofile() == self._note
        sys.setprofile(None)
        threading.setprofile(None)
        return whole

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._ran[id(frame.f_code)] = frame.f_code

    def loaded(self, root: str) -> dict[str, Loaded]:
        """What is in memory of each file under `root`, by real path. Call it before gc.freeze() hides everything."""
        found: dict[str, Loaded] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType:  # isinstance() would ask proxies for their class, and run their code
                entry = found.setdefault(thing.__code__.co_filename, Loaded({}, set()))
                entry.functions.setdefault(thing.__code__, []).append(thing)
            if type(thing) in SUSPENDED:
                code = getattr(thing, SUSPENDED[type(thing)])
                self._ran[id(code)] = code
        for code in self._ran.values():
            found.setdefault(code.co_filename, Loaded({}, set())).ran.add(code)
        real = {os.path.realpath(name): entry for name, entry in found.items()}
        return {path: entry for path, entry in real.items() if path.startswith(root + os.sep)}


def plan(old: CodeType, new: CodeType, loaded: Loaded) -> list[Swap]:
    """The swaps that turn the loaded module of code `old` into one of code `new`; raises Unswappable."""
    if old not in loaded.ran:
        raise Unswappable("the module in memory was not compiled from its source as it is now")
    return plan_part(old, new, loaded)


def plan_part(old: CodeType, new: CodeType, loaded: Loaded, owner: str = "") -> list[Swap]:
    """The same for a part of a module that is known to be in memory unchanged; of the class `owner`, if it has one."""
    swaps: list[Swap] = []
    if owner:
        _demand_same(old, new)
        old, new = _body(old, owner), _body(new, owner)
    _visit_run(old, new, loaded, swaps)
    return swaps


def _body(module: CodeType, name: str) -> CodeType:
    """The code of the one class that holds a part."""
    body, *others = [code for code in _nested(module) if code.co_name == name]
    if others:
        raise Unswappable(f"{name} is defined twice")
    return body


def _visit_run(old: CodeType, new: CodeType, loaded: Loaded, swaps: list[Swap]) -> None:
    """`old` itself has run already, so it may not differ; what it defined may."""
    _demand_same(old, new)
    nested = _nested(old)
    for before, after in zip(nested, _nested(new)):  # noqa: B905 - strict= came with 3.10; the lengths are equal
        if fingerprint(before) == fingerprint(after):
            continue
        if nested.count(before) > 1:
            raise Unswappable(f"{before.co_name} has a twin that looks the same")
        _visit_changed(before, after, loaded, swaps)


def _demand_same(old: CodeType, new: CodeType) -> None:
    if fingerprint(old, nested=False) != fingerprint(new, nested=False):
        raise Unswappable(f"{old.co_name} ran at import")


def _visit_changed(old: CodeType, new: CodeType, loaded: Loaded, swaps: list[Swap]) -> None:
    live = loaded.functions.get(old, [])
    if old in loaded.ran:
        _visit_run(old, new, loaded, swaps)
    elif not old.co_flags & CO_OPTIMIZED or not live:
        raise Unswappable(f"{old.co_name} is not in memory as it is written")
    if old.co_freevars != new.co_freevars:
        raise Unswappable(f"{old.co_name} closes over other variables")
    swaps.extend(Swap(function, new) for function in live)


def fingerprint(code: CodeType, *, nested: bool = True) -> tuple[object, ...]:
    """What the code does, whatever its lines; without the code nested in it when `nested` is false."""
    line = code.co_firstlineno if "__firstlineno__" in code.co_names else None
    return (
        code.co_name,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        tuple(_constant(value, nested, line) for value in code.co_consts),
    )


def _constant(value: object, nested: bool, line: int | None) -> object:
    """A constant so that 1, 1.0 and True differ; a class's own line, which 3.13 stores in its body, is left out."""
    if isinstance(value, CodeType):
        return fingerprint(value) if nested else (CodeType, value.co_name)
    if isinstance(value, (tuple, frozenset)):
        return (type(value), type(value)(_constant(part, nested, line) for part in value))
    if line is not None and type(value) is int and value == line:
        return (int, "line")
    return (type(value), repr(value))


def _nested(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""The flags that __future__ imports leave in a module's co_flags, in this version of Python."""

FIRST = 2
"""The first line is wanted for imports, the second for the header of a method's class."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Segment(NamedTuple):
    """Lines `first`..`last` (from 1) of a top-level function or class, or of a method of `owner`, decorators included."""

    first: int
    last: int
    owner: str


class Source:
    """One file that is in memory. Most edits lie within one top-level definition; then only that one is compiled."""

    def __init__(self, path: str, text: str, loaded: Loaded) -> None:
        self._path = path
        self._loaded = loaded
        self._code = compile(text.encode(), path, "exec", dont_inherit=True)
        self._lines = text.split("\n")
        plain = text[1:] if text.startswith(BOM) else text
        self._segments = _segments(plain)
        self._imports = _imports(plain, path)
        self._unedited: dict[Segment, CodeType] = {}
        if self._code not in loaded.ran:
            self._segments = []

    def swaps(self, edited: str) -> list[Swap]:
        """What turns the functions in memory into those of the edited text; raises Unswappable."""
        lines = edited.split("\n")
        longer = len(lines) - len(self._lines)
        segment = self._around(lines)
        try:
            if segment is None:
                new = compile(edited.encode(), self._path, "exec", dont_inherit=True)
                return plan(self._code, new, self._loaded)
            if segment not in self._unedited:
                self._unedited[segment] = self._compiled(segment, self._lines[segment.first - 1 : segment.last])
            new = self._compiled(segment, lines[segment.first - 1 : segment.last + longer])
        except (SyntaxError, ValueError) as error:
            raise Unswappable(str(error)) from error
        return plan_part(self._unedited[segment], new, self._loaded, segment.owner)

    def _around(self, lines: list[str]) -> Segment | None:
        """The smallest definition that holds every changed line."""
        head = _common_start(self._lines, lines)
        tail = min(_common_start(self._lines[::-1], lines[::-1]), min(len(lines), len(self._lines)) - head)
        first, last = head + 1, len(self._lines) - tail
        return next((s for s in self._segments if s.first <= first and last <= s.last and first <= s.last), None)

    def _compiled(self, segment: Segment, lines: list[str]) -> CodeType:
        """A part of the module as if it stood alone, on its own lines; the compiler asks which names are imported."""
        above = f"\nclass {segment.owner}:\n" if segment.owner else "\n\n"
        text = self._imports + "\n" * (segment.first - 3) + above + "\n".join(lines) + "\n"
        flags = self._code.co_flags & FUTURES & ~inspect.CO_NESTED
        code: CodeType = compile(text, self._path, "exec", flags=flags, dont_inherit=True)
        return code


def put(path: Path, content: bytes) -> None:
    """Write the file and drop its byte code, pytest's too: edits of one size within a second look the same to both."""
    path.write_bytes(content)
    for compiled in Path(cache_from_source(str(path))).parent.glob(f"{glob.escape(path.stem)}.*.pyc"):
        compiled.unlink()


class AppliedEdit:
    """The edit of a request, in its file between `make` and `undo`. `request` has the text before it as `original`."""

    def __init__(self, root: str, request: Message) -> None:
        self._path = Path(root, request["path"]) if request["path"] else None
        self._original = self._path.read_bytes() if self._path else b""
        self.request = dict(request, original=self._original.decode())

    def make(self) -> None:
        """Write it; of several each is written when its turn comes."""
        if self._path is not None and not self.request["sources"]:
            put(self._path, self.request["source"].encode())

    def undo(self) -> None:
        if self._path is not None:
            put(self._path, self._original)


def _segments(text: str) -> list[Segment]:
    """The top-level definitions; none where lines are not what they seem, as a lone carriage return ends one too."""
    if "\r" in text.replace("\r\n", ""):
        return []
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and not getattr(node, "type_params", ()):
            found += [_segment(method, node.name) for method in node.body if isinstance(method, _FUNCTIONS)]
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.append(_segment(node, ""))
    return [segment for segment in found if segment.first > FIRST]


def _segment(node: Any, owner: str) -> Segment:  # noqa: ANN401 - three kinds of nodes, joined with | from 3.10 on
    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
    return Segment(min(lines), node.end_lineno or node.lineno, owner)


def _imports(text: str, path: str) -> str:
    """A statement, to stand before the first line feed, that imports every name which the module imports."""
    top = symtable.symtable(text, path, "exec")
    names = sorted(symbol.get_name() for symbol in top.get_symbols() if symbol.is_imported())
    return f"import {', '.join(names)}" if names else ""


def _common_start(one: list[str], other: list[str]) -> int:
    # strict= came with 3.10; the shorter one ends it
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))  # noqa: B905
