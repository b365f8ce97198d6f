"""Who may teach how much. Everybody is recorded; not everybody has weight."""

from __future__ import annotations

from memory.model import Actor, Permission

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
