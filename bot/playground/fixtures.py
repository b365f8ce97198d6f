"""Accounts, repositories, Apps and installations, made directly in the world."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from bot.playground.auth import make_key
from bot.playground.git import ZERO
from bot.playground.models import (
    ActingAccount,
    App,
    HostedAccount,
    HostedInstallation,
    HostedRepository,
    RepositoryRole,
)
from bot.playground.payloads import repository_stub
from bot.playground.pulls import pushed
from bot.playground.webhooks import announce_installation, announce_repositories, ping
from bot.playground.world import World

PERMISSIONS: Mapping[str, str] = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
}
EVENTS = (
    "issues",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "check_run",
)
Content = str | bytes | None


class Fixtures:
    """What GitHub's web pages are for: signing up, making repositories, registering and installing Apps."""

    def __init__(self, world: World) -> None:
        self.world = world

    def add_user(self, login: str, *, name: str = "") -> HostedAccount:
        with self.world.lock:
            return self.world.add_user(login, name=name)

    def add_organization(self, login: str) -> HostedAccount:
        with self.world.lock:
            return self.world.add_user(login, kind="Organization")

    def token_for(self, login: str) -> str:
        """A personal access token."""
        with self.world.lock:
            return self.world.issue_token(self.world.user(login)).value

    def add_repository(
        self,
        full_name: str,
        files: Mapping[str, Content] | Path,
        *,
        private: bool = False,
        message: str = "Initial commit",
        default_branch: str = "main",
        description: str = "",
    ) -> HostedRepository:
        """A repository with one commit of these files, or of a directory's. Its owner must exist."""
        owner, name = full_name.split("/")
        content = directory(files) if isinstance(files, Path) else files
        with self.world.lock:
            account = self.world.user(owner)
            made = self.world.add_repository(
                account, name, private=private, default_branch=default_branch, description=description
            )
            sha = made.git.edit(None, _bytes(content), message, account.git_identity, account.git_identity)
            made.git.set_ref(f"refs/heads/{default_branch}", sha)
            return made

    def commit(
        self, full_name: str, files: Mapping[str, Content], message: str, *, login: str, branch: str = "main"
    ) -> str:
        """Commit to a branch (made from the default branch when new) as a push by `login`; the SHA. None deletes a file."""
        with self.world.lock:
            where, who = self.world.repository(*full_name.split("/")), self.world.user(login)
            before = where.git.branch(branch)
            parent = before or where.git.branch(where.default_branch)
            sha = where.git.edit(parent, _bytes(files), message, who.git_identity, who.git_identity)
            where.git.set_ref(f"refs/heads/{branch}", sha)
            pushed(self.world, where, ActingAccount(user=who), f"refs/heads/{branch}", before or ZERO, sha)
            return sha

    def grant(self, full_name: str, login: str, role: str) -> None:
        """Give an account a role on a repository: admin, maintain, write, triage, read or none."""
        with self.world.lock:
            where = self.world.repository(*full_name.split("/"))
            where.roles[self.world.user(login).id] = RepositoryRole[role.upper()]

    def add_app(
        self,
        slug: str,
        *,
        owner: str,
        webhook_url: str = "",
        webhook_secret: str = "",
        permissions: Mapping[str, str] = PERMISSIONS,
        events: Iterable[str] = EVENTS,
    ) -> App:
        """Register an App with a fresh key and a bot account `<slug>[bot]`; its webhook gets a ping."""
        private, public = make_key()
        with self.world.lock:
            bot = self.world.add_user(f"{slug}[bot]", name=f"{slug}[bot]", kind="Bot", app_slug=slug)
            made = App(
                id=self.world.next_id("app"),
                slug=slug,
                name=slug,
                client_id=f"Iv23li{secrets.token_hex(7)}",
                owner=self.world.user(owner),
                bot=bot,
                private_key=private,
                public_key=public,
                webhook_url=webhook_url,
                webhook_secret=webhook_secret,
                permissions=dict(permissions),
                events=tuple(events),
                created_at=self.world.now(),
            )
            self.world.apps[made.id] = made
            if webhook_url:
                ping(self.world, made)
            return made

    def set_webhook(self, app: App, url: str, secret: str = "") -> None:
        """Point the App's webhook elsewhere; an empty secret keeps the old one. The new place gets a ping."""
        with self.world.lock:
            app.webhook_url, app.webhook_secret = url, secret or app.webhook_secret
            ping(self.world, app)

    def install(self, app: App, *full_names: str) -> HostedInstallation:
        """Install the App on repositories of one account, or add them to its installation there."""
        with self.world.lock:
            chosen = [self.world.repository(*name.split("/")) for name in full_names]
            owner = chosen[0].owner
            known = next(
                (each for each in self.world.installations.values() if each.app is app and each.account is owner), None
            )
            if known is not None:
                known.repository_ids |= {each.id for each in chosen}
                announce_repositories(self.world, known, owner, chosen)
                return known
            made = HostedInstallation(
                id=self.world.next_id("installation"),
                app=app,
                account=owner,
                repository_ids={each.id for each in chosen},
                created_at=self.world.now(),
            )
            self.world.installations[made.id] = made
            _announce(self.world, made, owner, "created")
            return made

    def uninstall(self, installation: HostedInstallation) -> None:
        """Its tokens die at once."""
        with self.world.lock:
            del self.world.installations[installation.id]
            _announce(self.world, installation, installation.account, "deleted")


def _announce(world: World, made: HostedInstallation, sender: HostedAccount, action: str) -> None:
    stubs = [repository_stub(world.repositories[number]) for number in sorted(made.repository_ids)]
    announce_installation(world, made, sender, "installation", action, repositories=stubs)


def directory(root: Path) -> dict[str, Content]:
    """The files under a directory, without what Python and git leave behind."""
    skipped = {"__pycache__", ".git", ".pytest_cache"}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not skipped & set(path.relative_to(root).parts)
    }


def _bytes(files: Mapping[str, Content]) -> dict[str, bytes | None]:
    return {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
