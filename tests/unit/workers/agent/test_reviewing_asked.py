"""Whose changes a model is asked about."""

from __future__ import annotations

from typing import cast

import pytest

from memory.model import Actor, Permission
from workers.flows.review import may_ask
from workers.github.adapter import GitHub
from workers.jobs import RepositoryRef, ReviewPull
from workers.ports import PullRequest

HERE, FORK = 1, 2


class Permissions:
    """As much of GitHub as is asked."""

    def __init__(self, permission: Permission) -> None:
        self._permission = permission

    def permission(self, actor: Actor) -> Permission:
        return self._permission


@pytest.mark.parametrize(
    ("permission", "bot", "head", "commanded", "asked"),
    [
        (Permission.WRITE, False, HERE, False, True),
        (Permission.WRITE, False, FORK, False, True),
        (Permission.TRIAGE, False, HERE, False, False),
        (Permission.NONE, False, FORK, False, False),
        (Permission.NONE, False, FORK, True, True),
        (Permission.NONE, True, HERE, False, True),
        (Permission.WRITE, True, FORK, False, False),
    ],
)
def test_may_ask(permission: Permission, bot: bool, head: int, commanded: bool, asked: bool) -> None:
    """People with write access, bots within the repository, and whatever was asked for by somebody who may ask."""
    author = Actor(id=7, login="olga", is_bot=bot)
    pull = PullRequest(
        number=1,
        title="",
        state="open",
        head_ref="x",
        head_sha="",
        head_repository_id=head,
        base_ref="main",
        base_sha="",
        author=author,
    )
    job = ReviewPull(
        repository=RepositoryRef(id=HERE, full_name="o/r", installation_id=1),
        actor=Actor(id=7, login="olga"),
        number=1,
        commanded=commanded,
    )
    assert may_ask(job, pull, cast("GitHub", Permissions(permission))) is asked
