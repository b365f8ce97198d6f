"""The flows' view of GitHub and the sandbox, as Protocols; the adapters are in github/ and sandbox/."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from memory.model import Actor, Permission, PostKind

SECONDS_BETWEEN_WRITES = 1.0
"""GitHub's rule for clients that write."""


class Ending(StrEnum):
    """Why a sandboxed command ended."""

    EXITED = "exited"
    WALL_TIME = "wall_time"
    CPU_TIME = "cpu_time"
    MEMORY = "memory"
    OUTPUT = "output"
    KILLED = "killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one sandboxed command and all processes that it starts."""

    wall_seconds: float = 120.0
    cpu_seconds: int = 240
    memory_mb: int = 2048
    processes: int = 256
    disk_mb: int = 512
    output_kb: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedRun:
    """A sandboxed command that ended. `report` holds the bytes that it wrote to the descriptor in $APPRENTICE_REPORT_FD."""

    exit_code: int
    ending: Ending
    stdout: str
    stderr: str
    report: bytes
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Code to run: the sandbox copies `tree` to /workspace, then applies `overlay` (None deletes a file).

    `read_only` are host paths that are visible inside under the same path (interpreters, virtual environments, tools).
    The command `python` starts the interpreter `python`. `env` is the environment, except PATH, HOME and TMPDIR.
    """

    command: tuple[str, ...]
    tree: Path
    python: Path
    overlay: Mapping[str, bytes | None] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    read_only: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)


class SandboxSession(Protocol):
    """A sandboxed process that answers requests in lines: one JSON request in, one JSON answer out."""

    def send(self, line: bytes) -> None:
        """Write one line to its standard input; raises SandboxEnded when the process has ended."""
        ...

    def receive(self, timeout: float) -> bytes:
        """The next line of its report; raises SandboxEnded when the process has ended, TimeoutError after `timeout` seconds."""
        ...


class Sandbox(Protocol):
    """Runs untrusted code without network, environment, keys, or write access to the host."""

    def run(self, workload: Workload) -> CompletedRun:
        """Run to the end or to a limit; the whole process tree is dead when this returns."""
        ...

    def session(self, workload: Workload) -> AbstractContextManager[SandboxSession]:
        """Start a process that answers requests; leaving the context ends its whole process tree."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture that a user attached."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        """The hash that names the stored picture."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHead:
    name: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request's current state. `head_repository_id` differs from the repository's own id for a fork."""

    number: int
    title: str
    state: str
    head_ref: str
    head_sha: str
    head_repository_id: int
    base_ref: str
    base_sha: str
    author: Actor
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineComment:
    """A review comment on lines `start_line`..`line` of the new side."""

    path: str
    start_line: int
    line: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedComment:
    id: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewThread:
    """A review thread's current state; its id is GraphQL's. `by_author`: the account that began it resolved it."""

    id: str
    resolved: bool
    by_author: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReaction:
    """`content` is GitHub's name of the reaction: +1, -1, laugh, hooray, confused, heart, rocket, eyes."""

    id: int
    actor: Actor
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A line of a check run; the fields have GitHub's names."""

    path: str
    start_line: int
    end_line: int
    annotation_level: str
    message: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDelivery:
    """One attempt to deliver a webhook. A redelivery has a new id and the same `guid`."""

    id: int
    guid: str
    event: str
    delivered_at: datetime


class AppHook(Protocol):
    """The log of the App's own webhook; GitHub keeps three days."""

    def deliveries(self, *, since: datetime) -> tuple[HookDelivery, ...]:
        """The delivery attempts since then, newest first."""
        ...

    def redeliver(self, delivery_id: int) -> None: ...


class GitHub(Protocol):
    """One repository on GitHub, with a token for it alone.

    The adapter never repeats a write. Each `find_…` looks for the result of an earlier, interrupted write.
    """

    def token(self) -> str:
        """The installation token, for git over HTTPS."""
        ...

    def clone_url(self) -> str: ...

    def default_branch(self) -> BranchHead: ...

    def pull(self, number: int) -> PullRequest: ...

    def permission(self, actor: Actor) -> Permission:
        """The current role of this account id on this repository; NONE when the login belongs to another id."""
        ...

    def comment(self, number: int, body: str, *, thread: int = 0) -> int:
        """Comment on an issue or pull request, or in the review thread of the comment `thread`; the comment's id."""
        ...

    def find_comment(self, number: int, marker: str, *, thread: int = 0) -> int | None: ...

    def pictures(self, number: int, *, body: str) -> tuple[Image, ...]:
        """The first pictures uploaded in the text of an issue or pull request; none when that text differs from `body`."""
        ...

    def open_pull(self, *, head: str, base: str, title: str, body: str) -> int:
        """Open a draft pull request; its number."""
        ...

    def find_pull(self, *, head: str) -> int | None:
        """The number of the pull request from branch `head`, in any state."""
        ...

    def create_review(self, number: int, *, sha: str, body: str, comments: Sequence[InlineComment]) -> int:
        """Post one review with all its comments; the review's id."""
        ...

    def find_review(self, number: int, marker: str) -> int | None: ...

    def review_comments(self, number: int, review_id: int) -> tuple[PostedComment, ...]: ...

    def create_check(
        self,
        *,
        sha: str,
        external_id: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation],
    ) -> int:
        """Create a completed check run on `sha`; its id. Sends more than 50 annotations in several requests."""
        ...

    def find_check(self, *, sha: str, external_id: str) -> int | None: ...

    def reactions(self, kind: PostKind, number: int) -> tuple[UserReaction, ...]:
        """The reactions to a comment by its id, or to a pull request's own text by its number."""
        ...

    def thread_of(self, number: int, comment_id: int) -> ReviewThread | None:
        """The review thread that begins with this comment."""
        ...

    def resolve_thread(self, thread_id: str) -> None: ...

    def reopen_thread(self, thread_id: str) -> None: ...
