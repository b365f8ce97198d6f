"""Webhook payloads, reduced to the fields that we read.

GitHub's payloads differ from their own schemas, so an unusable payload is `Ignored` instead of rejected.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from workers.errors import BadInput


class _Partial(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a JSON object; decoding skips all other fields."""


class EventUser(_Partial, frozen=True, kw_only=True):
    id: int
    login: str
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot"


class EventInstallation(_Partial, frozen=True, kw_only=True):
    id: int


class EventRepository(_Partial, frozen=True, kw_only=True):
    id: int
    full_name: str


class EventLabel(_Partial, frozen=True, kw_only=True):
    name: str = ""


class PullLink(_Partial, frozen=True, kw_only=True):
    """Present on the `issue` of a comment when that issue is a pull request."""

    url: str | None = None


class EventIssue(_Partial, frozen=True, kw_only=True):
    number: int
    title: str = ""
    body: str | None = None
    labels: tuple[EventLabel, ...] = ()
    pull_request: PullLink | None = None
    created_at: str = ""
    updated_at: str = ""


class EventComment(_Partial, frozen=True, kw_only=True):
    id: int
    body: str | None = None
    in_reply_to_id: int | None = None


class RepositoryId(_Partial, frozen=True, kw_only=True):
    id: int


class Ref(_Partial, frozen=True, kw_only=True):
    """One end of a pull request. `repo` is null when the fork was deleted."""

    sha: str
    ref: str = ""
    repo: RepositoryId | None = None


class EventPull(_Partial, frozen=True, kw_only=True):
    number: int
    head: Ref
    base: Ref
    title: str = ""
    body: str | None = None
    draft: bool = False
    merged: bool = False
    user: EventUser | None = None

    @property
    def from_fork(self) -> bool:
        """Whether the head is in another repository, or in a deleted one."""
        return self.head.repo is None or self.base.repo is None or self.head.repo.id != self.base.repo.id


class ReviewBody(_Partial, frozen=True, kw_only=True):
    id: int
    body: str | None = None


class EventThread(_Partial, frozen=True, kw_only=True):
    node_id: str
    comments: tuple[EventComment, ...] = ()


class EventCheckRun(_Partial, frozen=True, kw_only=True):
    id: int
    head_sha: str
    pull_requests: tuple[EventPull, ...] = ()


class PingEvent(_Partial, frozen=True, kw_only=True):
    """A user set up the App's webhook."""


class InstallationEvent(_Partial, frozen=True, kw_only=True):
    """A user installed the App on these repositories, or removed it."""

    action: str
    installation: EventInstallation
    sender: EventUser
    repositories: tuple[EventRepository, ...] = ()


class InstallationChangeEvent(_Partial, frozen=True, kw_only=True):
    """A user changed the repositories of the App."""

    action: str
    installation: EventInstallation
    sender: EventUser
    repositories_added: tuple[EventRepository, ...] = ()


class _RepositoryEvent(_Partial, frozen=True, kw_only=True):
    """Something happened in a repository. `installation` is absent when a plain repository webhook sent it."""

    repository: EventRepository
    sender: EventUser
    installation: EventInstallation | None = None


class PushEvent(_RepositoryEvent, frozen=True, kw_only=True):
    ref: str
    after: str


class IssueEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    issue: EventIssue
    label: EventLabel | None = None


class IssueCommentEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    issue: EventIssue
    comment: EventComment


class PullEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    pull_request: EventPull


class ReviewEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    review: ReviewBody
    pull_request: EventPull


class ReviewCommentEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    comment: EventComment
    pull_request: EventPull


class ReviewThreadEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    thread: EventThread
    pull_request: EventPull


class CheckRunEvent(_RepositoryEvent, frozen=True, kw_only=True):
    action: str
    check_run: EventCheckRun


RepositoryEvent = (
    PushEvent
    | IssueEvent
    | IssueCommentEvent
    | PullEvent
    | ReviewEvent
    | ReviewCommentEvent
    | ReviewThreadEvent
    | CheckRunEvent
)
Event = PingEvent | InstallationEvent | InstallationChangeEvent | RepositoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A delivery that the App does not use, and the reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """How to decode one event; `actions` are those that we act on, empty for all of them."""

    decoder: msgspec.json.Decoder[Event]
    actions: frozenset[str] = frozenset()


class _Envelope(_Partial, frozen=True, kw_only=True):
    action: str = ""


def _reader(kind: type[Event], *actions: str) -> _Reader:
    return _Reader(decoder=msgspec.json.Decoder(kind), actions=frozenset(actions))


_READERS = {
    "ping": _reader(PingEvent),
    "installation": _reader(InstallationEvent),
    "installation_repositories": _reader(InstallationChangeEvent),
    "push": _reader(PushEvent),
    "issues": _reader(IssueEvent, "opened", "labeled"),
    "issue_comment": _reader(IssueCommentEvent, "created"),
    "pull_request": _reader(PullEvent, "opened", "reopened", "synchronize", "ready_for_review", "closed"),
    "pull_request_review": _reader(ReviewEvent, "submitted"),
    "pull_request_review_comment": _reader(ReviewCommentEvent, "created"),
    "pull_request_review_thread": _reader(ReviewThreadEvent, "resolved", "unresolved"),
    "check_run": _reader(CheckRunEvent, "rerequested"),
}
KNOWN = frozenset(_READERS)
_envelope = msgspec.json.Decoder(_Envelope)
_syntax = msgspec.json.Decoder()


def parse(name: str, raw: bytes) -> Event | Ignored:
    """The event `name` (X-GitHub-Event) in `raw`; raises BadInput when `raw` is not JSON at all."""
    reader = _READERS.get(name)
    if reader is None:
        _check_syntax(raw)
        return Ignored(reason=f"event {name[:60]!r} is not one that we act on")
    try:
        return _read(name, reader, raw)
    except msgspec.ValidationError as error:
        _check_syntax(raw)
        return Ignored(reason=f"{name} payload cannot be used: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_json(error) from error


def _read(name: str, reader: _Reader, raw: bytes) -> Event | Ignored:
    if reader.actions:
        action = _envelope.decode(raw).action
        if action not in reader.actions:
            return Ignored(reason=f"{name}.{action[:60]} is not an action that we act on")
    return reader.decoder.decode(raw)


def _check_syntax(raw: bytes) -> None:
    try:
        _syntax.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _not_json(error) from error


def _not_json(error: Exception) -> BadInput:
    return BadInput(f"the body is not JSON: {error}; the webhook's content type must be application/json")
