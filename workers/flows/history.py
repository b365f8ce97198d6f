"""Learn from a repository's history before the first post there."""

from __future__ import annotations

from collections.abc import Sequence

from workers.history.learn import learn
from workers.job_context import JobContext
from workers.jobs import Job, LearnHistory

STEP = 200
"""Changes between two lines of progress output."""


def run(job: LearnHistory, context: JobContext) -> Sequence[Job]:
    """Read the default branch's last changes. Resumes where an interrupted run stopped."""
    most = context.settings.learn_changes
    if most == 0:
        return ()
    github = context.connect(job.repository)
    head = github.default_branch()
    mirror = context.mirror(job.repository, github)
    mirror.fetch(head.sha)
    name = job.repository.full_name
    reported = 0

    def progress(done: int, of: int) -> None:
        nonlocal reported
        if done - reported >= STEP:
            reported = done
            context.progress(f"{name}: read {done} of {of} past changes")

    read = learn(
        mirror.directory,
        name,
        store=context.store,
        sandbox=context.sandbox,
        tip=head.sha,
        most=most,
        progress=progress,
    )
    context.progress(f"{name}: read {read.changes} past changes, and the outcomes of {read.findings} findings")
    return ()
