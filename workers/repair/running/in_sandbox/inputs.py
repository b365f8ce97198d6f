"""Further inputs for a function, made from those of the calls that tests make.

The same seed gives the same inputs for the same calls. Types stay as they were seen.
Runs inside the sandbox, in the project's own interpreter: Python 3.8+, standard library only.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Union, get_type_hints

from .invariants import Habits
from .mutation import Mutation
from .recording import Call
from .value_repr import Caught, canonical

TRIES = 6
"""So often an input is drawn anew when it breaks a habit of those seen, before it is taken all the same."""

CROSSED, RESORTED, ABSENT = 0.2, 0.9, 0.1
"""How often an argument is taken from another call that was seen, what was always sorted is sorted again, and None is
given where the annotation allows it."""

FREE = 0.1
"""How often an input may break a habit at once: tests forget cases that are allowed."""

Slot = Union[int, str]  # noqa: UP007 - `int | str` at run time needs 3.10


class Input(NamedTuple):
    """A call to make. `inside` tells that it keeps the habits of the calls seen, `seen` that it is one of them."""

    key: str
    call: Call
    inside: bool
    seen: bool


def inputs(calls: Sequence[Call], count: int, seed: int, constants: Sequence[object]) -> Iterator[Input]:
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

    def __init__(self, calls: Sequence[Call], constants: Sequence[object]) -> None:
        self._constants = constants
        self._seen: dict[Slot, list[object]] = {}
        for call in calls:
            for slot, value in _arguments(call).items():
                self._seen.setdefault(slot, []).append(value)
        self._habits = {slot: Habits(values) for slot, values in self._seen.items()}
        self._optional = _optional(calls[0])

    def keeps(self, call: Call) -> bool:
        """Whether a call keeps the habits of those seen."""
        return all(
            self._habits[slot].kept_by(value) or (value is None and slot in self._optional)
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
        if isinstance(made, (list, tuple)) and self._habits[slot].is_sorted() and rng.random() < RESORTED:
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
    names = call.function.__code__.co_varnames
    return {slot for slot in _arguments(call) if (slot if isinstance(slot, str) else names[slot]) in allowed}
