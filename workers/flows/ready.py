"""Let CI run on a draft of ours that a person marked as ready."""

from __future__ import annotations

from collections.abc import Sequence

from workers.flows.replies import may_command
from workers.job_context import JobContext
from workers.jobs import Job, StartCi
from workers.messages.markdown import SKIP_CI


def start_ci(job: StartCi, context: JobContext) -> Sequence[Job]:
    """Push the head once more, with the same files and without the mark: only a new head makes GitHub run CI.

    Does nothing where the head has moved since, or is a person's commit.
    """
    github = context.connect(job.repository)
    pull = github.pull(job.number)
    own = github.own_account()
    current = pull.state == "open" and pull.head_sha == job.head_sha and pull.head_repository_id == job.repository.id
    if not current or pull.author.id != own.id or not may_command(github, job.actor):
        return ()
    mirror = context.mirror(job.repository, github)
    mirror.fetch(job.head_sha)
    unmarked = mirror.reworded(job.head_sha, own, lambda message: message.replace(SKIP_CI, "", 1))
    if unmarked != job.head_sha:
        mirror.push(unmarked, pull.head_ref, instead_of=job.head_sha)
    return ()
