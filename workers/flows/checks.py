"""The check run of a review: in progress from its start on, and neutral where the commit is not reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from workers.errors import Forbidden
from workers.flows.rounds import ReviewRound, key_of_push
from workers.job_context import JobContext
from workers.jobs import Job, RemoveDuplicate, ReviewAgain, ReviewPull
from workers.messages import review

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

_OURS = re.compile(r"review:\d+:(\d{1,9}):")
"""The id of a check run of ours begins as `key_of_push` does."""
_log = structlog.get_logger()


@contextmanager
def refusal_logged() -> Iterator[None]:
    """Go on without a check run that GitHub refuses, as where the App lacks that permission: it carries no review."""
    try:
        yield
    except Forbidden as error:
        _log.warning("check run not written", error=str(error))


def begin_check(current: ReviewRound) -> int | None:
    """The check run in progress of a round; None for a comment's, which gets a reaction, where the round has its result, and
    where GitHub refuses it: then it refuses the result, which is logged.
    """
    result = current.context.store.jobs.effect(current.key("check"))
    if current.job.comment_id or (result is not None and result.done_at is not None):
        return None
    job, sha, mark = current.job, current.task.sha, _mark(current.job, current.task.sha)
    with suppress(Forbidden):
        return current.context.effects.once(
            current.key("running"),
            make=lambda: current.github.begin_check(
                sha=sha, external_id=mark, title=review.CHECK_RUNNING, summary=review.RUNNING
            ),
            find=lambda: _running(job, sha, current.github),
            look_again=partial(RemoveDuplicate, repository=job.repository, number=job.number, key=mark, check=sha),
        )
    return None


@refusal_logged()
def end_check(job: ReviewPull, context: JobContext, github: GitHub) -> None:
    """End the check run in progress of a review that is given up, if there is one."""
    running = _running(job, job.head_sha, github) if job.head_sha else None
    if running is not None:
        key = key_of_push(job.repository, job.number, context.job_id, "given-up")
        post_not_reviewed(job.head_sha, review.GIVEN_UP, key, context, github, running)


@refusal_logged()
def post_failed(job: ReviewPull, summary: str, context: JobContext, github: GitHub) -> None:
    """The check run of a review that failed."""
    sha = job.head_sha or github.pull(job.number).head_sha
    running = _running(job, sha, github)
    key = key_of_push(job.repository, job.number, context.job_id, "failed")
    post_not_reviewed(sha, summary, key, context, github, running)


@refusal_logged()
def post_not_reviewed(
    sha: str, summary: str, key: str, context: JobContext, github: GitHub, running: int | None = None
) -> None:
    """Write one neutral check run about a commit that is not reviewed, or end the `running` one so."""
    context.effects.once(
        key,
        make=lambda: github.create_check(
            sha=sha,
            external_id=key,
            conclusion="neutral",
            title=review.CHECK_FAILED,
            summary=summary,
            annotations=(),
            running=running,
        ),
        find=lambda: github.find_check(sha=sha, external_id=key),
    )


def _running(job: ReviewPull, sha: str, github: GitHub) -> int | None:
    return github.find_check(sha=sha, external_id=_mark(job, sha), running=True)


def _mark(job: ReviewPull, sha: str) -> str:
    """What a check run in progress is found by: a worker that gives up knows the job alone."""
    return key_of_push(job.repository, job.number, sha, "running")


def review_again(job: ReviewAgain, context: JobContext) -> Sequence[Job]:
    """Review the pull requests that our check runs on a commit are about."""
    ours = map(_OURS.match, context.connect(job.repository).check_ids(job.head_sha))
    asked = not job.actor.is_bot
    return [
        ReviewPull(repository=job.repository, actor=job.actor, number=number, head_sha=job.head_sha, commanded=asked)
        for number in sorted({int(found[1]) for found in ours if found})
    ]
