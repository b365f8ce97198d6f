"""Tasks, the posts about them, and the experiences that they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.model.learning import TaskKind
from memory.model.repairs import Attempt, AttemptOutcome, EditShape, Family


class PostKind(StrEnum):
    """The kinds of posts on GitHub that users answer."""

    REVIEW_COMMENT = "review_comment"
    FIX_PULL = "fix_pull"
    ISSUE_COMMENT = "issue_comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post on GitHub, and the decisions that it shows.

    `number` is its issue or pull request; `github_id` the comment's id or the pull request's number.
    `watched` ends when nothing more is to be learned from it.
    """

    repository: str
    kind: PostKind
    number: int
    github_id: int
    decision_ids: tuple[str, ...]
    fingerprint: str = ""
    watched: bool = True
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A failure, what was tried, its outcome, and what to remember. `tried` counts candidates by template and skill.

    `shape` is the proven edit without its names: what a skill is. `usual` is the mean of proof that the table gave the
    strategy when it was tried, where it was asked. `images` are the digests of pictures that came with it.
    """

    id: str
    repository: str
    task_id: str
    error_type: str
    family: Family
    signature: str
    path: str
    strategy: str
    outcome: AttemptOutcome
    reflection: str
    patch: str
    shape: EditShape | None
    created_at: datetime
    tried: Mapping[str, int] = field(default_factory=dict)
    usual: float | None = None
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A remembered experience and how near it is: `score` is a fused rank score, higher is nearer.

    `copies` counts how often the same was tried with the same outcome. `stale` says that the code it cites is there neither
    as it was found nor as it was left.
    """

    experience: Experience
    score: float
    copies: int = 1
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """Which experiences are meant: those that are all of what is given. Empty or None means any."""

    repository: str = ""
    error_type: str = ""
    family: str = ""
    outcome: str = ""
    before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work on one repository at one pinned commit. `number` is the issue or pull request, 0 for local use."""

    id: str
    kind: TaskKind
    repository: str
    sha: str
    number: int
    created_at: datetime
    attempts: tuple[Attempt, ...] = field(default=())
