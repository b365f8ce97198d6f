"""Replacements of stretches of bytes: what every edit comes down to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes `start`..`end` of a region are replaced by `code`."""

    start: int
    end: int
    code: str


def spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with all splices made; they must not overlap."""
    for splice in sorted(splices, key=lambda s: (s.start, s.end), reverse=True):
        data = data[: splice.start] + splice.code.encode() + data[splice.end :]
    return data
