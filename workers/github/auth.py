"""What the App does under its own key, its account, and the tokens that it gets."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from github import Github, GithubException, GithubIntegration, UnknownObjectException
from msgspec import structs

from memory.measures import TOKENS_MINTED
from memory.model import Actor
from workers.errors import CannotRun, NoAccess
from workers.github.client import client, integration, translated
from workers.jobs import RepositoryRef
from workers.ports import AppExamination, AppIdentity, HookDelivery, HookLogPage, MintedToken
from workers.redaction import own_secrets
from workers.settings import MintSettings

KEY_BITS = 2048
_log = structlog.get_logger()


def check_app(settings: MintSettings) -> Path:
    """The file of the App's key; raises CannotRun without an App, and for a key that GitHub would not accept."""
    key = settings.private_key_file
    if not settings.app_id or key is None:
        raise CannotRun("set APPRENTICE_APP_ID and APPRENTICE_PRIVATE_KEY_FILE to act on GitHub; see docs/install.md")
    if problem := _key_problem(key):
        raise CannotRun(f"the private key {key} {problem}; generate a key on the App's page and download it")
    return key


def app_of(settings: MintSettings) -> GitHubApp:
    """The App in the settings; raises CannotRun as `check_app` does."""
    key = check_app(settings).read_text()
    own_secrets.add(key)
    return GitHubApp(integration(settings.github_url, settings.app_id, key))


def _key_problem(path: Path) -> str:
    """Why GitHub would accept nothing that this key signs; empty for a good one."""
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except TypeError:
        return "is locked with a passphrase"
    except (ValueError, UnsupportedAlgorithm):
        return "is no private key in PEM"
    if not isinstance(key, RSAPrivateKey):
        return "is no RSA key"
    return f"has only {key.key_size} bits" if key.key_size < KEY_BITS else ""


class OwnAccount:
    """The App and its account, looked up once. GitHub gives their numbers to no other; names and texts can be copied."""

    def __init__(self, identify: Callable[[], AppIdentity]) -> None:
        self._identify = identify
        self._known: tuple[int, Actor] | None = None

    def known(self, client: Github) -> tuple[int, Actor]:
        """The App's id and its account; `client` may be that of any installation."""
        if self._known is None:
            app = self._identify()
            with translated("looking up our own account"):
                _, user = client.requester.requestJsonAndCheck("GET", f"/users/{app.slug}[bot]")
            self._known = app.id, Actor(id=user["id"], login=user["login"], is_bot=True)
        return self._known


PERMISSIONS = {"checks": "write", "contents": "write", "issues": "write", "metadata": "read", "pull_requests": "write"}
RENEW_BEFORE = timedelta(minutes=10)


DEFAULTS = ".github"
"""The repository of an account that holds what counts in all of its repositories."""

NOT_ACCESSIBLE = 422
"""GitHub's answer where a repository does not exist, or the installation does not have it."""

_NOT_GRANTED = "permissions requested are not granted"
"""A part of GitHub's answer where the owner has not accepted yet what the App asks for since it was installed."""

_NO_ACCESS = ("'Not Found'", "does not exist or is not accessible")
"""Parts of GitHub's answers where the installation is gone, or does not have a repository. The status says less: 404 also
answers a wrong App id, and 422 permissions that the App lacks."""

PAGE = 100


_LEVELS = {"": 0, "read": 1, "write": 2, "admin": 3}


def _lacking(held: Mapping[str, str]) -> dict[str, str]:
    """What tokens ask for beyond these permissions."""
    return {name: level for name, level in PERMISSIONS.items() if _LEVELS.get(held.get(name, ""), 0) < _LEVELS[level]}


