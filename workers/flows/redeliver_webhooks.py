"""Find the webhooks that never arrived, and ask GitHub to send them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from workers.job_context import JobContext
from workers.jobs import Job, RedeliverWebhooks

KEPT = timedelta(days=3)
"""How long GitHub can redeliver a webhook."""

MIN_AGE = timedelta(minutes=2)
"""A recent delivery may still arrive, so it is not requested again."""

MOST_AT_ONCE = 50


def run(_job: RedeliverWebhooks, context: JobContext) -> Sequence[Job]:
    """Request each unstored delivery once; the next poll requests those that fail again."""
    hook = context.hook()
    if hook is None:
        return ()
    now = context.clock()
    old_enough = [each for each in hook.deliveries(since=now - KEPT) if each.delivered_at <= now - MIN_AGE]
    unknown = context.store.inbox.unknown_deliveries([each.guid for each in old_enough])
    latest = {each.guid: each for each in reversed(old_enough) if each.guid in unknown}
    for each in list(latest.values())[:MOST_AT_ONCE]:
        context.progress(f"asking GitHub to send {each.event} {each.guid} again")
        hook.redeliver(each.id)
    return ()
