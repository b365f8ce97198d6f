"""Reviews, review comments and their threads; the lines of a diff that comments refer to, and how a push moves them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import ApiError, invalid, not_found, unprocessable
from bot.playground.issues import CommentBody, checked_text, must_own
from bot.playground.models import ActingAccount, Anchor, HostedPull, HostedReview, HostedThread, ReviewComment
from bot.playground.payloads import JsonObject, review, review_comment, review_event, simple_pull, thread
from bot.playground.webhooks import announce
from bot.playground.world import World, with_id

_STATES = {"COMMENT": "COMMENTED", "APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}
COMMENT = "PullRequestReviewComment"
_NOT_LISTED = {"start_line", "original_start_line", "start_side", "line", "original_line", "side", "subject_type"}
routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write")


class DraftComment(Struct):
    """One comment of a review not yet sent. Lines are those of the new file: Apprentice comments on no removed line."""

    path: str = ""
    body: str | None = None
    side: Literal["RIGHT"] = "RIGHT"
    line: int | None = None
    start_line: int | None = None


class _ReviewBody(Struct):
    event: str = ""
    body: str | None = None
    commit_id: str | None = None
    comments: tuple[DraftComment, ...] = ()


# Reviews.


@routes.on("POST", "{repository}/pulls/{number:int}/reviews", WRITE)
def create_review(call: ApiCall) -> JsonObject:
    """Create a review with all its comments, or none of it."""
    pull, who, wanted = call.pull, call.who, call.read(_ReviewBody)
    event, drafts = wanted.event, wanted.comments
    if event not in _STATES:
        raise unprocessable("Unprocessable Entity: event must be one of APPROVE, REQUEST_CHANGES, COMMENT")
    needs_body = event == "REQUEST_CHANGES" or (event == "COMMENT" and not drafts)
    body = checked_text("PullRequestReview", wanted.body, required=needs_body)
    if event in ("APPROVE", "REQUEST_CHANGES") and who.user is pull.author:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise unprocessable(f"Review Can not {verb} your own pull request")
    sha = wanted.commit_id or pull.head_sha
    anchors = [anchor_of(pull, sha, draft) for draft in drafts]
    made = add_review(call.world, pull, who, sha, body, _STATES[event])
    comments = [
        begin_thread(call.world, made, draft.body or "", anchor) for draft, anchor in zip(drafts, anchors, strict=True)
    ]
    announce_review(call.world, made, who, comments)
    return review(call.world, made)


def add_review(world: World, pull: HostedPull, who: ActingAccount, sha: str, body: str, state: str) -> HostedReview:
    now = world.now()
    made = HostedReview(
        id=world.next_id(), pull=pull, author=who.user, body=body, state=state, sha=sha, submitted_at=now
    )
    pull.reviews.append(made)
    pull.updated_at = now
    return made


@routes.on("GET", "{repository}/pulls/{number:int}/reviews", READ)
def list_reviews(call: ApiCall) -> list[JsonObject]:
    return [review(call.world, each) for each in call.pull.reviews]


@routes.on("GET", "{repository}/pulls/{number:int}/reviews/{review_id:int}/comments", READ)
def list_comments_of_review(call: ApiCall) -> list[JsonObject]:
    """The comments without their lines, with positions alone, as on GitHub."""
    made = with_id(int(call.path["review_id"]), call.pull.reviews)
    shown = [review_comment(call.world, each) for each in comments_of([made.pull]) if each.review is made]
    return [{key: value for key, value in each.items() if key not in _NOT_LISTED} for each in shown]


@routes.on("PUT", "{repository}/pulls/{number:int}/reviews/{review_id:int}", WRITE)
def edit_review(call: ApiCall) -> JsonObject:
    made = with_id(int(call.path["review_id"]), call.pull.reviews)
    must_own(call, made.author)
    made.body = checked_text("PullRequestReview", call.read(CommentBody).body, required=True)
    return review(call.world, made)


# Review comments.


@routes.on("DELETE", "{repository}/pulls/comments/{review_comment_id:int}", WRITE, status=204)
def delete_review_comment(call: ApiCall) -> None:
    gone = call.world.review_comment(call.repository, int(call.path["review_comment_id"]))
    must_own(call, gone.author)
    gone.thread.comments.remove(gone)
    if not gone.thread.comments:
        gone.thread.pull.threads.remove(gone.thread)


def begin_thread(world: World, made: HostedReview, body: str, anchor: Anchor) -> ReviewComment:
    begun = HostedThread(id=world.next_id(), pull=made.pull)
    made.pull.threads.append(begun)
    return _add_to_thread(world, begun, made, body, anchor)


def _add_to_thread(world: World, begun: HostedThread, made: HostedReview, body: str, anchor: Anchor) -> ReviewComment:
    first = begun.comments[0] if begun.comments else None
    added = ReviewComment(
        id=world.next_id(),
        thread=begun,
        review=made,
        author=made.author,
        body=body,
        original=anchor,
        original_sha=made.sha,
        sha=first.sha if first else made.sha,
        start_line=first.start_line if first else anchor.start_line,
        line=first.line if first else anchor.line,
        position=first.position if first else anchor.position,
        created_at=made.submitted_at,
        reply_to=first.id if first else None,
    )
    begun.comments.append(added)
    return added


def reply_to(call: ApiCall, answered_id: int, text: str | None) -> JsonObject:
    """Answer in a thread; every answer refers to the thread's first comment, as on GitHub."""
    answered = call.world.review_comment(call.repository, answered_id)
    begun, first = answered.thread, answered.thread.comments[0]
    if begun.pull is not call.pull:
        raise not_found()
    body = checked_text(COMMENT, text, required=True)
    made = add_review(call.world, begun.pull, call.who, first.original_sha, "", "COMMENTED")
    added = _add_to_thread(call.world, begun, made, body, first.original)
    announce_review(call.world, made, call.who, [added])
    return review_comment(call.world, added)


