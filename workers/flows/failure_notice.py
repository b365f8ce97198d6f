"""Publish the failure of a job to the user who asked for it. No request ends in silence."""

from __future__ import annotations

from workers.errors import ApprenticeError
from workers.flows.permissions import post_comment
from workers.job_context import JobContext
from workers.jobs import AnswerCommand, AnswerQuestion, Fix, Job, ReviewPull, ShareLearnings
from workers.messages import conversation, review
from workers.ports import GitHub


def publish_failure(job: Job, error: ApprenticeError, context: JobContext) -> None:
    """Answer where the user asked. A review that failed gets a neutral check run, so that it never looks green."""
    match job:
        case Fix() if job.commanded:
            _comment(job.issue, "repair this", error, context, context.connect(job.repository))
        case AnswerCommand() | AnswerQuestion():
            _comment(job.number, "answer", error, context, context.connect(job.repository))
        case ShareLearnings():
            _comment(job.number, "share what was learned", error, context, context.connect(job.repository))
        case ReviewPull():
            github = context.connect(job.repository)
            if job.commanded:
                _comment(job.number, "review this", error, context, github)
            _check(job, error, context, github)
        case _:
            context.progress(f"{type(job).__name__} failed: {error}")


def _comment(number: int, doing: str, error: ApprenticeError, context: JobContext, github: GitHub) -> None:
    key = f"{context.job_id}:failed"
    post_comment(number, conversation.could_not(doing, str(error), key=key), key, context, github)


def _check(job: ReviewPull, error: ApprenticeError, context: JobContext, github: GitHub) -> None:
    sha = job.head_sha or github.pull(job.number).head_sha
    key = f"{context.job_id}:failed-check"
    context.effects.once(
        key,
        make=lambda: github.create_check(
            sha=sha,
            external_id=key,
            conclusion="neutral",
            title=review.CHECK_FAILED,
            summary=conversation.could_not("review this", str(error), key=key),
            annotations=(),
        ),
        find=lambda: github.find_check(sha=sha, external_id=key),
    )