class GitHubApp:
    """What the App does under its own key, and not as an installation."""

    def __init__(self, integration: GithubIntegration) -> None:
        self._integration = integration
        self._ask = integration.requester.requestJsonAndCheck

    def mint(self, repository_id: int, installation_id: int) -> MintedToken:
        """A token for this repository alone, with what its owner granted of `PERMISSIONS`.

        Raises NoAccess where the installation is gone, or does not have the repository.
        """
        with translated(f"minting a token for repository {repository_id}"):
            try:
                return self._minted(installation_id, repository_ids=[repository_id], permissions=PERMISSIONS)
            except GithubException as error:
                if any(each in str(error.data) for each in _NO_ACCESS):
                    raise NoAccess(f"the App has no access to repository {repository_id}") from error
                if _NOT_GRANTED not in str(error.data):
                    raise
            _, found = self._ask("GET", f"/app/installations/{installation_id}")
            held = found["permissions"]
            _log.warning("permissions not granted", installation=installation_id, lacking=_lacking(held))
            granted = {
                name: min(level, held[name], key=lambda each: _LEVELS[each])
                for name, level in PERMISSIONS.items()
                if name in held
            }
            return self._minted(installation_id, repository_ids=[repository_id], permissions=granted)

    def _minted(self, installation_id: int, **asked: object) -> MintedToken:
        """A token for one repository, to which PyGithub's get_access_token cannot limit it."""
        answer = self._token(installation_id, **asked)
        (repository,) = answer["repositories"]
        ends = datetime.fromisoformat(answer["expires_at"])
        return MintedToken(token=answer["token"], expires_at=ends, full_name=repository["full_name"])

    def _token(self, installation_id: int, **asked: object) -> dict[str, Any]:
        """GitHub's answer with a token for what is asked; nothing that this process writes shows it."""
        _, answer = self._ask("POST", f"/app/installations/{installation_id}/access_tokens", input=asked)
        own_secrets.add_token(answer["token"])
        return dict(answer)

    def mint_defaults(self, installation_id: int) -> MintedToken | None:
        """A token that reads the repository `.github` of an installation's account; None where the App has none there."""
        readable = {"contents": "read", "metadata": "read"}
        with translated(f"minting a token for {DEFAULTS} of installation {installation_id}"):
            try:
                return self._minted(installation_id, repositories=[DEFAULTS], permissions=readable)
            except GithubException as error:
                if error.status == NOT_ACCESSIBLE:
                    return None
                raise

    def identity(self) -> AppIdentity:
        with translated("looking up the App"):
            app = self._integration.get_app()
            return AppIdentity(id=app.id, slug=app.slug)

    def examine(self) -> AppExamination:
        """Sign as the App, mint a token that reads names alone for its first installation, and use it."""
        with translated("looking up the App"):
            headers, app = self._ask("GET", "/app")
            now = datetime.now(UTC)
            _, installations = self._ask("GET", "/app/installations", parameters={"per_page": 1})
        first = next(iter(installations), None)
        lacking = _lacking(app["permissions"])
        lacking_there = _lacking(first["permissions"]) if first else {}
        date = str(headers.get("date", ""))
        return AppExamination(
            id=app["id"],
            slug=app["slug"],
            lacks="the App" if lacking or not first else f"the installation on {first['account']['login']}",
            lacking=lacking or lacking_there,
            events=frozenset(app["events"]),
            account=first["account"]["login"] if first else "",
            repositories=self._readable(first["id"]) if first else None,
            ahead=now - parsedate_to_datetime(date) if date else None,
        )

    def _readable(self, installation_id: int) -> int:
        """How many repositories a token for an installation can read."""
        with translated(f"minting a token for installation {installation_id}"):
            minted = self._token(installation_id, permissions={"metadata": "read"})
        with translated("using a token"):
            using = client(self._integration.requester.base_url, minted["token"], installation_id).requester
            _, answer = using.requestJsonAndCheck("GET", "/installation/repositories", parameters={"per_page": 1})
        return int(answer["total_count"])

    def deliveries(self, cursor: str) -> HookLogPage:
        """A page of the attempts to deliver webhooks, newest first; GitHub keeps three days. The first one has no cursor."""
        where = {"per_page": PAGE} | ({"cursor": cursor} if cursor else {})
        with translated("reading the webhook's log"):
            headers, page = self._ask("GET", "/app/hook/deliveries", parameters=where)
        return HookLogPage(deliveries=tuple(map(_delivery, page)), older=_next_cursor(str(headers.get("link", ""))))

    def redeliver(self, delivery_id: int) -> None:
        with translated("asking for a redelivery"):
            self._ask("POST", f"/app/hook/deliveries/{delivery_id}/attempts")


def _delivery(item: dict[str, Any]) -> HookDelivery:
    return HookDelivery(
        id=int(item["id"]),
        guid=item["guid"],
        event=item["event"],
        action=item["action"] or "",
        status=item["status_code"],
        delivered_at=datetime.fromisoformat(item["delivered_at"]),
    )


def _next_cursor(link: str) -> str:
    """The cursor in a Link header's `next`, empty on the last page."""
    following = next((part for part in link.split(",") if 'rel="next"' in part), "")
    return following.partition("cursor=")[2].partition("&")[0].partition(">")[0]


def owner_file(base_url: str, minted: MintedToken, installation_id: int, path: str) -> bytes | None:
    """A file at the default branch of the repository that a token reads; None without it."""
    doing = f"reading {path} of {minted.full_name}"
    with translated(doing):
        try:
            requester = client(base_url, minted.token, installation_id).requester
            _, answer = requester.requestJsonAndCheck("GET", f"/repos/{minted.full_name}/contents/{path}")
        except UnknownObjectException:
            return None
    if not isinstance(answer, dict) or answer.get("encoding") != "base64":  # a directory, or over 1 MB
        raise CannotRun(f"{path} of {minted.full_name} is no small file")
    return b64decode(answer["content"])


class InstallationTokens:
    """Keeps each installation token until ten minutes before it ends."""

    def __init__(self, mint: Callable[[int, int], MintedToken], clock: Callable[[], datetime]) -> None:
        self._mint = mint
        self._clock = clock
        self._minted: dict[int, MintedToken] = {}
        """The token for each repository."""

    def token(self, repository: RepositoryRef) -> str:
        """A token for this repository alone; raises Retryable or CannotRun."""
        return self._of(repository).token

    def drop(self, repository: RepositoryRef) -> None:
        """Forget the token for this repository: GitHub does not take it any more."""
        self._minted.pop(repository.id, None)

    def current(self, repository: RepositoryRef) -> RepositoryRef:
        """The repository under the name that it has now; a job may be older than a rename."""
        return structs.replace(repository, full_name=self._of(repository).full_name)

    def _of(self, repository: RepositoryRef) -> MintedToken:
        minted = self._minted.get(repository.id)
        ends = minted is None or minted.expires_at - RENEW_BEFORE <= self._clock()
        if minted is None or ends or minted.full_name != repository.full_name:
            minted = self._minted[repository.id] = self._counted(repository)
        return minted

    def _counted(self, repository: RepositoryRef) -> MintedToken:
        result = "failed"
        try:
            minted = self._mint(repository.id, repository.installation_id)
            result = "minted"
        except NoAccess:
            result = "no_access"
            raise
        finally:
            TOKENS_MINTED.add(result=result)
        return minted
