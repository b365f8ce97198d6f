"""Which jobs an event implies, with everything pinned from the event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bot.web.event_jobs import jobs_for
from bot.web.events import Ignored, parse
from memory.model import Actor, SignalKind
from workers.jobs import (
    AnswerCommand,
    Feedback,
    Fix,
    Job,
    LearnHistory,
    LocateIssue,
    RepositoryRef,
    ResumeInstallation,
    ReviewAgain,
    ReviewPull,
    ShareLearnings,
    StartCi,
    Subject,
    SubjectKind,
    TrackPull,
)

Route = Callable[..., tuple[Job, ...]]
REPOSITORY = RepositoryRef(id=77, full_name="acme/scales", installation_id=3003)
MARA = Actor(id=501, login="mara")
BOT = {"sender": {"login": "renovate[bot]", "id": 901, "type": "Bot"}}
HEAD = "a" * 40
OURS = {"user": {"login": "apprentice[bot]", "id": 900, "type": "Bot"}, "head": {"ref": "apprentice/fix-12"}}

NEW_ISSUE = Fix(
    repository=REPOSITORY,
    actor=MARA,
    number=12,
    pull=False,
    commanded=False,
    body="`round_up(2)` gives 3.",
    author=MARA,
)
REVIEW = ReviewPull(repository=REPOSITORY, actor=MARA, number=31, head_sha=HEAD)
TRACK = TrackPull(repository=REPOSITORY, actor=MARA, number=31, head_sha=HEAD)


@pytest.fixture
def route(payload: Callable[..., bytes]) -> Route:
    """`route("issues", {…changes})`: the jobs of that sample."""

    def jobs(event: str, changes: dict[str, Any] | None = None) -> tuple[Job, ...]:
        parsed = parse(event, payload(event, changes))
        assert not isinstance(parsed, Ignored)
        return jobs_for(parsed, bot_name="apprentice", trigger_label="fix me")

    return jobs


def changed(job: Fix | ReviewPull | TrackPull, **changes: object) -> Job:
    return msgspec.structs.replace(job, **changes)


def test_no_jobs(route: Route) -> None:
    """A ping implies nothing."""
    assert route("ping") == ()


@pytest.mark.parametrize("event", ["installation", "installation_repositories"])
def test_a_repository_that_we_are_given_is_learned_from(event: str, route: Route) -> None:
    """Its past is read before our first word there."""
    assert route(event) == (LearnHistory(repository=REPOSITORY),)


def test_what_is_taken_from_us_implies_nothing(route: Route) -> None:
    """The whole App, one repository of it, or a suspension; the end of a suspension lets jobs go on."""
    stub = [{"id": 77, "name": "scales", "full_name": "acme/scales"}]
    removed = {"action": "removed", "repositories_added": [], "repositories_removed": stub}
    assert route("installation_repositories", removed) == ()
    assert route("installation", {"action": "deleted"}) == ()
    assert route("installation", {"action": "suspend"}) == ()
    resumed = ResumeInstallation(installation=REPOSITORY.installation_id)
    assert route("installation", {"action": "unsuspend"}) == (resumed,)


def test_without_installation(route: Route) -> None:
    """What a plain repository webhook sends cannot be acted on: there is no installation to act through."""
    assert route("issues", {"installation": None}) == ()


# ── Issues ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_issue(route: Route) -> None:
    """A new issue is looked at, without having been asked to: for a failing test, and for where it may be."""
    (fix, where) = route("issues")
    assert fix == NEW_ISSUE
    assert isinstance(where, LocateIssue)
    assert (where.number, where.body, where.commanded) == (12, NEW_ISSUE.body, False)
    assert where.title


def test_where(route: Route) -> None:
    """`where` takes the issue's title and text, and the words after it; a pull request has no place for it."""
    (job,) = route("issue_comment", said("@apprentice where in the rounding"))
    assert isinstance(job, LocateIssue)
    assert (job.commanded, job.comment_id, job.text, job.body) == (True, 8001, "in the rounding", NEW_ISSUE.body)
    (answer,) = route("issue_comment", said("@apprentice where") | ON_PULL)
    assert isinstance(answer, AnswerCommand)
    assert answer.problem == "`where` works in an issue"


def test_new_issue_that_asks_where(route: Route) -> None:
    """An issue that asks in its own text is looked into once."""
    jobs = route("issues", {"issue": {"body": "It rounds.\n\n@apprentice where"}})
    assert [job.commanded for job in jobs if isinstance(job, LocateIssue)] == [True]


