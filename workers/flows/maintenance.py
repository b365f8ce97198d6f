"""Jobs that no comment asks for: let CI run, learn from the past, check the policy, find webhooks that never arrived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from memory.evaluation.rollback import check
from memory.store.documents import HookLogPosition
from workers.errors import CannotRun, Limited, Unavailable
from workers.flows.replies import may_command
from workers.history.learn import learn
from workers.job_context import JobContext
from workers.jobs import ACTED_ON, CheckPolicy, Job, LearnHistory, RedeliverWebhooks, ResumeInstallation, StartCi
from workers.messages.markdown import SKIP_CI, counted
from workers.ports import HookDelivery, HookLogPage

if TYPE_CHECKING:  # loads PyGithub
    from workers.github.minting import MintingClient


def start_ci(job: StartCi, context: JobContext) -> Sequence[Job]:
    """Push the head of a draft of ours that a person marked as ready once more, with the same files and without the mark that
    keeps CI away: only a new head makes GitHub run CI.

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


def learn_history(job: LearnHistory, context: JobContext) -> Sequence[Job]:
    """Read the default branch's last changes. Resumes where an interrupted run stopped."""
    github, most = context.connect(job.repository), context.settings.learn_changes
    if most == 0:
        return ()
    head = github.default_branch()
    mirror = context.mirror(job.repository, github)
    mirror.fetch(head.sha)
    name, key = job.repository.full_name, job.repository.key
    read = learn(mirror.directory, key, store=context.store, sandbox=context.sandbox, tip=head.sha, most=most)
    changes, findings = counted(read.changes, "past change"), counted(read.findings, "finding")
    context.progress(f"{name}: read {changes}, and the outcomes of {findings}")
    return ()


def check_policy(_job: CheckPolicy, context: JobContext) -> Sequence[Job]:
    """Check the ledger once. The event's id is the job's, so that a repeated job rolls back once."""
    event = check(context.store, context.clock(), context.job_id, quorum=context.settings.quorum)
    if event is not None:
        context.progress(f"policy {event.instead_of} is replaced by {event.version}: {event.reason}")
    return ()


def resume(job: ResumeInstallation, context: JobContext) -> Sequence[Job]:
    """Let the jobs of an installation that was suspended go on."""
    context.store.job_control.release(job.installation, now=context.clock())
    return ()


KEPT = timedelta(days=3)
"""How long GitHub can redeliver a webhook."""

MIN_AGE = timedelta(minutes=2)
"""A recent delivery may still arrive, so it is not requested again."""

OVERLAP = timedelta(minutes=5)
"""What was just compared is compared again: an attempt may be in the log a little later than its time says."""

CALLS_AT_ONCE = 70
"""Pages and requests of one job. The sweeper enqueues one a minute while there is more: GitHub allows an App 5,000 an hour."""

MAX_FAILURES = 5
"""The number of failed requests for one page after which GitHub counts as unavailable."""

REFUSED = frozenset({400, 413, 415})
"""The web process answers so to what it will never store."""


def redeliver(_job: RedeliverWebhooks, context: JobContext) -> Sequence[Job]:
    """Compare GitHub's log with the stored deliveries, from the newest to what was compared before, and request what is
    missing. A request that fails again is a new attempt in the log, and so is found by the next comparison.
    """
    hook = context.hook()
    if hook is not None:
        now = context.clock()
        position = context.store.hook_log.get("", HookLogPosition) or HookLogPosition(until=now - KEPT)
        try:
            _compare(context, hook, position, now)
        except CannotRun:  # a cursor that GitHub does not know any more must not stop all later comparisons
            context.store.hook_log.put("", HookLogPosition(until=position.until))
            raise
    return ()


def _compare(context: JobContext, hook: MintingClient, position: HookLogPosition, now: datetime) -> None:
    oldest = max(position.until - OVERLAP, now - KEPT)
    newest, cursor, calls = position.newest or now - MIN_AGE, position.cursor, CALLS_AT_ONCE
    while calls > 0:
        page, calls = hook.deliveries(cursor), calls - 1
        missing = _missing(context, page, oldest, newest)
        newest_status = page.deliveries[0].status if page.deliveries else HTTPStatus.ACCEPTED
        answers = newest_status in REFUSED or HTTPStatus.OK <= newest_status < HTTPStatus.MULTIPLE_CHOICES
        if missing and not cursor and not answers:  # the web process is down: requests would fail as well
            _request(context, hook, missing[0])  # if it arrives, the next comparison requests the others
            return
        _request_all(context, hook, missing[:calls])
        if len(missing) > calls:
            return  # the page is read again, without those that were requested
        calls -= len(missing)
        if not page.older or (page.deliveries and page.deliveries[-1].delivered_at < oldest):
            context.store.hook_log.put("", HookLogPosition(until=newest))
            return
        cursor = page.older
        context.store.hook_log.put("", HookLogPosition(until=position.until, newest=newest, cursor=cursor))


def _missing(context: JobContext, page: HookLogPage, oldest: datetime, newest: datetime) -> list[HookDelivery]:
    """The latest attempt of each delivery that jobs would come from and that was never stored, nor requested."""
    latest: dict[str, HookDelivery] = {}
    for each in page.deliveries:
        actions = ACTED_ON.get(each.event)
        counts = actions is not None and (not actions or each.action in actions) and each.status not in REFUSED
        if counts and oldest <= each.delivered_at <= newest:
            latest.setdefault(each.guid, each)
    unknown = context.store.jobs.unknown_deliveries(list(latest))
    return [each for each in latest.values() if each.guid in unknown and context.store.jobs.effect(_key(each)) is None]


def _request_all(context: JobContext, hook: MintingClient, missing: Sequence[HookDelivery]) -> None:
    """One that GitHub fails at holds up no other; raises Unavailable at the end then, and at once where GitHub is away."""
    failures = list[Unavailable]()
    for each in missing:
        try:
            _request(context, hook, each)
        except Limited:
            raise
        except Unavailable as error:
            failures.append(error)
            if len(failures) == MAX_FAILURES:
                break
    if failures:
        raise failures[0]


def _request(context: JobContext, hook: MintingClient, missing: HookDelivery) -> None:
    context.progress(f"asking GitHub to send {missing.event} {missing.guid} again")
    try:
        hook.redeliver(missing.id)
    except CannotRun as error:  # of this one: it read the log a moment ago
        context.progress(f"GitHub does not send {missing.event} {missing.guid} again: {error}")
    context.store.jobs.begin_effect(_key(missing), context.job_id, context.clock())


def _key(delivery: HookDelivery) -> str:
    """An attempt is requested once; one that fails again is an attempt of its own."""
    return f"redeliver:{delivery.id}"
