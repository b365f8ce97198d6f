"""What exists in the playground: plain state, which changes only under the world's lock."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from typing import ClassVar, Literal

from msgspec import Struct, field

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


class Hosted(Struct, kw_only=True, eq=False):
    """An object with a number, and with a global node id that begins with `prefix`."""

    prefix: ClassVar[str] = ""
    id: int

    @property
    def node_id(self) -> str:
        return node_id(self.prefix, self.id)


class HostedAccount(Hosted, kw_only=True, eq=False):
    """A user or an App's bot."""

    login: str
    name: str
    created_at: datetime
    app_slug: str = ""

    @property
    def type(self) -> str:
        return "Bot" if self.app_slug else "User"

    @property
    def node_id(self) -> str:
        return node_id("BOT" if self.app_slug else "U", self.id)

    @property
    def git_identity(self) -> GitIdentity:
        """The author that git names."""
        return GitIdentity(name=self.name, email=f"{self.id}+{self.login}@users.noreply.github.com")


class App(Hosted, kw_only=True, eq=False):
    """A GitHub App. `private_key` is a PEM; only its public half is used to verify."""

    prefix = "A"
    slug: str
    client_id: str
    owner: HostedAccount
    bot: HostedAccount
    private_key: str
    public_key: str
    webhook_secret: str
    created_at: datetime
    webhook_url: str = ""
    permissions: ClassVar[Mapping[str, str]] = {
        "checks": "write",
        "contents": "write",
        "issues": "write",
        "metadata": "read",
        "pull_requests": "write",
    }
    events: ClassVar[tuple[str, ...]] = (
        "issues",
        "issue_comment",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "pull_request_review_thread",
        "check_run",
        "check_suite",
    )

    @property
    def hook_id(self) -> int:
        return 400_000_000 + self.id


class ActingAccount(Struct, frozen=True, kw_only=True, eq=False):
    """Who does something, and through which App."""

    user: HostedAccount
    via: App | None = None


class HostedInstallation(Struct, kw_only=True, eq=False):
    """An App on an account. Its `permissions` are what the owner granted: less than the App's since it asked for more."""

    id: int
    app: App
    account: HostedAccount
    repository_ids: set[int]
    created_at: datetime
    permissions: dict[str, str] = field(default_factory=lambda: dict(App.permissions))


class AccessToken(Struct, frozen=True, kw_only=True, eq=False):
    """A credential. An installation token has `installation`, its repositories and its permissions; a personal one has none."""

    value: str
    user: HostedAccount
    expires_at: datetime | None = None
    installation: HostedInstallation | None = None
    repository_ids: frozenset[int] = frozenset()
    permissions: Mapping[str, str] = field(default_factory=dict)


REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


class HostedLabel(Hosted, kw_only=True, eq=False):
    prefix = "LA"
    name: str


class HostedRepository(Hosted, kw_only=True, eq=False):
    prefix = "R"
    owner: HostedAccount
    name: str
    private: bool
    git: BareRepository
    created_at: datetime
    pushed_at: datetime
    default_branch: str = "main"
    drafts: bool = True
    parent: HostedRepository | None = None
    roles: dict[int, RepositoryRole] = field(default_factory=dict)
    labels: dict[str, HostedLabel] = field(default_factory=dict)
    issues: dict[int, HostedIssue] = field(default_factory=dict)
    check_runs: list[HostedCheckRun] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def next_number(self) -> int:
        """Issues and pull requests share one series."""
        return max(self.issues, default=0) + 1

    def pulls(self) -> list[HostedPull]:
        """Its pull requests, oldest first."""
        return [issue for issue in self.issues.values() if isinstance(issue, HostedPull)]


class HostedReaction(Hosted, kw_only=True, eq=False):
    prefix = "REA"
    user: HostedAccount
    content: str
    created_at: datetime


class HostedIssue(Hosted, kw_only=True, eq=False):
    """An issue, or the conversation of a pull request: then it is a HostedPull."""

    prefix = "I"
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
    locked: bool = False
    closed_at: datetime | None = None
    closed_by: HostedAccount | None = None
    labels: list[HostedLabel] = field(default_factory=list)
    comments: list[HostedComment] = field(default_factory=list)
    reactions: list[HostedReaction] = field(default_factory=list)


class HostedComment(Hosted, kw_only=True, eq=False):
    """A comment in the conversation of an issue or pull request."""

    prefix = "IC"
    issue: HostedIssue
    author: HostedAccount
    body: str
    created_at: datetime
    updated_at: datetime
    via: App | None = None
    reactions: list[HostedReaction] = field(default_factory=list)


class HostedPull(HostedIssue, kw_only=True, eq=False):
    """A pull request: its conversation's number is `id`, its own `pull_id`. `head_repository` is another one for a fork."""

    prefix = "PR"
    pull_id: int
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
        return node_id(self.prefix, self.pull_id)


class HostedReview(Hosted, kw_only=True, eq=False):
    """`state` is COMMENTED, APPROVED or CHANGES_REQUESTED."""

    prefix = "PRR"
    pull: HostedPull
    author: HostedAccount
    body: str
    state: str
    sha: str
    submitted_at: datetime


class Anchor(Struct, frozen=True, kw_only=True):
    """The lines of a diff that a comment refers to.

    `position` counts the diff's lines below the first hunk header, as GitHub's oldest clients do.
    """

    path: str
    start_line: int | None
    line: int
    position: int
    hunk: str


class ReviewComment(Hosted, kw_only=True, eq=False):
    """A comment on lines of the diff: `original` is where it was posted, `line` is None once those lines have changed."""

    prefix = "PRRC"
    thread: HostedThread
    review: HostedReview
    author: HostedAccount
    body: str
    original: Anchor
    original_sha: str
    sha: str
    start_line: int | None
    line: int | None
    position: int | None
    created_at: datetime
    reply_to: int | None = None
    reactions: list[HostedReaction] = field(default_factory=list)


class HostedThread(Hosted, kw_only=True, eq=False):
    prefix = "PRRT"
    pull: HostedPull
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: HostedAccount | None = None


class CheckAnnotation(Struct, frozen=True, kw_only=True):
    """An annotation of a check run, as the App sends it and as it is shown."""

    path: str
    start_line: int
    end_line: int
    annotation_level: Literal["notice", "warning", "failure"]
    message: str
    title: str | None = None


class HostedCheckRun(Hosted, kw_only=True, eq=False):
    prefix = "CR"
    repository: HostedRepository
    app: App
    name: str
    head_sha: str
    started_at: datetime
    external_id: str = ""
    status: str = "queued"
    conclusion: str | None = None
    completed_at: datetime | None = None
    title: str | None = None
    summary: str | None = None
    annotations: list[CheckAnnotation] = field(default_factory=list)

    @property
    def suite_id(self) -> int:
        """One suite for each commit and App."""
        return 40_000_000_000 + int(self.head_sha[:7], 16) + self.app.id


class Webhook(Struct, frozen=True, kw_only=True):
    """One webhook to be sent. `body` is the exact bytes that are signed; a redelivery keeps `guid`."""

    guid: str
    app: App
    event: str
    action: str | None
    body: bytes
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False


class WebhookDelivery(Struct, frozen=True, kw_only=True):
    """One attempt. `status_code` is 0 without an answer; `status` gives the reason in GitHub's words. `duration` is seconds."""

    id: int
    notice: Webhook
    delivered_at: datetime
    duration: float
    status: str
    status_code: int
