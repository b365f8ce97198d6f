"""The jobs that the web process passes to the workers: frozen, versioned, decoded by type.

A job pins repository and number at its trigger, and repairs and reviews also the commit; none of them comes from a model or a
later look-up by name. Questions are answered about the head as it is then.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

import msgspec

from memory.model import Actor, SignalKind
from memory.model.jobs import Priority

ACTED_ON: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ping": frozenset(),
        "installation": frozenset(),
        "installation_repositories": frozenset(),
        "issues": frozenset({"opened", "edited", "labeled"}),
        "issue_comment": frozenset({"created", "edited"}),
        "pull_request": frozenset({"opened", "reopened", "synchronize", "ready_for_review", "edited", "closed"}),
        "pull_request_review": frozenset({"submitted", "edited"}),
        "pull_request_review_comment": frozenset({"created", "edited"}),
        "pull_request_review_thread": frozenset({"resolved", "unresolved"}),
        "check_run": frozenset({"rerequested"}),
        "check_suite": frozenset({"rerequested"}),
    }
)
"""The webhook events that jobs come from, each with the actions that count, empty for all of them."""


class RepositoryRef(msgspec.Struct, frozen=True, kw_only=True):
    """One repository and the installation that gives access to it. The name is what it is called now, and shown alone."""

    id: int
    full_name: str
    installation_id: int

    @property
    def key(self) -> str:
        """Its name in memory: GitHub's number, which stays with it and is never given again."""
        return str(self.id)


class Fix(msgspec.Struct, frozen=True, kw_only=True, tag="fix.1"):
    """Repair what fails on the default branch, or on a pull request's head when `pull` is set.

    `number` is the issue or pull request of the request; `comment_id` its comment, 0 for the issue's own text.
    `body` is the issue's text at the trigger, by `author` (None where that is unknown), `comment` that of the comment.
    `commanded` is false for a new issue without a command; `guidance` is the text after the command.
    """

    repository: RepositoryRef
    actor: Actor
    number: int = msgspec.field(name="issue")
    pull: bool
    commanded: bool
    comment_id: int = 0
    body: str = ""
    author: Actor | None = None
    comment: str = ""
    head_sha: str = msgspec.field(name="sha", default="")
    guidance: str = ""


class ReviewPull(msgspec.Struct, frozen=True, kw_only=True, tag="review.1"):
    """Review pull request `number` at `head_sha` (looked up when empty: a command in a comment carries none).

    `pushed` says that it was pushed to, and was not only opened now; `retargeted` that it has another base branch now.
    """

    repository: RepositoryRef
    actor: Actor
    number: int
    head_sha: str = ""
    commanded: bool = False
    comment_id: int = 0
    pushed: bool = False
    retargeted: bool = False


class ReviewAgain(msgspec.Struct, frozen=True, kw_only=True, tag="again.1"):
    """A user asked for our checks on a commit again. The worker finds the pull requests: of a fork's the event names none."""

    repository: RepositoryRef
    actor: Actor
    head_sha: str


class SubjectKind(StrEnum):
    """The kinds of posts that a user can judge."""

    REVIEW_COMMENT = "review_comment"
    FIX_PULL = "fix_pull"
    CONVERSATION = "conversation"


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The post that feedback is about. `id` is a comment's id, or the number of a pull request or an issue."""

    kind: SubjectKind
    id: int


class Feedback(msgspec.Struct, frozen=True, kw_only=True, tag="feedback.2"):
    """A user judged something that Apprentice posted.

    `source` is unique to the event; `undone` retracts an earlier event with the same source. `number` is the issue or
    pull request with the verdict's comment; `head_sha` is what was merged of a fix.
    """

    repository: RepositoryRef
    actor: Actor
    kind: SignalKind
    subject: Subject
    source: str
    undone: bool = False
    note: str = ""
    number: int = 0
    head_sha: str = ""


class TrackPull(msgspec.Struct, frozen=True, kw_only=True, tag="track.1"):
    """A pull request got new commits or was closed: find the applied suggestions and reverted fixes, poll its reactions."""

    repository: RepositoryRef
    actor: Actor
    number: int
    head_sha: str
    closed: bool = False
    merged: bool = False


class StartCi(msgspec.Struct, frozen=True, kw_only=True, tag="ci.1"):
    """A person marked our draft as ready at `head_sha`: push its commit again without the mark that keeps CI from running."""

    repository: RepositoryRef
    actor: Actor
    number: int
    head_sha: str


POLLED_FOR = timedelta(days=30)
"""How long the reactions to a post are polled. Those on a pull request are read once more when it is closed."""


class PollReactions(msgspec.Struct, frozen=True, kw_only=True, tag="poll.1"):
    """Read the reactions to what we posted in a repository (GitHub has no webhook for them)."""

    repository: RepositoryRef


class RedeliverWebhooks(msgspec.Struct, frozen=True, kw_only=True, tag="reconcile.1"):
    """Find deliveries in GitHub's log that we did not store, and request them again (GitHub never redelivers by itself)."""


class ResumeInstallation(msgspec.Struct, frozen=True, kw_only=True, tag="resume.1"):
    """An installation of the App is no longer suspended: its jobs wait no more. It is no work of that installation's own."""

    installation: int


class LearnHistory(msgspec.Struct, frozen=True, kw_only=True, tag="learn.1"):
    """Read the unread part of the history of a repository's default branch."""

    repository: RepositoryRef


