"""Further inputs for a function, made from those that tests were seen to call it with.

The same seed gives the same inputs for the same calls. Types stay as they were seen.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .canonical import Caught, canonical
from .habits import Habits
from .recording import Call

TRIES = 6
"""So often an input is drawn anew when it breaks a habit of those seen, before it is taken all the same."""

LONGEST = 400
"""Texts and sequences grow to that length at most, and numbers to its square."""

DEPTH = 3


class Input(NamedTuple):
    """A call to make. `inside` tells that it keeps the habits of the calls seen, `seen` that it is one of them."""

    key: str
    call: Call
    inside: bool
    seen: bool


def inputs(calls: Sequence[Call], count: int, seed: int, constants: Sequence[Any]) -> Iterator[Input]:
    """The calls of one function as they were seen, then others made from them, `count` in all at most."""
    known: set[str] = set()
    bases = []
    for call in calls:
        key = _key(call)
        if key is not None and key not in known:
            known.add(key)
            bases.append((key, call))
            yield Input(key, call, inside=True, seen=True)
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
            yield Input(key, made, inside=maker.keeps(made), seen=False)


def _key(call: Call) -> str | None:
    with Caught():
        return canonical((call.positional, call.named))
    return None


class _Maker:
    """Makes calls of one function from those seen."""

    def __init__(self, calls: Sequence[Call], constants: Sequence[Any]) -> None:
        self._calls = calls
        self._constants = constants
        self._seen: dict[Any, list[Any]] = {}
        for call in calls:
            for slot, value in _slots(call):
                self._seen.setdefault(slot, []).append(value)
        self._habits = {slot: Habits(values) for slot, values in self._seen.items()}

    def keeps(self, call: Call) -> bool:
        return all(self._habits[slot].kept_by(value) for slot, value in _slots(call) if slot in self._habits)

    def make(self, base: Call, rng: random.Random) -> Call | None:
        """A call that differs from `base` in one place or more; None when none could be made."""
        made: Call | None = None
        for _ in range(TRIES):
            with Caught():
                drawn = self._drawn(base.copied(), rng)
                made = drawn
                if self.keeps(drawn):
                    break
        return made

    def _drawn(self, call: Call, rng: random.Random) -> Call:
        slots = [slot for slot, _ in _slots(call)]
        if not slots:
            return call
        for slot in rng.sample(slots, min(len(slots), rng.choice((1, 1, 1, 2, len(slots))))):
            holder: Any = call.named if isinstance(slot, str) else call.positional
            if rng.random() < 0.2:
                holder[slot] = copy.deepcopy(rng.choice(self._seen[slot]))
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                holder[slot] = self._other(slot, holder[slot], rng)
        return call

    def _other(self, slot: Any, value: Any, rng: random.Random) -> Any:
        made = Mutation(rng, self._seen.get(slot, []), self._constants).of(value)
        if self._habits[slot].is_sorted() and isinstance(made, (list, tuple)) and rng.random() < 0.9:
            made = type(value)(sorted(made))
        return made


def _slots(call: Call) -> list[tuple[Any, Any]]:
    return [*enumerate(call.positional), *call.named.items()]


class Mutation:
    """One change of a value to another of its type. `pool` are values seen in its place, `constants` from the code."""

    def __init__(self, rng: random.Random, pool: Sequence[Any], constants: Sequence[Any]) -> None:
        self._rng = rng
        self._pool = pool
        self._constants = constants

    def of(self, value: Any, depth: int = DEPTH) -> Any:
        """A value near this one; the same where nothing is known of its type."""
        if isinstance(value, bool):
            return not value
        if type(value) is int:
            return self._int(value)
        if type(value) is float:
            return self._float(value)
        if type(value) is str:
            return self._text(value)
        if type(value) in (list, tuple):
            return type(value)(self._items(list(value), depth))
        if type(value) in (set, frozenset):
            return type(value)(self._items(sorted(value, key=repr), depth))
        if type(value) is dict:
            return self._mapping(value, depth)
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
        letters += "".join(v for v in self._pool if isinstance(v, str))[:LONGEST] or "ab"
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

    def _items(self, value: list[Any], depth: int) -> list[Any]:
        return self._rng.choice(self._item_changes())(value, depth)

    def _item_changes(self) -> list[Callable[[list[Any], int], list[Any]]]:
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

    def _with_one_changed(self, value: list[Any], depth: int) -> list[Any]:
        if value and depth:
            at = self._rng.randrange(len(value))
            value[at] = self._part(value).of(value[at], depth - 1)
        return value

    def _with_all_changed(self, value: list[Any], depth: int) -> list[Any]:
        return [self._part(value).of(part, depth - 1) for part in value] if depth else value

    def _part(self, value: Sequence[Any]) -> Mutation:
        return Mutation(self._rng, [*value, *self._seen_parts()], self._constants)

    def _seen_parts(self) -> list[Any]:
        return [part for v in self._pool if isinstance(v, (list, tuple, set, frozenset)) for part in v][:LONGEST]

    def _without(self, value: list[Any]) -> list[Any]:
        if value:
            del value[self._rng.randrange(len(value))]
        return value

    def _with_another(self, value: list[Any]) -> list[Any]:
        known = [*value, *self._seen_parts()]
        if known:
            value.insert(self._rng.randint(0, len(value)), copy.deepcopy(self._rng.choice(known)))
        return value

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
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

    def _object(self, value: Any, depth: int) -> Any:
        """An object of the project with one attribute changed, in place: it is a copy already."""
        held = getattr(value, "__dict__", None)
        if depth and isinstance(held, dict) and held and not isinstance(value, type) and not callable(value):
            name = self._rng.choice(sorted(held))
            held[name] = Mutation(self._rng, [], self._constants).of(held[name], depth - 1)
        return value