@pytest.mark.parametrize(
    "issue", [{"labels": [{"name": "bug"}, {"name": "Fix Me"}]}, {"body": "It fails.\n\n@apprentice fix"}]
)
def test_new_issue_that_asks(issue: dict[str, Any], route: Route) -> None:
    """An issue opened with our label, or that says so in its text, is a command, and one job."""
    body = issue.get("body", NEW_ISSUE.body)
    assert route("issues", {"issue": issue}) == (changed(NEW_ISSUE, commanded=True, body=body),)


def test_an_issue_from_another_repository(route: Route) -> None:
    """What an issue says that was transferred counts as its author's, and not as that of the sender, who transferred it."""
    issue = {"user": {"id": 601, "login": "olga", "type": "User"}, "body": "It fails.\n\n@apprentice fix"}
    (fix,) = route("issues", {"issue": issue})
    assert isinstance(fix, Fix)
    assert (fix.actor, fix.author) == (Actor(id=601, login="olga"), Actor(id=601, login="olga"))


def test_label_added_later(route: Route) -> None:
    """Our label on an older issue is a command; another label is not."""
    later = {"action": "labeled", "issue": {"updated_at": "2026-03-05T10:00:00Z"}}
    assert route("issues", later | {"label": {"name": "fix me"}}) == (changed(NEW_ISSUE, commanded=True),)
    assert route("issues", later | {"label": {"name": "bug"}}) == ()


def test_label_from_birth(route: Route) -> None:
    """An issue opened with our label makes GitHub send two events and us do the work once."""
    assert route("issues", {"action": "labeled", "label": {"name": "fix me"}}) == ()


def test_empty_issue(route: Route) -> None:
    """GitHub sends null for an empty body."""
    assert route("issues", {"issue": {"body": None}})[0] == changed(NEW_ISSUE, body="")


# ── Comments on issues and pull requests ───────────────────────────────────────────────────────────────────────────


def said(text: str) -> dict[str, Any]:
    return {"comment": {"body": text}}


ON_PULL = {"issue": {"pull_request": {"url": "https://api.github.test/p"}}}


def test_fix_in_issue(route: Route) -> None:
    """`fix` under an issue pins the issue's text and the comment's, which may hold the traceback."""
    job = changed(NEW_ISSUE, commanded=True, comment_id=8001, comment="@apprentice fix")
    assert route("issue_comment") == (job,)


@pytest.mark.parametrize(
    ("event", "place", "thread"),
    [
        ("issue_comment", "comment", 0),
        ("pull_request_review_comment", "comment", 8100),
        ("pull_request_review", "review", 0),
        ("pull_request", "pull_request", 0),
    ],
)
@pytest.mark.parametrize(
    ("before", "answers"), [("Nice.", 1), ("@apprentice fix", 0), ("@apprentice fix\n@apprentice help", 0)]
)
def test_edited_comment(event: str, place: str, thread: int, before: str, answers: int, route: Route) -> None:
    """A command that was edited in is answered where it is, and starts nothing; other edits imply nothing."""
    edited = {"action": "edited", "changes": {"body": {"from": before}}, place: {"body": "@apprentice fix"}}
    jobs = route(event, edited)
    assert [type(job) for job in jobs] == [AnswerCommand] * answers
    for job in jobs:
        assert isinstance(job, AnswerCommand)
        assert (job.thread, "write the command in a new comment" in job.problem) == (thread, True)
    assert route(event, edited | {"changes": {}}) == ()
    assert route(event, edited | BOT) == ()


def test_edited_issue(route: Route) -> None:
    """An issue's text counts when it is opened; a new title changes nothing about it."""
    asks = {"action": "edited", "issue": {"body": "@apprentice fix"}, "changes": {"body": {"from": ""}}}
    assert [type(job) for job in route("issues", asks)] == [AnswerCommand]
    assert route("issues", asks | {"changes": {"title": {"from": "Scales"}}}) == ()


def test_share(route: Route) -> None:
    """`share` asks for the file of learnings, wherever it stands."""
    job = ShareLearnings(repository=REPOSITORY, actor=MARA, number=12, comment_id=8001)
    assert route("issue_comment", said("@apprentice share")) == (job,)


def test_talk(route: Route) -> None:
    """A comment that says nothing to us implies nothing."""
    assert route("issue_comment", said("Nice, @apprentice fix would be good?")) == ()
    assert route("issue_comment", said("> @apprentice fix")) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("help", {"command": "help"}),
        ("why 3f2a", {"command": "why", "argument": "3f2a"}),
        ("revew", {"command": "", "problem": "there is no command `revew`", "suggestion": "review"}),
        ("review", {"command": "review", "problem": "`review` works in a pull request"}),
    ],
)
def test_answers_in_issue(text: str, expected: dict[str, Any], route: Route) -> None:
    """What needs no work, makes no sense, or makes none here, is answered."""
    answer = AnswerCommand(repository=REPOSITORY, actor=MARA, number=12, comment_id=8001, **expected)
    assert route("issue_comment", said(f"@apprentice {text}")) == (answer,)


