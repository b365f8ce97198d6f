"""Reviews and review comments."""

from __future__ import annotations

from bot.playground.accounts import Role
from bot.playground.acts import reviews as act
from bot.playground.auth import Needs
from bot.playground.nouns import Review, ReviewComment
from bot.playground.payloads import pulls as shape
from bot.playground.payloads.pulls import pull_of
from bot.playground.refusals import missing, not_found
from bot.playground.rest.calls import Answer, Call, Routes
from bot.playground.rest.issues import must_own

routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write")
DISMISS = Needs(permissions=("pull_requests",), level="write", role=Role.WRITE)


def _draft(call: Call) -> act.Draft:
    return act.Draft(
        path=call.text("path"),
        body=call.text("body"),
        side=call.text("side", "RIGHT"),
        line=call.integer("line"),
        start_line=call.integer("start_line"),
        position=call.integer("position"),
    )


def _review(call: Call) -> Review:
    found = call.world.reviews.get(int(call.path["review_id"]))
    if found is None or found.issue is not call.pull or not _seen(call, found):
        raise not_found()
    return found


def _seen(call: Call, review: Review) -> bool:
    """A pending review is its author's alone."""
    token = call.caller.token
    return review.state != "PENDING" or (token is not None and token.user is review.author)


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/reviews", WRITE)
def create_review(call: Call) -> Answer:
    made = act.submit_review(
        call.world,
        call.pull,
        call.who,
        sha=call.text("commit_id"),
        body=call.text("body"),
        event=call.text("event"),
        drafts=[_draft(call.inner(each)) for each in call.items("comments")],
    )
    return Answer(body=shape.review(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/reviews", READ)
def list_reviews(call: Call) -> Answer:
    found = [each for each in pull_of(call.pull).reviews if _seen(call, each)]
    return Answer(body=[shape.review(call.world, each) for each in found])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/reviews/{review_id:int}", READ)
def get_review(call: Call) -> Answer:
    return Answer(body=shape.review(call.world, _review(call)))


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/reviews/{review_id:int}/events", WRITE)
def send_review(call: Call) -> Answer:
    made = _review(call)
    must_own(call, made.author.id)
    act.send_pending(call.world, made, call.who, event=call.text("event"), body=call.text("body"))
    return Answer(body=shape.review(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/reviews/{review_id:int}/comments", READ)
def list_comments_of_review(call: Call) -> Answer:
    return Answer(body=[shape.review_list_comment(call.world, each) for each in act.comments_of(_review(call))])


@routes.on("PUT", "/repos/{owner}/{repo}/pulls/{number:int}/reviews/{review_id:int}/dismissals", DISMISS)
def dismiss_review(call: Call) -> Answer:
    made = _review(call)
    act.dismiss(call.world, made, call.who, call.text("message"))
    return Answer(body=shape.review(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/{number:int}/comments", READ)
def list_comments(call: Call) -> Answer:
    return Answer(body=[shape.review_comment(call.world, each) for each in _published(call, [call.pull.number])])


@routes.on("GET", "/repos/{owner}/{repo}/pulls/comments", READ)
def list_repository_comments(call: Call) -> Answer:
    found = _published(call, list(call.repository.issues))
    if call.query.get("sort") and call.query.get("direction") == "desc":
        found.reverse()
    return Answer(body=[shape.review_comment(call.world, each) for each in found])


def _published(call: Call, numbers: list[int]) -> list[ReviewComment]:
    """The comments of these pull requests that have been sent, oldest first."""
    pulls = [call.repository.issues[number].pull for number in numbers]
    found = [each for pull in pulls if pull for thread in pull.threads for each in thread.comments]
    return sorted((each for each in found if each.review.state != "PENDING"), key=lambda each: each.id)


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/comments", WRITE)
def create_comment(call: Call) -> Answer:
    """A new thread, or an answer where `in_reply_to` says so."""
    answered = call.integer("in_reply_to")
    if answered is not None:
        made = act.reply(call.world, _answered(call, answered), call.who, call.text("body"))
    else:
        if not call.text("commit_id"):
            raise missing("PullRequestReviewComment", "commit_id")
        made = act.add_comment(call.world, call.pull, call.who, sha=call.text("commit_id"), draft=_draft(call))
    return Answer(status=201, body=shape.review_comment(call.world, made))


@routes.on("POST", "/repos/{owner}/{repo}/pulls/{number:int}/comments/{comment_id:int}/replies", WRITE)
def create_reply(call: Call) -> Answer:
    made = act.reply(call.world, _answered(call, int(call.path["comment_id"])), call.who, call.text("body"))
    return Answer(status=201, body=shape.review_comment(call.world, made))


def _answered(call: Call, number: int) -> ReviewComment:
    found = call.world.review_comment(call.repository, number)
    if found.thread.issue is not call.pull:
        raise not_found()
    return found


def _comment(call: Call) -> ReviewComment:
    return call.world.review_comment(call.repository, int(call.path["comment_id"]))


@routes.on("GET", "/repos/{owner}/{repo}/pulls/comments/{comment_id:int}", READ)
def get_comment(call: Call) -> Answer:
    return Answer(body=shape.review_comment(call.world, _comment(call)))


@routes.on("PATCH", "/repos/{owner}/{repo}/pulls/comments/{comment_id:int}", WRITE)
def edit_comment(call: Call) -> Answer:
    made = _comment(call)
    must_own(call, made.author.id)
    act.edit_comment(call.world, made, call.who, call.text("body"))
    return Answer(body=shape.review_comment(call.world, made))


@routes.on("DELETE", "/repos/{owner}/{repo}/pulls/comments/{comment_id:int}", WRITE)
def delete_comment(call: Call) -> Answer:
    made = _comment(call)
    must_own(call, made.author.id)
    act.delete_comment(call.world, made, call.who)
    return Answer(status=204)
