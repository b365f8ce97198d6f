"""Further inputs for a function, made from those of the calls that tests make.

The same seed gives the same inputs for the same calls. Types stay as they were seen. Tests that exist respect a function's
preconditions: an input that keeps what all their inputs have in common, likely invariants after Ernst et al., Daikon
(2001), but far fewer, probably respects them too; what happens on one that does not may not matter.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import copy
import random
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Union, cast, get_type_hints

from .recording import Call, Caught, canonical

DEPTH = 3
"""So deep in a structure values are looked at, and changed."""

_PROSE = frozenset({"letter", " "})
"""Texts of words may hold any character: digits or commas are only missing by chance."""


class Invariants:
    """What holds for all of `values`, and for what they contain; `sorted`: all sequences were."""

    def __init__(self, values: Iterable[object], depth: int = DEPTH) -> None:
        seen = list(values)
        numbers = [v for v in seen if isinstance(v, (int, float)) and not isinstance(v, bool)]
        rows = [v for v in seen if isinstance(v, (list, tuple)) and len(v) > 1]
        self._kinds = {type(v) for v in seen}
        self._least = 1 if numbers and min(numbers) > 0 else 0 if numbers and min(numbers) >= 0 else None
        self.sorted = bool(rows) and all(map(_is_sorted, rows))
        self._unique = len(rows) > 1 and all(map(_is_unique, rows))
        self._characters = _characters(v for v in seen if isinstance(v, str))
        self._within = Invariants([p for v in seen for p in _parts(v)], depth - 1) if depth and seen else None

    def kept_by(self, value: object) -> bool:
        """Whether all of it holds for another value too; emptiness alone breaks nothing, as tests forget it often."""
        if type(value) not in self._kinds:
            return False
        if self._least is not None and isinstance(value, (int, float)) and value < self._least:
            return False
        if isinstance(value, str):
            return not self._characters or self._characters >= _PROSE or _characters([value]) <= self._characters
        if isinstance(value, (list, tuple)) and self.sorted and not _is_sorted(value):
            return False
        if isinstance(value, (list, tuple)) and self._unique and not _is_unique(value):
            return False
        parts = _parts(value)
        return self._within is None or not parts or all(map(self._within.kept_by, parts))


def _parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else []


def _is_sorted(values: Sequence[object]) -> bool:
    with Caught():
        return list(values) == sorted(values)  # type: ignore[type-var]  # what cannot be ordered raises
    return False


def _is_unique(values: Sequence[object]) -> bool:
    with Caught():
        return len(set(values)) == len(values)
    return False


def _characters(texts: Iterable[str]) -> frozenset[str]:
    """The sorts of characters in texts: letters, digits, and each of the others for itself."""
    return frozenset(
        "letter" if character.isalpha() else "digit" if character.isdigit() else character
        for text in texts
        for character in text
    )


LONGEST = 400
"""Texts and sequences grow to that length at most, and numbers to its square."""

STRANGE = 0.3
"""How often a text gets any character instead of one that was seen."""


class Mutation:
    """One change of a value to another of its type. `pool` are values seen in its place, `constants` from the code."""

    def __init__(self, rng: random.Random, pool: Sequence[object], constants: Sequence[object]) -> None:
        self._rng = rng
        self._pool = pool
        self._constants = constants

    def of(self, value: object, depth: int = DEPTH) -> object:
        """A value near this one; the same where nothing is known of its type."""
        if isinstance(value, bool):
            return not value
        if type(value) is int:
            return self._int(value)
        if type(value) is float:
            return self._float(value)
        if type(value) is str:
            return self._text(value)
        if type(value) is dict:
            return self._mapping(cast("dict[object, object]", value), depth)
        return self._rows(value, depth)

    def _rows(self, value: object, depth: int) -> object:
        if type(value) is list:
            return self._items(cast("list[object]", value), depth)
        if type(value) is tuple:
            return tuple(self._items(list(value), depth))
        if isinstance(value, (set, frozenset)):
            return type(value)(self._items(sorted(value, key=repr), depth))
        return self._object(value, depth)

    def _int(self, value: int) -> int:
        known = [c for c in self._constants if type(c) is int]
        near = [value + 1, value - 1, value + 2, 0, 1, 2, -value, 2 * value, value // 2, self._rng.randint(0, 20)]
        near += [self._rng.randint(0, 200), *(c + d for c in known[:6] for d in (-1, 0, 1))]
        made = self._rng.choice(near)
        return made if abs(made) <= max(LONGEST**2, abs(value)) else value - 1

    def _float(self, value: float) -> float:
        near = [value + 1, value - 1, value + 0.5, 0.0, 1.0, -value, 2 * value, value / 2]
        near += [round(self._rng.uniform(-10, 10), 2), float(round(value)), value + 0.01]
        return self._rng.choice(near)

    def _text(self, value: str) -> str:
        rng = self._rng
        at = rng.randrange(len(value)) if value else 0
        letters = "".join([value, *(c for c in self._constants if type(c) is str)])
        letters += "".join(v for v in self._pool if isinstance(v, str))[:LONGEST]
        if not letters or rng.random() < STRANGE:
            letters = string.ascii_letters + string.digits + string.punctuation
        other = rng.randrange(len(value)) if value else 0
        swapped = list(value)
        if value:
            swapped[at], swapped[other] = swapped[other], swapped[at]
        return rng.choice(
            (
                value[:at] + value[at + 1 :],
                (value[:at] + value[at : at + 1] * 2 + value[at + 1 :])[:LONGEST],
                "".join(swapped),
                value[:at] + rng.choice(letters) + value[at + 1 :],
                (value[:at] + rng.choice(letters) + value[at:])[:LONGEST],
                value[:at] + value[at : at + 1].swapcase() + value[at + 1 :],
                value[: at + 1],
                value[at:],
                value[::-1],
                "".join(rng.choice(letters) for _ in range(rng.randint(0, 8))),
                "",
            )
        )

    def _items(self, value: list[object], depth: int) -> list[object]:
        return self._rng.choice(self._item_changes())(value, depth)

    def _item_changes(self) -> list[Callable[[list[object], int], list[object]]]:
        return [
            self._with_one_changed,
            self._with_one_changed,
            self._with_one_changed,
            self._with_all_changed,
            lambda value, _: self._without(value),
            lambda value, _: self._with_another(value)[:LONGEST],
            lambda value, _: self._with_another(value)[:LONGEST],
            lambda value, _: value[::-1],
            lambda value, _: self._rng.sample(value, len(value)),
            lambda value, _: sorted(value),
            lambda value, _: value[: self._rng.randint(0, len(value))],
            lambda value, _: self._rng.sample(value, min(1, len(value))),
            lambda _, __: [],
        ]

    def _with_one_changed(self, value: list[object], depth: int) -> list[object]:
        if value and depth:
            at = self._rng.randrange(len(value))
            value[at] = self._part(value).of(value[at], depth - 1)
        return value

    def _with_all_changed(self, value: list[object], depth: int) -> list[object]:
        return [self._part(value).of(part, depth - 1) for part in value] if depth else value

    def _part(self, value: Sequence[object]) -> Mutation:
        return Mutation(self._rng, [*value, *self._seen_parts()], self._constants)

    def _seen_parts(self) -> list[object]:
        return [part for v in self._pool if isinstance(v, (list, tuple, set, frozenset)) for part in v][:LONGEST]

    def _without(self, value: list[object]) -> list[object]:
        if value:
            del value[self._rng.randrange(len(value))]
        return value

    def _with_another(self, value: list[object]) -> list[object]:
        known = [*value, *self._seen_parts()]
        if known:
            value.insert(self._rng.randint(0, len(value)), copy.deepcopy(self._rng.choice(known)))
        return value

    def _mapping(self, value: dict[object, object], depth: int) -> dict[object, object]:
        items = list(value.items())
        choice = self._rng.randrange(5)
        if choice == 0 or not items:
            return {}
        at = self._rng.randrange(len(items))
        name, held = items[at]
        if choice == 1:
            del items[at]
        elif choice == 2:
            items[at] = (self.of(name, 0), held)
        elif depth:
            items[at] = (name, Mutation(self._rng, list(value.values()), self._constants).of(held, depth - 1))
        return dict(items)

    def _object(self, value: object, depth: int) -> object:
        """An object of the project with one attribute changed, in place: it is a copy already."""
        held = getattr(value, "__dict__", None)
        if depth and isinstance(held, dict) and held and not isinstance(value, type) and not callable(value):
            name = self._rng.choice(sorted(held))
            held[name] = Mutation(self._rng, [], self._constants).of(held[name], depth - 1)
        return value


TRIES = 6
"""How often an input is drawn again when it breaks an invariant of those seen, before it is taken all the same."""

CROSSED, RESORTED, ABSENT = 0.2, 0.9, 0.1
"""How often an argument is taken from another call that was seen, what was always sorted is sorted again, and None is
given where the annotation allows it."""

FREE = 0.1
"""How often an input may break a habit at once: tests forget cases that are allowed."""

Slot = Union[int, str]  # noqa: UP007 - `int | str` at run time needs 3.10


class Input(NamedTuple):
    """A call to make. `inside` tells that it keeps the invariants of the calls seen."""

    key: str
    call: Call
    inside: bool


def inputs(calls: Sequence[Call], count: int, seed: int, constants: Sequence[object]) -> Iterator[Input]:
    """The calls of one function as they were seen, then others made from them, `count` in all at most."""
    known: set[str] = set()
    bases = []
    for call in calls:
        key = _key(call)
        if key is not None and key not in known:
            known.add(key)
            bases.append((key, call))
            yield Input(key, call, inside=True)
    if not bases:
        return
    maker = _Maker([call for _, call in bases], constants)
    for number in range(3 * count):
        if len(known) >= count:
            return
        base_key, base = bases[number % len(bases)]
        made = maker.make(base, random.Random(f"{seed}:{base_key}:{number // len(bases)}"))  # noqa: S311 - no secret
        key = _key(made) if made is not None else None
        if made is not None and key is not None and key not in known:
            known.add(key)
            yield Input(key, made, inside=maker.keeps(made))


def _key(call: Call) -> str | None:
    with Caught():
        return canonical((call.positional, call.named))
    return None


class _Maker:
    """Makes calls of one function from those seen."""

    def __init__(self, calls: Sequence[Call], constants: Sequence[object]) -> None:
        self._constants = constants
        self._seen: dict[Slot, list[object]] = {}
        for call in calls:
            for slot, value in _arguments(call).items():
                self._seen.setdefault(slot, []).append(value)
        self._invariants = {slot: Invariants(values) for slot, values in self._seen.items()}
        self._optional = _optional(calls[0])

    def keeps(self, call: Call) -> bool:
        """Whether a call keeps the invariants of those seen."""
        return all(
            self._invariants[slot].kept_by(value) or (value is None and slot in self._optional)
            for slot, value in _arguments(call).items()
        )

    def make(self, base: Call, rng: random.Random) -> Call | None:
        """A call that differs from `base` in one place or more; None when none could be made."""
        made: Call | None = None
        for _ in range(TRIES):
            with Caught():
                made = self._drawn(base.copied(), rng)
                if rng.random() < FREE or self.keeps(made):
                    break
        return made

    def _drawn(self, call: Call, rng: random.Random) -> Call:
        arguments = _arguments(call)
        several = min(len(arguments), rng.choice((1, 1, 1, 2, len(arguments))))
        for slot in rng.sample(list(arguments), several):
            if rng.random() < CROSSED:
                arguments[slot] = copy.deepcopy(rng.choice(self._seen[slot]))
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                arguments[slot] = self._other(slot, arguments[slot], rng)
        positional = [arguments[number] for number in range(len(call.positional))]
        return call._replace(positional=positional, named={name: arguments[name] for name in call.named})

    def _other(self, slot: Slot, value: object, rng: random.Random) -> object:
        if slot in self._optional and rng.random() < ABSENT:
            return None
        made = Mutation(rng, self._seen[slot], self._constants).of(value)
        if isinstance(made, (list, tuple)) and self._invariants[slot].sorted and rng.random() < RESORTED:
            return type(made)(sorted(made))
        return made


def _arguments(call: Call) -> dict[Slot, object]:
    """The arguments by number, those by name by that."""
    found: dict[Slot, object] = dict(enumerate(call.positional))
    found.update(call.named)
    return found


def _optional(call: Call) -> set[Slot]:
    """The arguments that may be None by their annotation."""
    hints: dict[str, object] = {}
    with Caught():
        hints = get_type_hints(call.function)
    allowed = {name for name, hint in hints.items() if type(None) in getattr(hint, "__args__", ())}
    code = call.function.__code__
    names: dict[Slot, str] = dict(enumerate(code.co_varnames[: code.co_argcount]))  # those of `*args` have none
    return {slot for slot in _arguments(call) if names.get(slot, slot) in allowed}