@pytest.mark.parametrize(
    ("text", "kind", "note"),
    [
        ("accept", SignalKind.ACCEPTED, ""),
        ("reject because it hides the cause", SignalKind.REJECTED, "it hides the cause"),
    ],
)
def test_verdict_in_issue(text: str, kind: SignalKind, note: str, route: Route) -> None:
    """`accept` and `reject` under an issue or pull request judge what we said in that conversation."""
    verdict = Feedback(
        repository=REPOSITORY,
        actor=MARA,
        kind=kind,
        subject=Subject(kind=SubjectKind.CONVERSATION, id=12),
        source="issue-comment:8001",
        note=note,
        number=12,
    )
    assert route("issue_comment", said(f"/apprentice {text}")) == (verdict,)


def test_on_pull_request(route: Route) -> None:
    """Under a pull request `review` and `fix` are about it; its commits are looked up, the event does not carry them."""
    review = ReviewPull(repository=REPOSITORY, actor=MARA, number=12, commanded=True, comment_id=8001)
    assert route("issue_comment", ON_PULL | said("@apprentice review")) == (review,)
    (fix,) = route("issue_comment", ON_PULL | said("@apprentice fix"))
    assert isinstance(fix, Fix)
    assert (fix.pull, fix.head_sha, fix.number) == (True, "", 12)


def test_in_a_review(route: Route) -> None:
    """A command in a review's own text is obeyed at the commit that the event carries."""
    asked = {"review": {"body": "@apprentice review"}}
    assert route("pull_request_review", asked) == (changed(REVIEW, commanded=True, comment_id=9001),)
    assert route("pull_request_review") == ()


def test_reply_in_thread(route: Route) -> None:
    """A verdict in a thread is about the comment that began it."""
    verdict = Feedback(
        repository=REPOSITORY,
        actor=MARA,
        kind=SignalKind.REJECTED,
        subject=Subject(kind=SubjectKind.REVIEW_COMMENT, id=8100),
        source="comment:8101",
        note="we like it so",
        number=31,
    )
    assert route("pull_request_review_comment", said("@apprentice reject because we like it so")) == (verdict,)


def test_verdict_on_nothing(route: Route) -> None:
    """A verdict that is no reply is about nothing, and is answered in its thread."""
    changes = {"comment": {"body": "@apprentice accept", "in_reply_to_id": None}}
    problem = "`accept` works as a reply to one of my comments"
    answer = AnswerCommand(
        repository=REPOSITORY,
        actor=MARA,
        number=31,
        comment_id=8101,
        command="accept",
        problem=problem,
        thread=8101,
    )
    assert route("pull_request_review_comment", changes) == (answer,)


def test_fix_in_thread(route: Route) -> None:
    """`fix` in a thread repairs the pull request at the commit that the event carries."""
    (fix,) = route("pull_request_review_comment")
    assert isinstance(fix, Fix)
    assert (fix.pull, fix.number, fix.head_sha, fix.comment_id) == (True, 31, HEAD, 8101)


# ── Pull requests ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", ["opened", "reopened", "ready_for_review", "synchronize"])
@pytest.mark.parametrize("draft", [True, False])
def test_pull_request(action: str, draft: bool, route: Route) -> None:
    """New commits go to a worker, which knows whether a draft is reviewed here; first the head is noted."""
    review = changed(REVIEW, pushed=action == "synchronize")
    assert route("pull_request", {"action": action, "pull_request": {"draft": draft}}) == (TRACK, review)


def test_draft_that_asks(route: Route) -> None:
    """A draft whose description asks for a review gets one."""
    changes = {"pull_request": {"draft": True, "body": "@apprentice review"}}
    assert route("pull_request", changes) == (TRACK, changed(REVIEW, commanded=True))


@pytest.mark.parametrize("repo", [{"id": 78}, None])
def test_fork(repo: dict[str, int] | None, route: Route) -> None:
    """A pull request from a fork, or from one that is gone, is reviewed like any other."""
    assert route("pull_request", {"pull_request": {"head": {"repo": repo}}}) == (TRACK, REVIEW)


