"""A plug-in of pytest: wherever the suite calls a changed function, both versions are called on copies of its arguments.

It runs in the sandbox on the project's own interpreter, so it imports the standard library alone. TWIN_FILE names the file
in the tree that holds one version, TWIN_OTHER a file with the other. The versions are called on what the suite gives, and
on values near it where the one in the tree raises nothing. The counts go to the sandbox's report, as one line of JSON.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MAX_CALLS, MAX_ITEMS, LONGEST = 300, 50, 5_000
OF_FUNCTION, VARIADIC, VARIADIC_BY_NAME, ASYNCHRONOUS = 0x01, 0x04, 0x08, 0x280
COUNTS = {"compared": 0, "different": 0}
FIRST: list[str] = []
TWINS: dict[tuple[int, str], types.CodeType] = {}
_state = threading.local()


def pytest_configure() -> None:
    """Find what differs and watch its calls."""
    paths = (Path(os.environ["APPRENTICE_ROOT"], os.environ["TWIN_FILE"]), Path(os.environ["TWIN_OTHER"]))
    one, other = (dict(_functions(compile(path.read_bytes(), str(path), "exec"))) for path in paths)
    for name in one.keys() & other.keys():
        kind = one[name].co_flags & (OF_FUNCTION | ASYNCHRONOUS)
        if _text(one[name]) != _text(other[name]) and kind == OF_FUNCTION:
            TWINS[one[name].co_firstlineno, one[name].co_name] = other[name]
    threading.setprofile(_profile)
    sys.setprofile(_profile)


def pytest_sessionfinish() -> None:
    """Tell what was counted."""
    sys.setprofile(None)
    with os.fdopen(os.dup(int(os.environ["APPRENTICE_REPORT_FD"])), "w") as report:
        report.write(json.dumps({**COUNTS, "functions": len(TWINS), "first": "".join(FIRST[:1])}) + "\n")


def _functions(code: types.CodeType, inside: tuple[str | int, ...] = ()) -> Iterator[tuple[object, types.CodeType]]:
    """Every function of a module by its place; of two with one name the second counts as another."""
    seen: dict[str, int] = {}
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            seen[each.co_name] = seen.get(each.co_name, -1) + 1
            place = (*inside, each.co_name, seen[each.co_name])
            yield place, each
            yield from _functions(each, place)


def _text(code: types.CodeType) -> str:
    """All of a code object that decides what it does."""
    values = [_text(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, values))


def _profile(frame: types.FrameType, event: str, _: object) -> None:
    code = frame.f_code
    if event == "call" and (code.co_firstlineno, code.co_name) in TWINS and not getattr(_state, "busy", False):
        ours = code.co_filename.endswith(os.environ["TWIN_FILE"])
        twin = TWINS[code.co_firstlineno, code.co_name]
        if ours and twin.co_freevars == code.co_freevars and COUNTS["compared"] < MAX_CALLS:
            _state.busy = True
            try:
                _compare(frame, twin)
            finally:
                _state.busy = False


def _compare(frame: types.FrameType, twin: types.CodeType) -> None:
    cells = tuple(types.CellType(frame.f_locals[name]) for name in twin.co_freevars if name in frame.f_locals)
    if len(cells) < len(twin.co_freevars):
        return
    one, other = (types.FunctionType(each, frame.f_globals, None, None, cells) for each in (frame.f_code, twin))
    args, named = _arguments(frame)
    for number, some in enumerate(itertools.chain([args], _near(args))):
        try:
            first, second = (copy.deepcopy((some, named)) for _ in range(2))
        except Exception:  # noqa: BLE001 - strangers' objects
            return
        mine = _outcome(one, *first)
        if number and mine[0] == "raises":
            continue
        COUNTS["compared"] += 1
        if mine != _outcome(other, *second):
            COUNTS["different"] += 1
            FIRST.append(f"{frame.f_code.co_name}{_shown(some)[:300]}")


def _arguments(frame: types.FrameType) -> tuple[list[Any], dict[str, Any]]:
    code, values = frame.f_code, frame.f_locals
    by_place = [values[name] for name in code.co_varnames[: code.co_argcount]]
    named = {name: values[name] for name in code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]}
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    if code.co_flags & VARIADIC:
        by_place.extend(values[rest.pop(0)])
    if code.co_flags & VARIADIC_BY_NAME:
        named.update(values[rest.pop(0)])
    return by_place, named


def _near(args: list[Any]) -> Iterator[list[Any]]:
    """The arguments with one of them a little different."""
    for place, value in enumerate(args):
        for other in _neighbours(value):
            yield [*args[:place], other, *args[place + 1 :]]


def _neighbours(value: Any) -> list[Any]:  # noqa: ANN401 - anything that strangers' code takes
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if type(value) in (str, list, tuple):
        return [value[:0], value[1:], value + value[:1]]
    return []


def _outcome(function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> tuple[str, ...]:
    try:
        result = _shown(function(*args, **named))
    except Exception as error:  # noqa: BLE001 - its type is what is compared
        return "raises", type(error).__name__
    return "returns", result, _shown(args), _shown(named)


def _shown(value: object, depth: int = 0) -> str:
    """A value as text, without addresses; an object that shows nothing of itself by its attributes."""
    if isinstance(value, types.GeneratorType):
        value = list(itertools.islice(value, MAX_ITEMS))
    if depth < 3 and type(value).__repr__ == object.__repr__ and hasattr(value, "__dict__"):
        attributes = {name: _shown(each, depth + 1) for name, each in sorted(vars(value).items())}
        value = (type(value).__name__, attributes)
    elif depth < 3 and isinstance(value, (list, tuple)):
        value = [_shown(each, depth + 1) for each in value]
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))[:LONGEST]
