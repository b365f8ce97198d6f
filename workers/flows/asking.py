"""Who may ask: permission is looked up by account id when the job is done, never taken from the event."""

from __future__ import annotations

from memory.model import Actor, Permission
from workers.jobs import Account
from workers.ports import GitHub

COMMANDERS = frozenset({Permission.ADMIN, Permission.MAINTAIN, Permission.WRITE})


def actor_of(account: Account) -> Actor:
    """The account that triggered a job."""
    return Actor(id=account.id, login=account.login, is_bot=account.is_bot)


def may_command(github: GitHub, actor: Actor) -> bool:
    """Whether this account may make us work on this repository."""
    return not actor.is_bot and github.permission(actor) in COMMANDERS
