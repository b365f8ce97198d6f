"""Note the calls that tests make, with copies of their arguments, and say as text what a value is.

The text is equal for values that behave alike, whatever their addresses and the order of their sets.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import copy
import gc
import os
import re
import reprlib
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import NamedTuple

from .codeswap import CO_OPTIMIZED

MAX_PARTS, MAX_ITEMS = 4000, 500
"""How many parts of one value are looked at, and how many items of an iterator are consumed."""

SHOWN_CHARACTERS = 160

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NAMED = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)


class Caught:
    """A context in which foreign code may raise anything: what it raised is the result, not an error of ours."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Caught:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.error = error
        return True


def canonical(value: object) -> str:
    """The text of a value. Iterators are consumed; what has no structure to look at is its repr without addresses."""
    return _Walk().text(value)


def shown(value: object) -> str:
    """A value for people, on one line and short; a plain object that holds much is named alone."""
    with Caught() as caught:
        text = _ADDRESS.sub("", _Short().repr(value)).replace("\n", "\\n")
        plain = type(value).__repr__ is object.__repr__
        long = f"{type(value).__name__}(…)" if plain else text[:SHOWN_CHARACTERS] + "…"
        return text if len(text) <= SHOWN_CHARACTERS else long
    return f"<{type(value).__name__} whose repr raises {type(caught.error).__name__}>"


class _Short(reprlib.Repr):
    """Cuts long values, and shows what plain objects hold."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = self.maxdeque = 24
        self.maxstring = self.maxother = self.maxlong = 120

    def repr_instance(self, x: object, level: int) -> str:
        """An object without a repr of its own as if it was made with its attributes."""
        if type(x).__repr__ is not object.__repr__ or level <= 0:
            return super().repr_instance(x, level)
        held = ", ".join(f"{name}={self.repr1(part, level - 1)}" for name, part in sorted(_state(x).items()))
        return f"{type(x).__name__}({held})"


class _Walk:
    def __init__(self) -> None:
        self._left = MAX_PARTS
        self._around: list[int] = []

    def text(self, value: object) -> str:
        self._left -= 1
        if self._left < 0:
            return "…"
        simple = _simple(value)
        if simple is not None:
            return simple
        if id(value) in self._around:
            return f"<loop {len(self._around) - self._around.index(id(value))}>"
        self._around.append(id(value))
        try:
            return self._parts(value)
        finally:
            self._around.pop()

    def _parts(self, value: object) -> str:
        kind = type(value).__name__
        if isinstance(value, (list, tuple)):
            opening, closing = "[]" if isinstance(value, list) else "()"
            return opening + ",".join([self.text(part) for part in value]) + closing
        if isinstance(value, (set, frozenset)):
            return "{" + ",".join(sorted(self.text(part) for part in value)) + "}"
        if isinstance(value, Mapping):
            return "{" + ",".join(sorted(f"{self.text(key)}:{self.text(part)}" for key, part in value.items())) + "}"
        if isinstance(value, Iterator):
            return "iter[" + ",".join([self.text(part) for part in islice(value, MAX_ITEMS)]) + "]"
        if isinstance(value, BaseException):
            return f"{kind}({self.text(value.args)})"
        state = _state(value)
        if state:
            return f"{kind}({','.join(f'{name}={self.text(state[name])}' for name in sorted(state))})"
        return _ADDRESS.sub("", repr(value))


def _simple(value: object) -> str | None:
    """Numbers as `==` sees them, so that 2 and 2.0 are one, with floats to nine digits; None for other things."""
    if value is None or isinstance(value, (bool, str, bytes)):
        return repr(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        whole = value == value and abs(value) < 1e15 and value == int(value)
        return repr(int(value)) if whole else f"{value:.9g}"
    if isinstance(value, _NAMED):
        return f"<{getattr(value, '__qualname__', None) or getattr(value, '__name__', type(value).__name__)}>"
    return None


def _state(value: object) -> dict[str, object]:
    """The attributes that an object holds itself, in its dictionary and in slots."""
    held = dict(getattr(value, "__dict__", None) or {})
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            with Caught():
                held[name] = getattr(value, name)
    return held


# ── The calls of the tests ──

CALLS_A_FUNCTION, CALLS = 24, 120
"""How many calls are kept of one function, and of all."""

COPYING_SECONDS = 1.0
"""How long arguments are copied; the calls after that go unrecorded."""

CO_VARARGS, CO_VARKEYWORDS, CO_GENERATOR, CO_COROUTINE = 0x04, 0x08, 0x20, 0x80
REBUILDS = 8


class Call(NamedTuple):
    """A function and what it is called with: values for its positional parameters, then for the others by name."""

    function: FunctionType
    positional: list[object]
    named: dict[str, object]

    def copied(self) -> Call:
        """The same with arguments of its own, shared among them as before."""
        positional, named = copy.deepcopy((self.positional, self.named))
        return self._replace(positional=positional, named=named)


class Target(NamedTuple):
    """The function that is edited: the real path of its file, and its dotted name there."""

    path: str
    name: str

    def is_of(self, code: CodeType) -> bool:
        """Whether a code object is that function's; before 3.11 it knows only the last part of its name."""
        known = getattr(code, "co_qualname", None)
        if known is not None:
            return bool(known.replace(".<locals>", "") == self.name) and os.path.realpath(code.co_filename) == self.path
        return code.co_name == self.name.split(".")[-1] and os.path.realpath(code.co_filename) == self.path


