"""Jobs that no user asks for: learn from the past, check the policy, find webhooks that never arrived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from memory.evaluation.rollback import check
from workers.context import JobContext
from workers.history.learn import learn
from workers.jobs import CheckPolicy, Job, LearnHistory, RedeliverWebhooks


def learn_history(job: LearnHistory, context: JobContext) -> Sequence[Job]:
    """Read the default branch's last changes. Resumes where an interrupted run stopped."""
    most = context.settings.learn_changes
    if most == 0:
        return ()
    github = context.connect(job.repository)
    head = github.default_branch()
    mirror = context.mirror(job.repository, github)
    mirror.fetch(head.sha)
    name, key = job.repository.full_name, job.repository.key
    read = learn(mirror.directory, key, store=context.store, sandbox=context.sandbox, tip=head.sha, most=most)
    context.progress(f"{name}: read {read.changes} past changes, and the outcomes of {read.findings} findings")
    return ()


def check_policy(_job: CheckPolicy, context: JobContext) -> Sequence[Job]:
    """Check the ledger once. The event's id is the job's, so that a repeated job rolls back once."""
    event = check(context.store, context.clock(), context.job_id)
    if event is not None:
        context.progress(f"policy {event.instead_of} is replaced by {event.version}: {event.reason}")
    return ()


KEPT = timedelta(days=3)
"""How long GitHub can redeliver a webhook."""

MIN_AGE = timedelta(minutes=2)
"""A recent delivery may still arrive, so it is not requested again."""

MOST_AT_ONCE = 50


def redeliver(_job: RedeliverWebhooks, context: JobContext) -> Sequence[Job]:
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
