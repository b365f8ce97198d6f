"""Which job does what was asked for: one that is about what was there when it was given, and the last that asks for the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memory.model.jobs import JobState, StoredJob
from workers.errors import Retryable
from workers.flows.replies import may_command
from workers.job_context import JobContext
from workers.jobs import Fix, Job, ReviewPull, TrackPull, decodable
from workers.messages import review
from workers.ports import PullRequest

if TYPE_CHECKING:
    from workers.github.adapter import GitHub


LOOKS = 3
"""How often a job looks at a pull request that GitHub shows as it was before: its answers can lag behind its events by seconds."""


def outdated(job: Fix | ReviewPull, pull: PullRequest, context: JobContext) -> str:
    """Why the job must not be done on the pull request as it is now; empty when nothing speaks against it.

    A comment's event does not name the head, so the last one that GitHub reported before counts. Where it reported none,
    the head of a fork must not count: its author can push after a maintainer has read and commanded.
    """
    pinned = job.head_sha
    if _own_row(context).attempts < LOOKS and _is_behind(pull, job, context):
        raise Retryable(f"GitHub shows pull request #{job.number} as it was before what it reported last")
    if pull.state != "open":
        return review.CLOSED
    if not pinned and job.commanded:
        pinned = _head_known(job, context, _own_row(context).created_at)
        if not pinned and pull.head_repository_id != job.repository.id:
            return review.unseen(pull.head_sha)
    return "" if pinned in ("", pull.head_sha) else review.MOVED


def _is_behind(pull: PullRequest, job: Fix | ReviewPull, context: JobContext) -> bool:
    """Whether GitHub shows what it reported before it reported something else; it may be so again, and then that is yet to come."""
    stored = context.store.jobs.about("track", job.repository.id, job.number)
    tracked = (each for each in decodable(each.payload for each in stored) if isinstance(each, TrackPull))
    states, shown = [(each.head_sha, each.closed) for each in tracked], (pull.head_sha, pull.state != "open")
    return shown in states[:-1] and shown != states[-1]


def track_unknown_head(job: Fix | ReviewPull, pull: PullRequest, context: JobContext) -> Sequence[Job]:
    """Where the head is not the last one known, as where a lost event of an earlier push came late: the job by which the next
    command knows it. Who pushed is not known: the author counts.
    """
    if not job.commanded or _head_known(job, context, context.clock()) == pull.head_sha:
        return ()
    return (TrackPull(repository=job.repository, actor=pull.author, number=pull.number, head_sha=pull.head_sha),)


def taken_over(job: Fix | ReviewPull, context: JobContext, github: GitHub) -> bool:
    """Whether a later job does the same, for a user who may command it, or for the same commit."""
    later = later_jobs(job.repository.id, job.number, context)
    same = (each for each in later if isinstance(each, Fix | ReviewPull) and _is_same(job, each))
    return any(not each.commanded or may_command(github, each.actor) for each in same)


GIVEN_UP = frozenset({JobState.FAILED, JobState.DEAD})


def later_jobs(repository: int, number: int, context: JobContext) -> Iterator[Job]:
    """The jobs like the running one, about a number, that were stored after it and not given up."""
    own = _own_row(context)
    later = context.store.jobs.about(own.kind, repository, number, after=own.created_at)
    return decodable(each.payload for each in later if each.state not in GIVEN_UP)


def _own_row(context: JobContext) -> StoredJob:
    own = context.store.jobs.job(context.job_id)
    assert own is not None, "a job runs from its row"
    return own


def _is_same(job: Fix | ReviewPull, later: Fix | ReviewPull) -> bool:
    """A command also does what an event without one wants, and not the other way round."""
    match job, later:
        case ReviewPull(), ReviewPull():
            same = job.head_sha == later.head_sha and job.retargeted <= later.retargeted
            return later.commanded or (not job.commanded and same)
        case Fix(), Fix():
            plain = not job.commanded and not later.guidance
            return plain or (job.comment, job.body, job.head_sha) == (later.comment, later.body, later.head_sha)
    return False


def _head_known(job: Fix | ReviewPull, context: JobContext, when: datetime) -> str:
    """The last head that was reported until then; empty without any."""
    stored = context.store.jobs.about("track", job.repository.id, job.number)
    last = [each.payload for each in stored if each.created_at <= when][-1:]
    return next((each.head_sha for each in decodable(last) if isinstance(each, TrackPull)), "")
