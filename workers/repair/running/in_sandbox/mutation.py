"""One small change of a value to another of its type, with structures changed in one of their parts.

Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import copy
import random
import string
from collections.abc import Callable, Sequence
from typing import cast

LONGEST = 400
"""Texts and sequences grow to that length at most, and numbers to its square."""

STRANGE = 0.3
"""How often a text gets any character instead of one that was seen."""

DEPTH = 3
"""So deep in a structure a change may be."""


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
