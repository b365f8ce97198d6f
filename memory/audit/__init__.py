"""The audit: where learning may fool itself, or be fooled. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory.audit import strategies, teachers
from memory.audit.items import Alarm, Check, Item
from memory.model import Attempt, Logged

__all__ = ["Alarm", "Check", "Item", "audit"]


def audit(
    repairs: Sequence[Logged], reviews: Sequence[Logged], attempts: Mapping[str, Sequence[Attempt]], now: datetime
) -> tuple[Item, ...]:
    """Everything there is to look at, what matters most first."""
    everything = [*repairs, *reviews]
    found = [
        *strategies.shrinking(attempts),
        *strategies.diverging(repairs),
        *strategies.disagreements(repairs),
        *strategies.tool_errors(repairs, now),
        *teachers.together(everything),
        *teachers.one_sided(everything),
        *teachers.floods(everything),
        *teachers.one_witness(everything),
    ]
    order = list(Alarm)
    return tuple(sorted(found, key=lambda item: -order.index(item.alarm)))
