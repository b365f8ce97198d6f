"""Installation tokens: one repository each, the fewest permissions, minted where the private key lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from github import GithubIntegration

from workers.github.client import translated
from workers.jobs import RepositoryRef

PERMISSIONS = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
}
RENEW_BEFORE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class _Minted:
    token: str
    expires_at: datetime


class Tokens:
    """Mints installation tokens and keeps each until ten minutes before it ends."""

    def __init__(self, app: GithubIntegration, clock: Callable[[], datetime]) -> None:
        self._app = app
        self._clock = clock
        self._minted: dict[int, _Minted] = {}

    def token(self, repository: RepositoryRef) -> str:
        """A token for this repository alone; raises Retryable or CannotRun."""
        minted = self._minted.get(repository.id)
        if minted is None or minted.expires_at - RENEW_BEFORE <= self._clock():
            minted = self._mint(repository)
            self._minted[repository.id] = minted
        return minted.token

    def _mint(self, repository: RepositoryRef) -> _Minted:
        # PyGithub's get_access_token cannot limit a token to one repository.
        with translated(f"minting a token for {repository.full_name}"):
            _, answer = self._app.requester.requestJsonAndCheck(
                "POST",
                f"/app/installations/{repository.installation_id}/access_tokens",
                input={"repository_ids": [repository.id], "permissions": PERMISSIONS},
            )
        return _Minted(answer["token"], datetime.fromisoformat(answer["expires_at"]))