@routes.on("POST", "{repository}/pulls/{number:int}/comments/{comment_id:int}/replies", WRITE, status=201)
def create_reply(call: ApiCall) -> JsonObject:
    return reply_to(call, int(call.path["comment_id"]), call.read(CommentBody).body)


@routes.on("GET", "{repository}/pulls/{number:int}/comments", READ)
def list_comments(call: ApiCall) -> list[JsonObject]:
    return [review_comment(call.world, each) for each in comments_of([call.pull])]


def comments_of(pulls: Sequence[HostedPull]) -> list[ReviewComment]:
    """The comments of these pull requests, oldest first."""
    found = [each for pull in pulls for begun in pull.threads for each in begun.comments]
    return sorted(found, key=lambda each: each.id)


# Threads and their events.


def set_resolved(world: World, made: HostedThread, who: ActingAccount, *, resolved: bool) -> None:
    if (made.resolved_by is not None) is resolved:
        return
    made.resolved_by = who.user if resolved else None
    action = "resolved" if resolved else "unresolved"
    _announce(world, made.pull, who, "pull_request_review_thread", action, thread=thread(world, made))


def announce_review(world: World, made: HostedReview, who: ActingAccount, comments: Sequence[ReviewComment]) -> None:
    _announce(world, made.pull, who, "pull_request_review", "submitted", review=review_event(world, made))
    for each in comments:
        shown = review_comment(world, each)
        _announce(world, made.pull, who, "pull_request_review_comment", "created", comment=shown)


def _announce(world: World, pull: HostedPull, who: ActingAccount, event: str, action: str, **parts: object) -> None:
    shown = simple_pull(world, pull)
    announce(world, pull.repository, who.user, event, action, pull_request=shown, **parts)


_HEADER = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a patch. `number` is its number in the new file, None for a removed line."""

    hunk: int
    position: int
    number: int | None


def diff_lines(patch: str) -> list[DiffLine]:
    """The lines of one file's patch."""
    found: list[DiffLine] = []
    hunk, number = -1, 0
    for position, text in enumerate(patch.split("\n") if patch else ()):
        header = _HEADER.match(text)
        if header:
            hunk, number = hunk + 1, int(header[1])
        elif text.startswith("-"):
            found.append(DiffLine(hunk=hunk, position=position, number=None))
        elif not text.startswith("\\"):
            found.append(DiffLine(hunk=hunk, position=position, number=number))
            number += 1
    return found


def _patch(pull: HostedPull, sha: str, path: str) -> str | None:
    """The file's patch in the pull request's diff at `sha`; None when the file is not part of it."""
    bare = pull.repository.git
    start = bare.merge_base(pull.base_sha, sha) or pull.base_sha
    return bare.patch(start, sha, path)


def anchor_of(pull: HostedPull, sha: str, draft: DraftComment) -> Anchor:
    """The place that a comment names; ApiError 422 when it is outside the diff, in GitHub's words."""
    if pull.repository.git.resolve(sha) is None:
        raise unprocessable("Unprocessable Entity: commit_id is not part of the pull request")
    checked_text(COMMENT, draft.body, required=True)
    patch = _patch(pull, sha, draft.path)
    if patch is None:
        raise _refused("path", "is invalid")
    lines = diff_lines(patch)
    last = _at(lines, draft.line)
    if last is None or draft.line is None:
        raise _refused("line", "must be part of the diff")
    if draft.start_line is not None:
        _check_start(lines, draft.start_line, draft.line, last)
    return Anchor(
        path=draft.path, start_line=draft.start_line, line=draft.line, position=last.position, hunk=_hunk(patch, last)
    )


def _at(lines: Sequence[DiffLine], number: int | None) -> DiffLine | None:
    return next((each for each in lines if each.number is not None and each.number == number), None)


def _check_start(lines: Sequence[DiffLine], start: int, end: int, last: DiffLine) -> None:
    first = _at(lines, start)
    if start >= end:
        raise _refused("start_line", "must precede the end line.")
    if first is None or first.hunk != last.hunk:
        raise _refused("start_line", "must be part of the same hunk as the line.")


def _refused(name: str, problem: str) -> ApiError:
    field = f"pull_request_review_thread.{name}"
    return invalid("PullRequestReviewComment", field, message=f"{field} {problem}")


def _hunk(patch: str, at: DiffLine) -> str:
    """The hunk up to the line that the comment refers to."""
    lines = patch.split("\n")[: at.position + 1]
    begin = max(index for index, text in enumerate(lines) if _HEADER.match(text))
    return "\n".join(lines[begin:])


def carry_over(pull: HostedPull) -> None:
    """After a push: move each comment to where its lines are now, or mark it outdated."""
    for made in comments_of([pull]):
        if made.line is not None:
            _move(pull, made, made.line)


def _move(pull: HostedPull, made: ReviewComment, line: int) -> None:
    bare, start, head, path = pull.repository.git, made.start_line, pull.head_sha, made.original.path
    moved = shift(bare.lines(made.sha, path), bare.lines(head, path), start or line, line)
    at = None if moved is None else _at(diff_lines(_patch(pull, head, path) or ""), line + moved)
    if at is None or moved is None:
        made.line = made.start_line = made.position = None
        return
    made.sha, made.position, made.line = head, at.position, line + moved
    made.start_line = start + moved if start is not None else None


def shift(old: Sequence[str], new: Sequence[str], first: int, last: int) -> int | None:
    """By how much lines `first`..`last` of `old` moved; None when one of them changed."""
    for same in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if same.a < first and last <= same.a + same.size:
            return same.b - same.a
    return None
