"""What exists in the playground beside accounts: plain state, changed only under the world's lock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bot.playground.accounts import App, Role, User, node_id
from bot.playground.git import BareRepository

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@dataclass(slots=True, kw_only=True, eq=False)
class Label:
    id: int
    name: str
    color: str
    description: str

    @property
    def node_id(self) -> str:
        return node_id("LA", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Repository:
    id: int
    owner: User
    name: str
    private: bool
    default_branch: str
    description: str
    git: BareRepository
    created_at: datetime
    pushed_at: datetime
    parent: Repository | None = None
    roles: dict[int, Role] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    check_runs: list[CheckRun] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("R", self.id)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


@dataclass(slots=True, kw_only=True, eq=False)
class Reaction:
    id: int
    user: User
    content: str
    created_at: datetime

    @property
    def node_id(self) -> str:
        return node_id("REA", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Issue:
    """An issue, or the conversation of a pull request when `pull` is set."""

    id: int
    number: int
    repository: Repository
    author: User
    title: str
    body: str | None
    created_at: datetime
    updated_at: datetime
    via: App | None = None
    state: str = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    pull: Pull | None = None

    @property
    def node_id(self) -> str:
        return node_id("PR" if self.pull else "I", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Comment:
    """A comment in the conversation of an issue or pull request."""

    id: int
    issue: Issue
    author: User
    body: str
    created_at: datetime
    updated_at: datetime
    via: App | None = None
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("IC", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Pull:
    """What a pull request has beyond its conversation. `head_repository` is another one for a fork."""

    id: int
    head_repository: Repository
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PR", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Review:
    """`state` is PENDING, COMMENTED, APPROVED, CHANGES_REQUESTED or DISMISSED."""

    id: int
    issue: Issue
    author: User
    body: str
    state: str
    sha: str
    submitted_at: datetime | None
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
    thread: Thread
    review: Review
    author: User
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
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PRRC", self.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Thread:
    id: int
    issue: Issue
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: User | None = None

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
class CheckRun:
    id: int
    repository: Repository
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