class CheckPolicy(msgspec.Struct, frozen=True, kw_only=True, tag="judge.1"):
    """Check in the ledger whether the current policy version does worse than another, and roll back if it does."""


class AnswerCommand(msgspec.Struct, frozen=True, kw_only=True, tag="answer.1"):
    """Reply to `why`, `help` or an invalid command.

    `number` is the issue or pull request, `thread` the first comment of the command's review thread, 0 elsewhere.
    `problem` describes an invalid command; `suggestion` is the nearest valid one.
    """

    repository: RepositoryRef
    actor: Actor
    number: int
    comment_id: int
    command: str
    argument: str = ""
    problem: str = ""
    suggestion: str = ""
    thread: int = 0


class AnswerQuestion(msgspec.Struct, frozen=True, kw_only=True, tag="question.1"):
    """Answer a question about the code at a pull request's head or on the default branch, or explain a finding.

    `thread` is the first comment of the question's review thread, 0 elsewhere. `title` and `body` are the issue's.
    """

    repository: RepositoryRef
    actor: Actor
    number: int
    comment_id: int
    explain: bool
    text: str
    on_pull: bool
    thread: int = 0
    title: str = ""
    body: str = ""


class LocateIssue(msgspec.Struct, frozen=True, kw_only=True, tag="locate.1"):
    """Say where an issue in words is likely to be: on command, or of a new issue where that is wanted and expected to help.

    `title` and `body` are the issue's at the trigger; `text` is what was written after the command.
    """

    repository: RepositoryRef
    actor: Actor
    number: int
    title: str
    body: str
    commanded: bool = False
    comment_id: int = 0
    text: str = ""


class ShareLearnings(msgspec.Struct, frozen=True, kw_only=True, tag="share.1"):
    """Propose a repository's learnings as a file in it; `number` is the issue or pull request with the command."""

    repository: RepositoryRef
    actor: Actor
    number: int
    comment_id: int


CommandedJob = Fix | ReviewPull | AnswerCommand | AnswerQuestion | LocateIssue | ShareLearnings
"""What a user may have asked for: its failure is reported to that user."""


class ReportFailure(msgspec.Struct, frozen=True, kw_only=True, tag="report.1"):
    """Tell the user who asked that a job failed, and why."""

    repository: RepositoryRef
    failed: CommandedJob
    reason: str


class RemoveDuplicate(msgspec.Struct, frozen=True, kw_only=True, tag="duplicate.1"):
    """Remove posts of ours with the marker of `key` beside the `kept` one: GitHub made them after our time-out.

    `review` says that it is a review; `thread` is the first comment of its thread, 0 elsewhere; `check` is the commit of
    a check run in progress.
    """

    repository: RepositoryRef
    number: int
    key: str
    kept: int
    review: bool = False
    thread: int = 0
    check: str = ""


RepositoryJob = (
    Fix
    | ReviewPull
    | ReviewAgain
    | Feedback
    | TrackPull
    | StartCi
    | PollReactions
    | AnswerCommand
    | AnswerQuestion
    | LocateIssue
    | ShareLearnings
    | LearnHistory
    | ReportFailure
    | RemoveDuplicate
)
"""Work on one repository."""

OwnJob = RedeliverWebhooks | CheckPolicy | ResumeInstallation
"""Work without a repository."""

Job = RepositoryJob | OwnJob

PRIORITIES: Mapping[type, Priority] = MappingProxyType(
    {
        AnswerCommand: Priority.QUICK,
        Feedback: Priority.QUICK,
        TrackPull: Priority.QUICK,
        StartCi: Priority.QUICK,
        ReviewAgain: Priority.QUICK,
        ResumeInstallation: Priority.QUICK,
        ReportFailure: Priority.QUICK,
        RemoveDuplicate: Priority.QUICK,
        AnswerQuestion: Priority.QUESTION,
        LocateIssue: Priority.QUESTION,
        ShareLearnings: Priority.QUESTION,
        ReviewPull: Priority.REVIEW,
        Fix: Priority.REPAIR,
        LearnHistory: Priority.BACKGROUND,
        PollReactions: Priority.BACKGROUND,
        RedeliverWebhooks: Priority.BACKGROUND,
        CheckPolicy: Priority.BACKGROUND,
    }
)
"""What is done first, if several kinds of jobs wait. QUICK ones run no code of a repository and ask no model."""

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder: msgspec.json.Decoder[Job] = msgspec.json.Decoder(Job)


def encode(job: Job) -> bytes:
    """Canonical JSON: equal jobs give equal bytes."""
    return _encoder.encode(job)


def decode(payload: bytes) -> Job:
    """The job in `payload`; raises msgspec.ValidationError for an unknown kind or version."""
    return _decoder.decode(payload)


def decodable(payloads: Iterable[bytes]) -> Iterator[Job]:
    """The jobs among `payloads` that this version knows; others were stored by an older or a newer one."""
    for payload in payloads:
        try:
            job = decode(payload)
        except msgspec.DecodeError:
            continue
        yield job


def job_id(delivery_id: str, payload: bytes) -> str:
    """One id for each job, by its JSON, of each delivery: a repeated delivery adds no jobs."""
    return hashlib.sha256(delivery_id.encode() + b"\0" + payload).hexdigest()[:32]
