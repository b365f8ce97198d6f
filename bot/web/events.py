"""Webhook payloads, reduced to the fields that we read.

GitHub's payloads differ from their own schemas, so an unusable payload is `Ignored` instead of rejected.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from memory.model import Actor
from workers.errors import BadInput
from workers.jobs import ACTED_ON


class _Partial(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a JSON object; decoding skips all other fields."""


class _Envelope(_Partial, frozen=True, kw_only=True):
    action: str = ""


class EventUser(_Partial, frozen=True, kw_only=True):
    id: int
    login: str
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot"

    @property
    def actor(self) -> Actor:
        return Actor(id=self.id, login=self.login, is_bot=self.is_bot)


class NumericId(_Partial, frozen=True, kw_only=True):
    """An installation or a repository of which only the id counts."""

    id: int


class EventRepository(_Partial, frozen=True, kw_only=True):
    id: int
    full_name: str


class EventLabel(_Partial, frozen=True, kw_only=True):
    name: str = ""


class PullLink(_Partial, frozen=True, kw_only=True):
    """Present on the `issue` of a comment when that issue is a pull request."""


class EventIssue(_Partial, frozen=True, kw_only=True):
    number: int
    title: str = ""
    body: str | None = None
    user: EventUser | None = None
    labels: tuple[EventLabel, ...] = ()
    pull_request: PullLink | None = None
    created_at: str = ""
    updated_at: str = ""


class EventReview(_Partial, frozen=True, kw_only=True):
    id: int
    body: str | None = None


class EventComment(EventReview, frozen=True, kw_only=True):
    in_reply_to_id: int | None = None


class Ref(_Partial, frozen=True, kw_only=True):
    """One end of a pull request. `repo` is null when the fork was deleted."""

    sha: str
    ref: str = ""
    repo: NumericId | None = None


class EventPull(_Partial, frozen=True, kw_only=True):
    number: int
    head: Ref
    base: Ref
    title: str = ""
    body: str | None = None
    merged: bool = False
    user: EventUser | None = None

    @property
    def from_fork(self) -> bool:
        """Whether the head is in another repository, or in a deleted one."""
        return self.head.repo is None or self.base.repo is None or self.head.repo.id != self.base.repo.id


class TextBefore(_Partial, frozen=True, kw_only=True):
    text: str | None = msgspec.field(name="from", default=None)


class EventChanges(_Partial, frozen=True, kw_only=True):
    """What an edit changed; nothing of the body when the text stayed."""

    body: TextBefore = TextBefore()


class PullChanges(EventChanges, frozen=True, kw_only=True):
    """The same of a pull request; nothing of the base when its branch stayed."""

    base: _Partial | None = None


class EventThread(_Partial, frozen=True, kw_only=True):
    node_id: str
    comments: tuple[EventComment, ...] = ()


class EventCheck(_Partial, frozen=True, kw_only=True):
    """A check run, or all of an App's on a commit."""

    head_sha: str


class PingEvent(_Envelope, frozen=True, kw_only=True):
    """A user set up the App's webhook."""


class InstallationEvent(_Partial, frozen=True, kw_only=True):
    """A user installed the App on these repositories, or removed it."""

    action: str
    installation: NumericId
    repositories: tuple[EventRepository, ...] = ()


class InstallationChangeEvent(_Partial, frozen=True, kw_only=True):
    """A user changed the repositories of the App."""

    action: str
    installation: NumericId
    repositories_added: tuple[EventRepository, ...] = ()


class _RepositoryEvent(_Partial, frozen=True, kw_only=True):
    """Something happened in a repository. `installation` is absent when a plain repository webhook sent it."""

    repository: EventRepository
    sender: EventUser
    action: str
    installation: NumericId | None = None


class IssueEvent(_RepositoryEvent, frozen=True, kw_only=True):
    issue: EventIssue
    label: EventLabel | None = None
    changes: EventChanges = EventChanges()


class IssueCommentEvent(_RepositoryEvent, frozen=True, kw_only=True):
    issue: EventIssue
    comment: EventComment
    changes: EventChanges = EventChanges()


