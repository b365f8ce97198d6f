"""Turns an event into jobs. Pure: a job holds only values from the event.

The workers check permissions when they run the job. Bot accounts, our own included, give no commands and no feedback.
"""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from bot.web.commands import Origin, PostedText, answers_to_edit, fix_of, jobs_from_commands, locate_of, review_of
from bot.web.events import (
    CheckRunEvent,
    CheckSuiteEvent,
    Event,
    EventIssue,
    EventLabel,
    EventPull,
    EventRepository,
    InstallationChangeEvent,
    InstallationEvent,
    IssueCommentEvent,
    IssueEvent,
    NumericId,
    PingEvent,
    PullEvent,
    RepositoryEvent,
    ReviewCommentEvent,
    ReviewEvent,
    ReviewThreadEvent,
)
from memory.model import SignalKind
from workers.jobs import (
    Feedback,
    Fix,
    Job,
    LearnHistory,
    LocateIssue,
    RepositoryRef,
    ResumeInstallation,
    ReviewAgain,
    ReviewPull,
    StartCi,
    Subject,
    SubjectKind,
    TrackPull,
)

BRANCH_PREFIX = "apprentice/"
TextEvent = IssueEvent | IssueCommentEvent | PullEvent | ReviewEvent | ReviewCommentEvent
_REVIEWED_ON = frozenset({"opened", "ready_for_review", "reopened", "synchronize"})
"""The worker knows which are our own, and which the repository wants reviewed: drafts are not, unless it says so."""


def jobs_for(event: Event, *, bot_name: str, trigger_label: str) -> tuple[Job, ...]:
    """The jobs of `event`, in order, each once."""
    if isinstance(event, InstallationEvent) and event.action == "unsuspend":
        return (ResumeInstallation(installation=event.installation.id),)
    if isinstance(event, InstallationEvent):
        return _learned(event.repositories if event.action == "created" else (), event.installation)
    if isinstance(event, InstallationChangeEvent):
        return _learned(event.repositories_added, event.installation)
    if isinstance(event, PingEvent) or event.installation is None:
        return ()
    origin = Origin(
        repository=RepositoryRef(
            id=event.repository.id, full_name=event.repository.full_name, installation_id=event.installation.id
        ),
        actor=event.sender.actor,
        bot_name=bot_name,
    )
    return tuple(dict.fromkeys(_jobs(event, origin, trigger_label)))


def _learned(added: Iterable[EventRepository], installation: NumericId) -> tuple[Job, ...]:
    """Learn from the history of each added repository before the first post there."""
    new = (RepositoryRef(id=each.id, full_name=each.full_name, installation_id=installation.id) for each in added)
    return tuple(dict.fromkeys(LearnHistory(repository=ref) for ref in new))


def _jobs(event: RepositoryEvent, origin: Origin, trigger_label: str) -> tuple[Job, ...]:
    match event:
        case PullEvent():
            return _on_pull(event, origin)
        case CheckRunEvent() | CheckSuiteEvent():  # GitHub sends `rerequested` only to the App whose check it is
            return (ReviewAgain(**origin.who, head_sha=event.check.head_sha),)
        case _ if origin.actor.is_bot:
            return ()
        case IssueEvent() if event.action != "edited":
            return _on_issue(event, origin, trigger_label)
        case IssueEvent():
            return _on_text(event, _issue_text(event.issue), origin)
        case IssueCommentEvent():
            return _on_text(event, _issue_comment(event), origin)
        case ReviewEvent():
            return _on_text(event, _review_body(event), origin)
        case ReviewCommentEvent():
            return _on_text(event, _review_comment(event), origin)
        case ReviewThreadEvent():
            return _on_thread(event, origin)


def _on_issue(event: IssueEvent, origin: Origin, trigger_label: str) -> tuple[Job, ...]:
    """Check a new issue for a failing test, or else look for its place; always fix one with the trigger label or a command."""
    issue = event.issue
    if event.action == "opened" and issue.user:  # of one from another repository the sender is who transferred it
        origin = replace(origin, actor=issue.user.actor)
    labelled = any(label.name.casefold() == trigger_label.casefold() for label in _labels(event))
    fix = structs.replace(fix_of(_issue_text(issue), origin), commanded=labelled)
    if event.action == "labeled":
        return (fix,) if labelled and not _opened_with_label(event) else ()
    asked = jobs_from_commands(_issue_text(issue), origin)
    if any(isinstance(job, Fix) for job in asked):
        return asked
    words = not labelled and not any(isinstance(job, LocateIssue) for job in asked)
    return (fix, *((locate_of(_issue_text(issue), origin, commanded=False),) if words else ()), *asked)


def _issue_text(issue: EventIssue) -> PostedText:
    return PostedText(
        text=issue.body or "",
        number=issue.number,
        comment_id=0,
        title=issue.title,
        context=issue.body or "",
        author=issue.user.actor if issue.user else None,
    )


