"""Check the current policy version, and roll back to another one if it does worse."""

from __future__ import annotations

from collections.abc import Sequence

from memory.evaluation.rollback import check
from workers.job_context import JobContext
from workers.jobs import CheckPolicy, Job


def run(_job: CheckPolicy, context: JobContext) -> Sequence[Job]:
    """Check the ledger once. The event's id is the job's, so that a repeated job rolls back once."""
    event = check(context.store, context.clock(), context.job_id)
    if event is not None:
        context.progress(f"policy {event.instead_of} is replaced by {event.version}: {event.reason}")
    return ()
