"""The sandbox as a Protocol, for it has several adapters; and the values that it and the adapter of GitHub take and give."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from memory.model import Actor

SECONDS_BETWEEN_WRITES = 1.0
"""GitHub's rule for clients that write."""

ANNOTATIONS_A_REQUEST = 50
"""GitHub takes no more annotations of a check run at once."""


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
    """Limits of one sandboxed command and all processes that it starts.

    `memory_mb` includes files, which are in memory (`disk_mb` for the checkout, and as much for /tmp). With a control group
    the kernel enforces it (workers.sandbox.control_groups). Without, a watchdog measures about 20 times a second: a run can
    hold more for a moment, and small objects of the kernel do not count (workers.sandbox.usage). A test takes some 300 bytes
    of the report, which is kept whole.
    """

    wall_seconds: float = 120.0
    cpu_seconds: int = 240
    memory_mb: int = 2048
    processes: int = 256
    disk_mb: int = 512
    output_kb: int = 4096
    report_kb: int = 65_536

    def within(self, seconds: float) -> Limits:
        """The same, for at most `seconds` by the clock."""
        return replace(self, wall_seconds=min(self.wall_seconds, seconds))


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

    The command starts in `directory` of the tree. `read_only` are host paths that are visible inside under the same path (interpreters, virtual environments, tools).
    The command `python` starts the interpreter `python`. `env` is the environment, except PATH, HOME and TMPDIR.
    """

    command: tuple[str, ...]
    tree: Path
    python: Path
    overlay: Mapping[str, bytes | None] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    read_only: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    directory: str = "."


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
    draft: bool = False
    body: str = ""
    labels: tuple[str, ...] = ()
    locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineComment:
    """A review comment on lines `start_line`..`line` of the new side."""

    path: str
    start_line: int
    line: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewThread:
    """A review thread's current state; its id is GraphQL's. `by_us`: our own account resolved it."""

    id: str
    resolved: bool
    by_us: bool


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
    """One attempt to deliver a webhook. A redelivery has a new id and the same `guid`. The status is 0 without an answer."""

    id: int
    guid: str
    event: str
    action: str
    status: int
    delivered_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLogPage:
    """A page of the App's log of deliveries, newest first, and the cursor of the older ones, empty on the last page."""

    deliveries: tuple[HookDelivery, ...]
    older: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppExamination:
    """What GitHub says of the App: permissions that `lacks` lacks, events that it gets, the repositories of its first
    installation (None without one), and how far our clock is ahead of GitHub's (None where that is unknown)."""

    id: int
    slug: str
    lacks: str
    lacking: Mapping[str, str]
    events: frozenset[str]
    account: str
    repositories: int | None
    ahead: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedToken:
    """An installation token for one repository, its end, and the name that the repository has now."""

    token: str = field(repr=False)
    expires_at: datetime
    full_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppIdentity:
    """The App's id and slug; its account on GitHub is `<slug>[bot]`."""

    id: int
    slug: str
