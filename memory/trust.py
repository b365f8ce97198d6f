"""How much the feedback of an account weighs, and how much of it a day. All is recorded; not all has weight."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from memory.model import Actor, Permission

WINDOW = timedelta(days=1)

SIGNALS_A_DAY = 200
"""From the next one within a day on, an account's signals are recorded without weight: no person judges that much by hand."""

SIGNALS_ON_ONE_LABEL = 20
"""The same for one rule or error type: more in one day adds no information."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFeedback:
    """How many signals with weight an account has given within the window, and how many of them on one label."""

    signals: int
    on_label: int


_WEIGHTS = {
    Permission.ADMIN: 1.0,
    Permission.MAINTAIN: 1.0,
    Permission.WRITE: 1.0,
    Permission.TRIAGE: 0.5,
    Permission.READ: 0.0,
    Permission.NONE: 0.0,
}

_MAY_WRITE = frozenset({Permission.ADMIN, Permission.MAINTAIN, Permission.WRITE})


def weight(permission: Permission, actor: Actor, *, is_author: bool = False) -> float:
    """How much of an observation what `actor` did counts as, within [0, 1].

    `permission` is the role on this repository at the time of processing, looked up by numeric id.
    `is_author` says that the actor wrote the pull request under review: without write access, they judge their own work.
    """
    if actor.is_bot or (is_author and permission not in _MAY_WRITE):
        return 0.0
    return _WEIGHTS[permission]


def is_limited(recent: RecentFeedback) -> bool:
    """Whether an account has given so much feedback within the window that the next signal weighs nothing."""
    return recent.signals >= SIGNALS_A_DAY or recent.on_label >= SIGNALS_ON_ONE_LABEL