@pytest.mark.parametrize("merged", [True, False])
def test_closed(merged: bool, route: Route) -> None:
    """A closed pull request is tracked a last time; somebody else's closing judges nothing of ours."""
    changes = {"action": "closed", "pull_request": {"merged": merged}}
    assert route("pull_request", changes) == (changed(TRACK, closed=True, merged=merged),)


@pytest.mark.parametrize(
    ("changes", "kind", "undone"),
    [
        ({"action": "closed", "pull_request": OURS | {"merged": True}}, SignalKind.FIX_MERGED, False),
        ({"action": "closed", "pull_request": OURS}, SignalKind.FIX_CLOSED, False),
        ({"action": "reopened", "pull_request": OURS}, SignalKind.FIX_CLOSED, True),
    ],
)
def test_our_own_pull_request(changes: dict[str, Any], kind: SignalKind, undone: bool, route: Route) -> None:
    """Merging or closing a fix of ours judges it, opening it again takes that back."""
    verdict = Feedback(
        repository=REPOSITORY,
        actor=MARA,
        kind=kind,
        subject=Subject(kind=SubjectKind.FIX_PULL, id=31),
        source="pull:31",
        undone=undone,
        head_sha=HEAD if kind is SignalKind.FIX_MERGED else "",
    )
    assert [job for job in route("pull_request", changes) if isinstance(job, Feedback)] == [verdict]


def test_ready(route: Route) -> None:
    """A person who marks a draft of ours as ready asks for its CI; a bot does not."""
    ready = {"action": "ready_for_review", "pull_request": OURS}
    start = StartCi(repository=REPOSITORY, actor=MARA, number=31, head_sha=HEAD)
    assert route("pull_request", ready) == (TRACK, start, REVIEW)
    assert StartCi not in [type(job) for job in route("pull_request", ready | BOT)]
    assert StartCi not in [type(job) for job in route("pull_request", {"action": "ready_for_review"})]


def test_our_branch_name_is_not_enough(route: Route) -> None:
    """A person's or a fork's pull request from a branch named like ours is not ours."""
    closed = {"action": "closed", "pull_request": {"head": {"ref": "apprentice/fix-12"}}}
    assert [type(job) for job in route("pull_request", closed)] == [TrackPull]
    forked = {"action": "closed", "pull_request": OURS | {"head": {"ref": "apprentice/x", "repo": {"id": 9}}}}
    assert [type(job) for job in route("pull_request", forked)] == [TrackPull]


def test_edited(route: Route) -> None:
    """Another base branch makes another change of it, which is reviewed; a new title does not."""
    moved = {"action": "edited", "changes": {"base": {"ref": {"from": "next"}, "sha": {"from": "d" * 40}}}}
    assert route("pull_request", moved) == (changed(REVIEW, retargeted=True),)
    assert route("pull_request", {"action": "edited", "changes": {"title": {"from": "Scales"}}}) == ()


# ── Threads and checks ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("action", "undone"), [("resolved", False), ("unresolved", True)])
def test_thread(action: str, undone: bool, route: Route) -> None:
    """Resolving a thread is a signal about its first comment; opening it again takes that one back."""
    signal = Feedback(
        repository=REPOSITORY,
        actor=MARA,
        kind=SignalKind.THREAD_RESOLVED,
        subject=Subject(kind=SubjectKind.REVIEW_COMMENT, id=8100),
        source="thread:PRRT_1",
        undone=undone,
    )
    assert route("pull_request_review_thread", {"action": action}) == (signal,)


@pytest.mark.parametrize("event", ["check_run", "check_suite"])
def test_checks_again(event: str, route: Route) -> None:
    """Asking for our check again, or for all checks, is asking for the reviews again, at that commit."""
    assert route(event) == (ReviewAgain(repository=REPOSITORY, actor=MARA, head_sha=HEAD),)


# ── Bots ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "event",
    ["issues", "issue_comment", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread"],
)
def test_bots_neither_command_nor_teach(event: str, route: Route) -> None:
    """What a bot says, ourselves included, is neither command nor feedback."""
    assert route(event, BOT) == ()


def test_bots_close(route: Route) -> None:
    """What a bot merges or closes may be what a user asked for: the worker looks at what became of the code."""
    closed = BOT | {"action": "closed", "pull_request": OURS | {"merged": True}}
    assert [type(job) for job in route("pull_request", closed)] == [TrackPull, Feedback]


def test_bots_pull_requests_are_reviewed(route: Route) -> None:
    """A dependency bot's pull request is reviewed; the commands in its description are not obeyed."""
    _, review = route("pull_request", BOT | {"pull_request": {"body": "@apprentice fix"}})
    assert isinstance(review, ReviewPull)
    assert review.commanded is False
