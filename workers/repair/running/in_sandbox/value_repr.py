"""What a value is, as text: equal for values that behave alike, whatever their addresses and the order of their sets.

Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, TracebackType

MOST_PARTS, MOST_ITEMS = 4000, 500
"""So many parts of one value are looked at, and so many items of an iterator are consumed."""

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
    """A value for people, on one line and short."""
    with Caught() as caught:
        text = _ADDRESS.sub("", _Short().repr(value)).replace("\n", "\\n")
        return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
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
        self._left = MOST_PARTS
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
            return "iter" + self._items(value)
        if isinstance(value, BaseException):
            return f"{kind}({self.text(value.args)})"
        state = _state(value)
        if state:
            return f"{kind}({','.join(f'{name}={self.text(state[name])}' for name in sorted(state))})"
        return _ADDRESS.sub("", repr(value))

    def _items(self, values: Iterator[object]) -> str:
        items = []
        for value in values:
            items.append(self.text(value))
            if len(items) >= MOST_ITEMS:
                break
        return "[" + ",".join(items) + "]"


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