def _labels(event: IssueEvent) -> tuple[EventLabel, ...]:
    return ((event.label,) if event.label else ()) if event.action == "labeled" else event.issue.labels


def _opened_with_label(event: IssueEvent) -> bool:
    """GitHub sends `opened` and `labeled` for an issue that is opened with a label; the first event suffices."""
    return bool(event.issue.created_at) and event.issue.created_at == event.issue.updated_at


def _on_text(event: TextEvent, posted: PostedText, origin: Origin) -> tuple[Job, ...]:
    """What a new text commands, or an answer where an edit brought a command in."""
    if event.action == "edited":
        return answers_to_edit(posted, event.changes.body.text, origin)
    return jobs_from_commands(posted, origin)


def _issue_comment(event: IssueCommentEvent) -> PostedText:
    return replace(
        _issue_text(event.issue),
        text=event.comment.body or "",
        comment_id=event.comment.id,
        on_pull=event.issue.pull_request is not None,
        subject=Subject(kind=SubjectKind.CONVERSATION, id=event.issue.number),
        source=f"issue-comment:{event.comment.id}",
    )


def _pull_text(pull: EventPull, text: str | None, comment_id: int = 0) -> PostedText:
    return PostedText(
        text=text or "", number=pull.number, comment_id=comment_id, title=pull.title, on_pull=True, pull=pull
    )


def _review_body(event: ReviewEvent) -> PostedText:
    return replace(
        _pull_text(event.pull_request, event.review.body, event.review.id),
        subject=Subject(kind=SubjectKind.CONVERSATION, id=event.pull_request.number),
        source=f"review:{event.review.id}",
    )


def _review_comment(event: ReviewCommentEvent) -> PostedText:
    parent = event.comment.in_reply_to_id
    return replace(
        _pull_text(event.pull_request, event.comment.body, event.comment.id),
        subject=Subject(kind=SubjectKind.REVIEW_COMMENT, id=parent) if parent else None,
        source=f"comment:{event.comment.id}",
        thread=parent or event.comment.id,
    )


def _on_pull(event: PullEvent, origin: Origin) -> tuple[Job, ...]:
    asked = _commands_in_description(event, origin)
    if event.action == "edited":
        again = structs.replace(review_of(event.pull_request, origin), retargeted=True)
        return (again, *asked) if event.changes.base else asked
    ours = _on_our_pull(event, origin) if _may_be_ours(event.pull_request) else ()
    reviews = event.action in _REVIEWED_ON and not any(isinstance(job, ReviewPull) for job in asked)
    review = review_of(event.pull_request, origin, pushed=event.action == "synchronize")
    return (_track(event, origin), *ours, *((review,) if reviews else ()), *asked)


def _commands_in_description(event: PullEvent, origin: Origin) -> tuple[Job, ...]:
    pull = event.pull_request
    if event.action not in ("opened", "edited") or origin.actor.is_bot or not pull.body:
        return ()
    posted = replace(_pull_text(pull, pull.body), author=pull.user.actor if pull.user else None)
    return _on_text(event, posted, origin)


def _may_be_ours(pull: EventPull) -> bool:
    """Whether an App opened it from a branch of such a name; the worker knows our account and our posts."""
    by_bot = pull.user is not None and pull.user.is_bot
    return by_bot and not pull.from_fork and pull.head.ref.startswith(BRANCH_PREFIX)


def _track(event: PullEvent, origin: Origin) -> TrackPull:
    pull = event.pull_request
    return TrackPull(
        **origin.who,
        number=pull.number,
        head_sha=pull.head.sha,
        closed=event.action == "closed",
        merged=event.action == "closed" and pull.merged,
    )


def _on_our_pull(event: PullEvent, origin: Origin) -> tuple[Job, ...]:
    """Merging or closing a fix of ours judges it; reopening it retracts the closing. One that is ready gets its CI.

    A bot has no opinion of it, but may do what users ask for: the worker looks at what became of the code.
    """
    pull = event.pull_request
    if event.action == "ready_for_review" and not origin.actor.is_bot:
        return (StartCi(**origin.who, number=pull.number, head_sha=pull.head.sha),)
    if event.action not in ("closed", "reopened"):
        return ()
    verdict = Feedback(
        **origin.who,
        kind=SignalKind.FIX_MERGED if pull.merged else SignalKind.FIX_CLOSED,
        subject=Subject(kind=SubjectKind.FIX_PULL, id=pull.number),
        source=f"pull:{pull.number}",
        head_sha=pull.head.sha if pull.merged else "",
        undone=event.action == "reopened",
    )
    return (verdict,)


def _on_thread(event: ReviewThreadEvent, origin: Origin) -> tuple[Job, ...]:
    if not event.thread.comments:
        return ()
    resolved = Feedback(
        **origin.who,
        kind=SignalKind.THREAD_RESOLVED,
        subject=Subject(kind=SubjectKind.REVIEW_COMMENT, id=event.thread.comments[0].id),
        source=f"thread:{event.thread.node_id}",
        undone=event.action == "unresolved",
    )
    return (resolved,)
