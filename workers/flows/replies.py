"""Who may give commands, by account id when the job runs, and every reply in a conversation, that of a failed job included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from memory.model import Actor, Permission
from workers.errors import CannotRun
from workers.flows.checks import post_failed
from workers.job_context import JobContext
from workers.jobs import (
    AnswerCommand,
    AnswerQuestion,
    CommandedJob,
    Feedback,
    Fix,
    Job,
    LocateIssue,
    RemoveDuplicate,
    ReportFailure,
    ReviewPull,
    ShareLearnings,
)
from workers.messages import conversation, review
from workers.messages.markdown import marker

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

COMMANDERS = frozenset({Permission.ADMIN, Permission.MAINTAIN, Permission.WRITE})


def post_comment(number: int, text: str, key: str, context: JobContext, github: GitHub, *, thread: int = 0) -> int:
    """Post one comment under `key`, with its marker at the end of the text; returns the comment's id.

    It goes into the review thread of the comment `thread`, or into the conversation.
    """
    return context.effects.once(
        key,
        make=lambda: github.comment(number, f"{text}\n{marker(key)}", thread=thread),
        find=lambda: next(iter(github.comments(number, marker(key), thread=thread)), None),
        look_again=partial(RemoveDuplicate, repository=github.repository, number=number, key=key, thread=thread),
    )


def remove_duplicate(job: RemoveDuplicate, context: JobContext) -> Sequence[Job]:
    """A review cannot be deleted: its comments are, and its text says so."""
    github, mark = context.connect(job.repository), marker(job.key)
    if job.check:
        github.retire_checks(sha=job.check, external_id=job.key, kept=job.kept)
    elif job.review:
        for each in github.reviews(job.number, mark):
            if each != job.kept:
                github.retract_review(job.number, each, review.DUPLICATE)
    else:
        for each in github.comments(job.number, mark, thread=job.thread):
            if each != job.kept:
                github.delete_comment(each, thread=job.thread)
    return ()


REPLIES_TO_OUTSIDERS = 30
"""Replies a day for one installation of the App: beyond that, strangers get none, and the log gets a line."""


def reply_to_outsider(
    job: CommandedJob | Feedback, context: JobContext, github: GitHub, *, text: str = "", thread: int = 0
) -> None:
    """Refuse an outsider's commands and verdicts with one reply to each account in a conversation, however many follow."""
    installation = f"outsider:{job.repository.installation_id}:"
    key = f"{installation}{job.repository.id}:{job.number}:{job.actor.id}"
    begin = context.store.jobs.begin_limited
    if not begin(key, context.job_id, context.clock(), among=installation, most=REPLIES_TO_OUTSIDERS):
        why = f"one of theirs was answered already, or {REPLIES_TO_OUTSIDERS} outsiders' commands were answered within a day"
        context.progress(f"no reply to {job.actor.login}: {why}")
        return
    refusal, thread = text or conversation.outsider(job.actor.login), thread or getattr(job, "thread", 0)
    post_comment(job.number, refusal, f"reply:{key}", context, github, thread=thread)


def connected(job: CommandedJob, context: JobContext) -> GitHub | None:
    """GitHub for a user who may give this command; None after the refusal of an outsider."""
    github = context.connect(job.repository)
    if may_command(github, job.actor):
        return github
    reply_to_outsider(job, context, github)
    return None


def may_command(github: GitHub, actor: Actor) -> bool:
    """Whether this account may give commands on this repository."""
    return not actor.is_bot and github.permission(actor) in COMMANDERS


def acknowledge(job: CommandedJob, context: JobContext, github: GitHub) -> None:
    """React to a command that takes minutes with eyes, at its comment or at the text of its issue."""
    try:
        github.react(job.number, job.comment_id, "eyes")
    except CannotRun as error:  # the work goes on without
        context.progress(str(error))


_DOING: Mapping[type, str] = {
    Fix: "repair this",
    ReviewPull: "review this",
    AnswerCommand: "answer",
    AnswerQuestion: "answer",
    LocateIssue: "look for it",
    ShareLearnings: "share what was learned",
}
"""What a job that failed was to do."""


def report_failure(report: ReportFailure, context: JobContext) -> Sequence[Job]:
    """Answer where the user asked. A review that failed gets a neutral check run, so that it never looks green."""
    job, commanded = report.failed, getattr(report.failed, "commanded", True)
    if not commanded and not isinstance(job, ReviewPull):
        context.progress(f"{type(job).__name__} failed: {report.reason}")
        return ()
    github, text = context.connect(job.repository), conversation.could_not(_DOING[type(job)], report.reason)
    if commanded and not may_command(github, job.actor):
        return ()
    if commanded:
        post_comment(job.number, text, f"{context.job_id}:failed", context, github, thread=getattr(job, "thread", 0))
    if isinstance(job, ReviewPull):
        post_failed(job, text, context, github)
    return ()
