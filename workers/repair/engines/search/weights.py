"""How edits of one template are weighed against each other: by how alike names look, and by rank."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

Option = TypeVar("Option")


@lru_cache(maxsize=65536)
def likeness(one: str, other: str) -> float:
    """How alike two names look, within [0, 1] (Ratcliff and Obershelp's measure)."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def fading(options: Iterable[Option], *, first: float = 1.0, step: float = 0.25) -> Iterator[tuple[Option, float]]:
    """Each option with a weight that falls with its rank: first, first / (1 + step), first / (1 + 2 step)…"""
    return ((option, first / (1 + step * rank)) for rank, option in enumerate(options))