class PullEvent(_RepositoryEvent, frozen=True, kw_only=True):
    pull_request: EventPull
    changes: PullChanges = PullChanges()


class ReviewEvent(_RepositoryEvent, frozen=True, kw_only=True):
    review: EventReview
    pull_request: EventPull
    changes: EventChanges = EventChanges()


class ReviewCommentEvent(_RepositoryEvent, frozen=True, kw_only=True):
    comment: EventComment
    pull_request: EventPull
    changes: EventChanges = EventChanges()


class ReviewThreadEvent(_RepositoryEvent, frozen=True, kw_only=True):
    thread: EventThread


class CheckRunEvent(_RepositoryEvent, frozen=True, kw_only=True):
    check: EventCheck = msgspec.field(name="check_run")


class CheckSuiteEvent(_RepositoryEvent, frozen=True, kw_only=True):
    check: EventCheck = msgspec.field(name="check_suite")


RepositoryEvent = (
    IssueEvent
    | IssueCommentEvent
    | PullEvent
    | ReviewEvent
    | ReviewCommentEvent
    | ReviewThreadEvent
    | CheckRunEvent
    | CheckSuiteEvent
)
Event = PingEvent | InstallationEvent | InstallationChangeEvent | RepositoryEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A delivery that the App does not use, and the reason."""

    reason: str


_TYPES: Mapping[str, type[Event]] = {
    "ping": PingEvent,
    "installation": InstallationEvent,
    "installation_repositories": InstallationChangeEvent,
    "issues": IssueEvent,
    "issue_comment": IssueCommentEvent,
    "pull_request": PullEvent,
    "pull_request_review": ReviewEvent,
    "pull_request_review_comment": ReviewCommentEvent,
    "pull_request_review_thread": ReviewThreadEvent,
    "check_run": CheckRunEvent,
    "check_suite": CheckSuiteEvent,
}

_READ: Mapping[str, tuple[type[Event], frozenset[str]]] = {
    name: (_TYPES[name], actions) for name, actions in ACTED_ON.items()
}
"""The type of each event that we read, and the actions that we act on, empty for all of them."""

KNOWN = frozenset(_READ)

SENT_UNASKED = frozenset({"ping", "installation", "installation_repositories", "check_suite"})
"""GitHub sends these without a subscription: the last one to each App that may write checks."""

MAY_REPEAT = frozenset({"check_run", "check_suite", "installation_repositories", "pull_request_review_thread"})
"""Events without a new id or a time of their own: two genuine bodies can be equal, byte for byte."""


def parse(name: str, raw: bytes | bytearray) -> Event | Ignored:
    """The event `name` (X-GitHub-Event) in `raw`; raises BadInput when `raw` is not JSON, or nested too deeply."""
    try:
        return _read(name, raw)
    except RecursionError as error:
        raise BadInput("the body is nested too deeply to be read; GitHub sends no such body") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        advice = "the webhook's content type must be application/json"
        raise BadInput(f"the body is not JSON: {error}; {advice}") from error


def _read(name: str, raw: bytes | bytearray) -> Event | Ignored:
    if name not in _READ:
        msgspec.json.decode(raw, type=msgspec.Raw)
        return Ignored(reason=f"event {name[:60]!r} is not one that we act on")
    kind, actions = _READ[name]
    try:
        event = msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        msgspec.json.decode(raw, type=msgspec.Raw)  # a wrong type is found before a syntax error behind it
        return _other_action(name, raw) or Ignored(reason=f"{name} payload cannot be used: {error}")
    return event if not actions or event.action in actions else _not_acted_on(name, event.action)


def _other_action(name: str, raw: bytes | bytearray) -> Ignored | None:
    """Ignored, where a payload that cannot be used is about an action that we do not act on."""
    _, actions = _READ[name]
    try:
        action = msgspec.json.decode(raw, type=_Envelope).action
    except msgspec.ValidationError:
        return None
    return _not_acted_on(name, action) if actions and action not in actions else None


def _not_acted_on(name: str, action: str) -> Ignored:
    return Ignored(reason=f"{name}.{action[:60]} is not an action that we act on")
