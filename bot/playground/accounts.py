"""Accounts, Apps and their credentials: plain state, changed only under the world's lock."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

from bot.playground.git import Person


class Role(IntEnum):
    """What an account may do on one repository; the order is GitHub's."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    @property
    def word(self) -> str:
        return self.name.lower()


def node_id(prefix: str, number: int) -> str:
    """An id in the shape of GitHub's global node ids."""
    return f"{prefix}_kwDO{base64.urlsafe_b64encode(number.to_bytes(8, 'big')).decode().rstrip('=')}"


@dataclass(slots=True, kw_only=True, eq=False)
class User:
    """A person, an organization or an App's bot. `type` is User, Organization or Bot."""

    id: int
    login: str
    name: str
    type: str
    created_at: datetime
    app_slug: str = ""

    @property
    def node_id(self) -> str:
        return node_id({"User": "U", "Organization": "O", "Bot": "BOT"}[self.type], self.id)

    @property
    def person(self) -> Person:
        """How git names them."""
        return Person(name=self.name, email=f"{self.id}+{self.login}@users.noreply.github.com")


@dataclass(slots=True, kw_only=True, eq=False)
class App:
    """A GitHub App. `private_key` is a PEM; only its public half is used to verify."""

    id: int
    slug: str
    name: str
    client_id: str
    owner: User
    bot: User
    private_key: str
    public_key: str
    webhook_url: str
    webhook_secret: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    created_at: datetime

    @property
    def node_id(self) -> str:
        return node_id("A", self.id)

    @property
    def hook_id(self) -> int:
        return 400_000_000 + self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who does something, and through which App."""

    user: User
    via: App | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Installation:
    id: int
    app: App
    account: User
    repository_ids: set[int]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A credential. An installation token has `installation`, its repositories and its permissions; a personal one has none."""

    value: str
    user: User
    expires_at: datetime | None = None
    installation: Installation | None = None
    repository_ids: frozenset[int] = frozenset()
    permissions: Mapping[str, str] = field(default_factory=dict)
