"""A command is about what was there when it was given: what was pushed later needs a new command, and the answer says so."""

from __future__ import annotations

from collections.abc import Sequence

from workers.context import JobContext
from workers.jobs import Fix, Job, ReviewPull, TrackPull, decode
from workers.messages import review
from workers.ports import PullRequest


def outdated(job: Fix | ReviewPull, pull: PullRequest, context: JobContext) -> str:
    """Why the job must not be done on the pull request as it is now; empty when nothing speaks against it.

    A comment's event does not name the head, so the last one that GitHub reported before counts. Where it reported none,
    the head of a fork must not count: its author can push after a maintainer has read and commanded.
    """
    pinned = job.sha if isinstance(job, Fix) else job.head_sha
    if pull.state != "open":
        return review.CLOSED
    if not pinned and job.commanded:
        pinned = _head_when_asked(pull.number, job, context)
        if not pinned and pull.head_repository_id != job.repository.id:
            return review.unseen(pull.head_sha)
    return "" if pinned in ("", pull.head_sha) else review.MOVED


def noted(job: Fix | ReviewPull, pull: PullRequest, context: JobContext) -> Sequence[Job]:
    """Where no head was known: the job by which the next command knows it. Who pushed is not known: the author counts."""
    if _head_when_asked(pull.number, job, context):
        return ()
    return (TrackPull(repository=job.repository, actor=pull.author, number=pull.number, head_sha=pull.head_sha),)


def _head_when_asked(number: int, job: Fix | ReviewPull, context: JobContext) -> str:
    asked = context.store.inbox.job(context.job_id)
    assert asked is not None, "a job runs from its row"
    seen = context.store.inbox.latest("track", job.repository.id, number, until=asked.created_at)
    tracked = None if seen is None else decode(seen)
    return tracked.head_sha if isinstance(tracked, TrackPull) else ""
