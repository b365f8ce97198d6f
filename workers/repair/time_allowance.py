"""How long runs of tests may take together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from workers.ports import Limits

LEAST_RUN_SECONDS = 5.0
"""No run gets less: in less time no suite starts."""


class TimeAllowance:
    """`seconds` of wall time for runs of tests, each within `limits`. Time counts while `used` is open."""

    def __init__(self, limits: Limits, seconds: float) -> None:
        self._limits = limits
        self.seconds = seconds
        self._spent = 0.0
        self._since: float | None = None

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have time count until this ends; within itself it counts once."""
        if self._since is not None:
            yield
            return
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._spent += time.monotonic() - self._since
            self._since = None

    def elapsed(self) -> float:
        """Seconds that are used up."""
        return self._spent + (0.0 if self._since is None else time.monotonic() - self._since)

    def left(self) -> float:
        """Seconds that are not."""
        return self.seconds - self.elapsed()

    def limits(self, most: float = float("inf")) -> Limits:
        """The limits of a run that begins now and may take `most` seconds."""
        wall = max(LEAST_RUN_SECONDS, min(most, self.left()))
        return replace(self._limits, wall_seconds=min(self._limits.wall_seconds, wall))
