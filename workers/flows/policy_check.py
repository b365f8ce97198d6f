"""Judge the version of the policy in use, and go back to another one where it does worse."""

from __future__ import annotations

from collections.abc import Sequence

from memory.evaluation.rollback import check
from workers.job_context import JobContext
from workers.jobs import CheckPolicy, Job


def run(_job: CheckPolicy, context: JobContext) -> Sequence[Job]:
    """One look at the ledger. The event is named for the job, so that one done twice goes back once."""
    event = check(context.store, context.clock(), context.job_id)
    if event is not None:
        context.progress(f"policy {event.instead_of} gives way to {event.version}: {event.reason}")
    return ()
