"""Everything that exists in the playground, and how to find it. Change it only while holding `lock`."""

import itertools
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from bot.playground.errors import invalid, not_found
from bot.playground.git import BareRepository
from bot.playground.models import (
    AccessToken,
    App,
    Hosted,
    HostedAccount,
    HostedComment,
    HostedInstallation,
    HostedPull,
    HostedRepository,
    HostedThread,
    RepositoryRole,
    ReviewComment,
    Webhook,
    WebhookDelivery,
)

T = TypeVar("T", bound=Hosted)
Found = TypeVar("Found")
TOKEN_LIFE = timedelta(hours=1)

FIRST_ID = 5_000_000_001  # past 32 bits, as most of GitHub's are
FIRST_USER_ID = 200_000_001  # accounts are within them: GraphQL shows their numbers as Int


def utc_now() -> datetime:
    """The time, to the second, as GitHub shows it."""
    return datetime.now(UTC).replace(microsecond=0)


class World:
    """The state. `send` takes each webhook; without a sender none leaves."""

    def __init__(self, root: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self.root = root
        self.now = clock
        self.base_url = ""
        self.lock = threading.RLock()
        self.users: dict[int, HostedAccount] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, HostedInstallation] = {}
        self.repositories: dict[int, HostedRepository] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.deliveries: list[WebhookDelivery] = []
        self.send: Callable[[Webhook], None] = lambda _notice: None
        self._ids = itertools.count(FIRST_ID)
        self._user_ids = itertools.count(FIRST_USER_ID)

    def next_id(self) -> int:
        """An id that no object of any kind has."""
        return next(self._ids)

    # Adding accounts and repositories.

    def add_user(self, login: str, *, name: str = "", app_slug: str = "") -> HostedAccount:
        if any(user.login.lower() == login.lower() for user in self.users.values()):
            raise invalid("User", "login", "already_exists")
        made = HostedAccount(
            id=next(self._user_ids), login=login, name=name or login, created_at=self.now(), app_slug=app_slug
        )
        self.users[made.id] = made
        return made

    def add_repository(
        self, owner: HostedAccount, name: str, *, private: bool = False, parent: HostedRepository | None = None
    ) -> HostedRepository:
        number = self.next_id()
        bare = BareRepository.create(self.root / f"{number}.git")
        now = self.now()
        made = HostedRepository(
            id=number,
            owner=owner,
            name=name,
            private=private,
            git=bare,
            created_at=now,
            pushed_at=now,
            parent=parent,
            roles={owner.id: RepositoryRole.ADMIN},
        )
        self.repositories[number] = made
        return made

    # Finding.

    def user(self, login: str) -> HostedAccount:
        """Raises ApiError 404."""
        return first(user for user in self.users.values() if user.login.lower() == login.lower())

    def repository(self, owner: str, name: str) -> HostedRepository:
        """Raises ApiError 404."""
        wanted = f"{owner}/{name}".lower()
        return first(each for each in self.repositories.values() if each.full_name.lower() == wanted)

    def comment(self, repository: HostedRepository, number: int) -> HostedComment:
        return with_id(number, (each for issue in repository.issues.values() for each in issue.comments))

    def review_comment(self, repository: HostedRepository, number: int) -> ReviewComment:
        threads = (thread for pull in repository.pulls() for thread in pull.threads)
        return with_id(number, (each for thread in threads for each in thread.comments))

    def pulls(self) -> list[HostedPull]:
        return [pull for each in self.repositories.values() for pull in each.pulls()]

    def threads(self) -> list[HostedThread]:
        return [thread for pull in self.pulls() for thread in pull.threads]

    def installations_on(self, repository: HostedRepository) -> list[HostedInstallation]:
        return [each for each in self.installations.values() if repository.id in each.repository_ids]

    # Who may do what.

    def role(self, user: HostedAccount, repository: HostedRepository) -> RepositoryRole:
        """What this account may do; everybody reads what is public."""
        granted = repository.roles.get(user.id, RepositoryRole.NONE)
        return granted if repository.private else max(granted, RepositoryRole.READ)

    def issue_token(self, user: HostedAccount) -> AccessToken:
        made = AccessToken(value=f"ghp_{secrets.token_hex(18)}", user=user)
        self.tokens[made.value] = made
        return made

    def issue_installation_token(
        self, installation: HostedInstallation, repository_ids: frozenset[int], permissions: dict[str, str]
    ) -> AccessToken:
        """A token that ends in an hour."""
        made = AccessToken(
            value=f"ghs_{secrets.token_hex(18)}",
            user=installation.app.bot,
            expires_at=self.now() + TOKEN_LIFE,
            installation=installation,
            repository_ids=repository_ids,
            permissions=permissions,
        )
        self.tokens[made.value] = made
        return made


def with_id(number: int, things: Iterable[T]) -> T:
    """The thing with this id; raises ApiError 404."""
    return first(each for each in things if each.id == number)


def first(found: Iterator[Found]) -> Found:
    """The first thing that was found; raises ApiError 404 where there is none."""
    for each in found:
        return each
    raise not_found()
