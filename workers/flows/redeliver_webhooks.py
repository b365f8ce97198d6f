"""Find the webhooks that never reached us, and have GitHub send them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from workers.job_context import JobContext
from workers.jobs import Job, RedeliverWebhooks

KEPT = timedelta(days=3)
"""How long GitHub can send a delivery again."""

ON_ITS_WAY = timedelta(minutes=2)
"""What was sent just now may still arrive, and is not asked for."""

MOST_AT_ONCE = 50


def run(_job: RedeliverWebhooks, context: JobContext) -> Sequence[Job]:
    """Ask once in a round for each delivery that is not stored; what fails again is asked for in the next."""
    hook = context.hook()
    if hook is None:
        return ()
    now = context.clock()
    settled = [each for each in hook.deliveries(since=now - KEPT) if each.delivered_at <= now - ON_ITS_WAY]
    unknown = context.store.inbox.unknown_deliveries([each.guid for each in settled])
    latest = {each.guid: each for each in reversed(settled) if each.guid in unknown}
    for each in list(latest.values())[:MOST_AT_ONCE]:
        context.progress(f"asking GitHub to send {each.event} {each.guid} again")
        hook.redeliver(each.id)
    return ()
