"""What exists in the playground: plain state, which changes only under the world's lock."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

from bot.playground.git import BareRepository, GitIdentity


class RepositoryRole(IntEnum):
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
class HostedAccount:
    """A user, an organization or an App's bot. `type` is User, Organization or Bot."""

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
    def git_identity(self) -> GitIdentity:
        """The author that git names."""
        return GitIdentity(name=self.name, email=f"{self.id}+{self.login}@users.noreply.github.com")


@dataclass(slots=True, kw_only=True, eq=False)
class App:
    """A GitHub App. `private_key` is a PEM; only its public half is used to verify."""

    id: int
    slug: str
    name: str
    client_id: str
    owner: HostedAccount
    bot: HostedAccount
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
class ActingAccount:
    """Who does something, and through which App."""

    user: HostedAccount
    via: App | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class HostedInstallation:
    id: int
    app: App
    account: HostedAccount
    repository_ids: set[int]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A credential. An installation token has `installation`, its repositories and its permissions; a personal one has none."""

    value: str
    user: HostedAccount
    expires_at: datetime | None = None
    installation: HostedInstallation | None = None
    repository_ids: frozenset[int] = frozenset()
    permissions: Mapping[str, str] = field(default_factory=dict)


REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@dataclass(slots=True, kw_only=True, eq=False)
class HostedLabel:
    id: int
    name: str
    color: str
    description: str

    @property
    def node_id(self) -> str:
        return node_id("LA", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedRepository:
    id: int
    owner: HostedAccount
    name: str
    private: bool
    default_branch: str
    description: str
    git: BareRepository
    created_at: datetime
    pushed_at: datetime
    parent: HostedRepository | None = None
    roles: dict[int, RepositoryRole] = field(default_factory=dict)
    labels: dict[str, HostedLabel] = field(default_factory=dict)
    issues: dict[int, HostedIssue] = field(default_factory=dict)
    check_runs: list[HostedCheckRun] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("R", self.id)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(slots=True, kw_only=True, eq=False)
class HostedReaction:
    id: int
    user: HostedAccount
    content: str
    created_at: datetime

    @property
    def node_id(self) -> str:
        return node_id("REA", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedIssue:
    """An issue, or the conversation of a pull request when `pull` is set."""

    id: int
    number: int
    repository: HostedRepository
    author: HostedAccount
    title: str
    body: str | None
    created_at: datetime
    updated_at: datetime
    via: App | None = None
    state: str = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: HostedAccount | None = None
    labels: list[HostedLabel] = field(default_factory=list)
    assignees: list[HostedAccount] = field(default_factory=list)
    comments: list[HostedComment] = field(default_factory=list)
    reactions: list[HostedReaction] = field(default_factory=list)
    pull: HostedPull | None = None

    @property
    def node_id(self) -> str:
        return node_id("PR" if self.pull else "I", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedComment:
    """A comment in the conversation of an issue or pull request."""

    id: int
    issue: HostedIssue
    author: HostedAccount
    body: str
    created_at: datetime
    updated_at: datetime
    via: App | None = None
    reactions: list[HostedReaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("IC", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedPull:
    """What a pull request has beyond its conversation. `head_repository` is another one for a fork."""

    id: int
    head_repository: HostedRepository
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool
    merged_at: datetime | None = None
    merged_by: HostedAccount | None = None
    merge_sha: str | None = None
    reviews: list[HostedReview] = field(default_factory=list)
    threads: list[HostedThread] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PR", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedReview:
    """`state` is COMMENTED, APPROVED or CHANGES_REQUESTED."""

    id: int
    issue: HostedIssue
    author: HostedAccount
    body: str
    state: str
    sha: str
    submitted_at: datetime
    updated_at: datetime

    @property
    def node_id(self) -> str:
        return node_id("PRR", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class ReviewComment:
    """A comment on lines of the diff. `line` is None once the lines have changed (outdated).

    `position` counts the diff's lines below the first hunk header, as GitHub's oldest clients do.
    """

    id: int
    thread: HostedThread
    review: HostedReview
    author: HostedAccount
    body: str
    path: str
    side: str
    start_line: int | None
    line: int | None
    original_start_line: int | None
    original_line: int
    position: int | None
    original_position: int
    sha: str
    original_sha: str
    hunk: str
    created_at: datetime
    updated_at: datetime
    reply_to: int | None = None
    reactions: list[HostedReaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PRRC", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class HostedThread:
    id: int
    issue: HostedIssue
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: HostedAccount | None = None

    @property
    def node_id(self) -> str:
        return node_id("PRRT", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnnotation:
    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str | None
    raw_details: str | None
    start_column: int | None
    end_column: int | None


@dataclass(slots=True, kw_only=True, eq=False)
class HostedCheckRun:
    id: int
    repository: HostedRepository
    app: App
    name: str
    head_sha: str
    external_id: str
    details_url: str
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[CheckAnnotation] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("CR", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One webhook to be sent. `body` is the exact bytes that are signed; a redelivery keeps `guid`."""

    guid: str
    app: App
    event: str
    action: str | None
    body: bytes
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """One attempt. `status_code` is 0 without an answer; `status` gives the reason in GitHub's words. `duration` is seconds."""

    id: int
    notice: Webhook
    delivered_at: datetime
    duration: float
    status: str
    status_code: int
