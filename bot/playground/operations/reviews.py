"""Reviews, review comments and their threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.playground.errors import missing, unprocessable
from bot.playground.models import ActingAccount, HostedIssue, HostedReview, HostedThread, ReviewComment
from bot.playground.operations.anchors import Anchor, find_anchor
from bot.playground.operations.events import announce
from bot.playground.operations.issues import check_body
from bot.playground.payloads import pulls as shape
from bot.playground.payloads.pulls import pull_of
from bot.playground.world import World

_STATES = {"COMMENT": "COMMENTED", "APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftComment:
    """One comment of a review not yet sent. Either `line` or the old `position` says where."""

    path: str
    body: str
    side: str = "RIGHT"
    line: int | None = None
    start_line: int | None = None
    position: int | None = None


def submit_review(
    world: World,
    issue: HostedIssue,
    who: ActingAccount,
    *,
    sha: str,
    body: str,
    event: str,
    drafts: Sequence[DraftComment],
) -> HostedReview:
    """Create a review with all its comments, or none of it. `event` is COMMENT, APPROVE or REQUEST_CHANGES."""
    if event not in _STATES:
        raise unprocessable("Unprocessable Entity: event must be one of APPROVE, REQUEST_CHANGES, COMMENT")
    if event in ("COMMENT", "REQUEST_CHANGES") and not body.strip() and not (drafts and event == "COMMENT"):
        raise missing("PullRequestReview", "body")
    if event in ("APPROVE", "REQUEST_CHANGES") and who.user is issue.author:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise unprocessable(f"Review Can not {verb} your own pull request")
    at = sha or pull_of(issue).head_sha
    anchors = [_anchor(issue, at, draft) for draft in drafts]
    made = _add_review(world, issue, who, at, check_body("PullRequestReview", body), _STATES[event])
    comments = [_begin_thread(world, made, draft.body, anchor) for draft, anchor in zip(drafts, anchors, strict=True)]
    _tell_review(world, made, who, comments)
    return made


def _anchor(issue: HostedIssue, sha: str, draft: DraftComment) -> Anchor:
    if issue.repository.git.resolve(sha) is None:
        raise unprocessable("Unprocessable Entity: commit_id is not part of the pull request")
    if not draft.body.strip():
        raise missing("PullRequestReviewComment", "body")
    check_body("PullRequestReviewComment", draft.body)
    return find_anchor(
        issue,
        sha,
        draft.path,
        side=draft.side,
        line=draft.line,
        start_line=draft.start_line,
        position=draft.position,
    )


def _add_review(world: World, issue: HostedIssue, who: ActingAccount, sha: str, body: str, state: str) -> HostedReview:
    now = world.now()
    made = HostedReview(
        id=world.next_id("review"),
        issue=issue,
        author=who.user,
        body=body,
        state=state,
        sha=sha,
        submitted_at=now,
        updated_at=now,
    )
    world.reviews[made.id] = made
    pull_of(issue).reviews.append(made)
    issue.updated_at = now
    return made


def _begin_thread(world: World, review: HostedReview, body: str, anchor: Anchor) -> ReviewComment:
    thread = HostedThread(id=world.next_id("thread"), issue=review.issue)
    now = world.now()
    made = ReviewComment(
        id=world.next_id("review_comment"),
        thread=thread,
        review=review,
        author=review.author,
        body=body,
        path=anchor.path,
        side=anchor.side,
        start_line=anchor.start_line,
        line=anchor.line,
        original_start_line=anchor.start_line,
        original_line=anchor.line,
        position=anchor.position,
        original_position=anchor.position,
        sha=review.sha,
        original_sha=review.sha,
        hunk=anchor.hunk,
        created_at=now,
        updated_at=now,
    )
    thread.comments.append(made)
    world.threads[thread.id] = thread
    world.review_comments[made.id] = made
    pull_of(review.issue).threads.append(thread)
    return made


def add_comment(
    world: World, issue: HostedIssue, who: ActingAccount, *, sha: str, draft: DraftComment
) -> ReviewComment:
    """A single comment: a review of its own."""
    anchor = _anchor(issue, sha, draft)
    review = _add_review(world, issue, who, sha, "", "COMMENTED")
    made = _begin_thread(world, review, draft.body, anchor)
    _tell_review(world, review, who, [made])
    return made


def reply(world: World, answered: ReviewComment, who: ActingAccount, body: str) -> ReviewComment:
    """Answer in a thread; GitHub hangs every answer on the thread's first comment."""
    if not body.strip():
        raise missing("PullRequestReviewComment", "body")
    thread = answered.thread
    first = thread.comments[0]
    review = _add_review(world, thread.issue, who, first.original_sha, "", "COMMENTED")
    now = world.now()
    made = ReviewComment(
        id=world.next_id("review_comment"),
        thread=thread,
        review=review,
        author=who.user,
        body=check_body("PullRequestReviewComment", body),
        path=first.path,
        side=first.side,
        start_line=first.start_line,
        line=first.line,
        original_start_line=first.original_start_line,
        original_line=first.original_line,
        position=first.position,
        original_position=first.original_position,
        sha=first.sha,
        original_sha=first.original_sha,
        hunk=first.hunk,
        created_at=now,
        updated_at=now,
        reply_to=first.id,
    )
    thread.comments.append(made)
    world.review_comments[made.id] = made
    _tell_review(world, review, who, [made])
    return made


def comments_of(review: HostedReview) -> list[ReviewComment]:
    """The review's comments, oldest first."""
    return [each for thread in pull_of(review.issue).threads for each in thread.comments if each.review is review]


def set_resolved(world: World, thread: HostedThread, who: ActingAccount, *, resolved: bool) -> None:
    if (thread.resolved_by is not None) is resolved:
        return
    thread.resolved_by = who.user if resolved else None
    action = "resolved" if resolved else "unresolved"
    _tell(world, thread.issue, who, "pull_request_review_thread", action, thread=shape.thread(world, thread))


def _tell_review(world: World, made: HostedReview, who: ActingAccount, comments: Sequence[ReviewComment]) -> None:
    _tell(world, made.issue, who, "pull_request_review", "submitted", review=shape.review_event(world, made))
    for each in comments:
        _tell_comment(world, each, who, "created")


def _tell_comment(world: World, made: ReviewComment, who: ActingAccount, action: str, **parts: object) -> None:
    shown = shape.review_comment(world, made)
    _tell(world, made.thread.issue, who, "pull_request_review_comment", action, comment=shown, **parts)


def _tell(world: World, issue: HostedIssue, who: ActingAccount, event: str, action: str, **parts: object) -> None:
    shown = shape.simple_pull(world, issue)
    announce(world, issue.repository, who.user, event, action, pull_request=shown, **parts)
