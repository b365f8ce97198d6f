"""Weights of the options of one edit: by their rank, and by how similar two names are."""

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

Option = TypeVar("Option")

LONGEST_NAME = 80


@lru_cache(maxsize=65536)
def similarity(one: str, other: str) -> float:
    """How similar two names look, within [0, 1] (Ratcliff and Obershelp's measure)."""
    return difflib.SequenceMatcher(None, one[:LONGEST_NAME].lower(), other[:LONGEST_NAME].lower()).ratio()


def by_rank(options: Iterable[Option], *, first: float = 1.0, step: float = 0.25) -> Iterator[tuple[Option, float]]:
    """Each option with a weight that falls with its rank: first, first / (1 + step), first / (1 + 2 step)…"""
    return ((option, first / (1 + step * rank)) for rank, option in enumerate(options))