class Recording:
    """Between start and stop: the outermost calls of the project's own functions, and those of the edited one.

    A call within a recorded call is no new entry, as it follows from the one around it; only the target's are noted too.
    """

    def __init__(self, root: str, tests: Iterable[str], target: Target | None) -> None:
        self._root = root + os.sep
        self._tests = frozenset(tests)
        self._target = target
        self._known: dict[CodeType, FunctionType | None] = {}
        self._live: dict[CodeType, FunctionType | None] = {}
        self._rebuilds = 0
        self._seen: dict[int, FrameType] = {}
        self._entry: FrameType | None = None
        self._copying = 0.0
        self.calls: dict[FunctionType, list[Call]] = {}
        self.target: FunctionType | None = None

    def start(self) -> None:
        gc.unfreeze()  # what is frozen is hidden from gc.get_objects()
        sys.setprofile(self._note)

    def stop(self) -> None:
        """End, and let go of the frames."""
        sys.setprofile(None)
        self._entry = None
        self._seen.clear()

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "return" and frame is self._entry:
            self._entry = None
        if event != "call" or not frame.f_code.co_flags & CO_OPTIMIZED:
            return
        code = frame.f_code
        function = self._known[code] if code in self._known else self._learn(code)
        if function is None or id(frame) in self._seen:
            return
        if self._entry is None:
            self._entry = frame
        elif function is not self.target or _runs_in(frame, code):
            return
        self._keep(function, frame)

    def _learn(self, code: CodeType) -> FunctionType | None:
        """The one live function of a code object of the project, which is no test's; None when there is no such thing."""
        function = self._find(code) if self._is_ours(code) and not code.co_name.startswith("<") else None
        if function is not None and self._target is not None and self._target.is_of(code):
            self.target = function
        self._known[code] = function
        return function

    def _is_ours(self, code: CodeType) -> bool:
        if not code.co_filename.startswith(os.sep):
            return False  # "<frozen os>", which realpath() would put into the current directory
        path = os.path.realpath(code.co_filename)
        return path.startswith(self._root) and path not in self._tests and not path.startswith(sys.prefix + os.sep)

    def _find(self, code: CodeType) -> FunctionType | None:
        if code not in self._live and self._rebuilds < REBUILDS:
            self._rebuilds += 1
            self._live = {}
            for thing in gc.get_objects():
                if type(thing) is FunctionType:
                    self._live[thing.__code__] = None if thing.__code__ in self._live else thing
        return self._live.get(code)

    def _keep(self, function: FunctionType, frame: FrameType) -> None:
        kept = self.calls.setdefault(function, [])
        full = len(kept) >= CALLS_A_FUNCTION or sum(map(len, self.calls.values())) >= CALLS
        if full or self._copying > COPYING_SECONDS or frame.f_code.co_flags & CO_COROUTINE:
            return
        if frame.f_code.co_flags & CO_GENERATOR:
            self._seen[id(frame)] = frame  # a generator's frame is entered again and again
        began = time.process_time()
        with Caught():
            kept.append(_call(function, frame).copied())
        self._copying += time.process_time() - began


def _runs_in(frame: FrameType, code: CodeType) -> bool:
    """Whether a call comes from the function itself: what recursion does follows from the first call."""
    return frame.f_back is not None and frame.f_back.f_code is code


def _call(function: FunctionType, frame: FrameType) -> Call:
    """The call that a frame has just begun."""
    code, held = frame.f_code, frame.f_locals
    count = code.co_argcount
    names = code.co_varnames
    positional = [held[name] for name in names[:count]]
    last = count + code.co_kwonlyargcount
    named = {name: held[name] for name in names[count:last]}
    if code.co_flags & CO_VARARGS:
        positional.extend(held[names[last]])
        last += 1
    if code.co_flags & CO_VARKEYWORDS:
        named.update(held[names[last]])
    return Call(function, positional, named)
