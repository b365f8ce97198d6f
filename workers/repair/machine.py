"""What this machine can do at once."""

from __future__ import annotations

import os

MOST = 8


def cores() -> int:
    """How many processes may compute at the same time for one repair."""
    return min(len(os.sched_getaffinity(0)), MOST)
