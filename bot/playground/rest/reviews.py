"""Reviews and review comments."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import missing, not_found
from bot.playground.models import HostedReview, ReviewComment
from bot.playground.operations import reviews as act
from bot.playground.payloads import pulls as shape
from bot.playground.payloads.pulls import pull_of
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write")


def _draft(call: ApiCall) -> act.DraftComment:
    return act.DraftComment(
        path=call.text("path"),
        body=call.text("body"),
        side=call.text("side", "RIGHT"),
        line=call.integer("line"),
        start_line=call.integer("start_line"),
        position=call.integer("position"),
    )


def _review(call: ApiCall) -> HostedReview:
    found = call.world.reviews.get(int(call.path["review_id"]))
    if found is None or found.issue is not call.pull:
        raise not_found()
    return found


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/reviews", WRITE)
def create_review(call: ApiCall) -> ApiAnswer:
    made = act.submit_review(
        call.world,
        call.pull,
        call.who,
        sha=call.text("commit_id"),
        body=call.text("body"),
        event=call.text("event"),
        drafts=[_draft(call.inner(each)) for each in call.items("comments")],
    )
    return ApiAnswer(body=shape.review(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/reviews", READ)
def list_reviews(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=[shape.review(call.world, each) for each in pull_of(call.pull).reviews])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/reviews/{review_id:int}/comments", READ)
def list_comments_of_review(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=[shape.review_list_comment(call.world, each) for each in act.comments_of(_review(call))])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/comments", READ)
def list_comments(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=[shape.review_comment(call.world, each) for each in _comments_of(call, [call.pull.number])])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/comments", READ)
def list_repository_comments(call: ApiCall) -> ApiAnswer:
    found = _comments_of(call, list(call.repository.issues))
    if call.query.get("sort") and call.query.get("direction") == "desc":
        found.reverse()
    return ApiAnswer(body=[shape.review_comment(call.world, each) for each in found])


def _comments_of(call: ApiCall, numbers: list[int]) -> list[ReviewComment]:
    """The comments of these pull requests, oldest first."""
    pulls = [call.repository.issues[number].pull for number in numbers]
    found = [each for pull in pulls if pull for thread in pull.threads for each in thread.comments]
    return sorted(found, key=lambda each: each.id)


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/comments", WRITE)
def create_comment(call: ApiCall) -> ApiAnswer:
    """A new thread, or an answer where `in_reply_to` says so."""
    answered = call.integer("in_reply_to")
    if answered is not None:
        made = act.reply(call.world, _answered(call, answered), call.who, call.text("body"))
    else:
        if not call.text("commit_id"):
            raise missing("PullRequestReviewComment", "commit_id")
        made = act.add_comment(call.world, call.pull, call.who, sha=call.text("commit_id"), draft=_draft(call))
    return ApiAnswer(status=201, body=shape.review_comment(call.world, made))


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/comments/{comment_id:int}/replies", WRITE)
def create_reply(call: ApiCall) -> ApiAnswer:
    made = act.reply(call.world, _answered(call, int(call.path["comment_id"])), call.who, call.text("body"))
    return ApiAnswer(status=201, body=shape.review_comment(call.world, made))


def _answered(call: ApiCall, number: int) -> ReviewComment:
    found = call.world.review_comment(call.repository, number)
    if found.thread.issue is not call.pull:
        raise not_found()
    return found


def _comment(call: ApiCall) -> ReviewComment:
    return call.world.review_comment(call.repository, int(call.path["comment_id"]))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/comments/{comment_id:int}", READ)
def get_comment(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=shape.review_comment(call.world, _comment(call)))
