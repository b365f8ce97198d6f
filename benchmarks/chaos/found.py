"""What is there at the end: in the world of the stand-in, in the ledger, and in the table of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.chaos.github import ChaoticGitHub
from benchmarks.chaos.oracle import ONCE, JobEnd
from benchmarks.chaos.traffic import Conversation, is_checked
from bot.playground.models import HostedIssue, HostedPull, HostedRepository
from memory.model.jobs import JobState
from memory.store import Store
from workers.jobs import ACTED_ON, CommandedJob, ReportFailure, decode
from workers.messages.markdown import marked
from workers.messages.review import DUPLICATE
from workers.queue.enqueue import rows


def effects(github: ChaoticGitHub, store: Store, bot: str) -> Counter[str]:
    """How often each effect is there, by its name."""
    found = Counter[str]()
    with github.world.lock:
        for repository in github.world.repositories.values():
            for issue in repository.issues.values():
                found.update(_conversation(issue, bot))
                if isinstance(issue, HostedPull):
                    found.update(_reviews(issue, bot))
            found.update(_check_runs(repository, github))
    with store.database.reading() as connection:
        live = "SELECT source FROM signals WHERE retracts = '' AND id NOT IN (SELECT retracts FROM signals)"
        found.update(f"signal {source.partition('#')[0]}" for (source,) in connection.exec_driver_sql(live))
        stored = connection.exec_driver_sql("SELECT id FROM deliveries")
        found.update(f"delivery {guid}" for (guid,) in stored)
    return found


def wanted_deliveries(github: ChaoticGitHub) -> list[str]:
    """The names of the deliveries that have to be stored: those that were accepted, and those that a job comes from."""
    return [
        f"delivery {guid}"
        for guid, each in github.sent.items()
        if guid in github.accepted or _acts(each.event, each.action)
    ]


def _acts(event: str, action: str | None) -> bool:
    actions = ACTED_ON.get(event)
    return actions is not None and (not actions or action in actions)


def _conversation(issue: HostedIssue, bot: str) -> Iterator[str]:
    about = Conversation(issue.repository.full_name, issue.number)
    for each in issue.comments:
        if each.author.login == bot:
            yield f"answer {about}"
            yield f"{ONCE}post {marked(each.body)}"


def comments(github: ChaoticGitHub, wrong: Sequence[str]) -> str:
    """What is logged where one of these lines says that something is wrong."""
    lines = []
    with github.world.lock:
        for issue in (each for one in github.world.repositories.values() for each in one.issues.values()):
            about = Conversation(issue.repository.full_name, issue.number)
            if any(f" {about}:" in line for line in wrong):
                lines += [f"{about} {each.author.login}: {each.body!r}\n" for each in issue.comments]
    return "".join(lines)


def _reviews(pull: HostedPull, bot: str) -> Iterator[str]:
    """A review that GitHub made twice, and whose text says so, does not count."""
    about = Conversation(pull.repository.full_name, pull.number)
    if is_checked(pull):
        yield f"check {about}"
    for each in pull.reviews:
        if each.author.login == bot and each.body and DUPLICATE not in each.body:
            yield f"{ONCE}post {marked(each.body)}"
            if each.sha == pull.head_sha:
                yield f"summary {about}"
    for thread in pull.threads:
        first, *replies = thread.comments
        if first.author.login == bot:
            yield f"{ONCE}finding {about} {marked(first.body)}"
        for reply in replies:
            if reply.author.login == bot:
                yield f"receipt {about} {thread.id}"
                yield f"{ONCE}post {marked(reply.body)}"


def _check_runs(repository: HostedRepository, github: ChaoticGitHub) -> Iterator[str]:
    """GitHub shows the newest of a name alone, and deletes none: of those that it made too late one is left out."""
    late = set(github.late_checks)
    for each in repository.check_runs:
        if each.external_id in late:
            late.remove(each.external_id)
        else:
            yield f"{ONCE}check run {each.external_id}"


def ends(store: Store, log: str) -> list[JobEnd]:
    """Every job, and whether its failure was reported."""
    with store.database.reading() as connection:
        query = "SELECT id, kind, state, payload, reason FROM jobs"
        jobs = {row.id: row for row in connection.exec_driver_sql(query)}
    done = {each for each, row in jobs.items() if row.state == JobState.DONE}
    return [
        JobEnd(
            id=row.id,
            kind=row.kind,
            state=JobState(row.state),
            reason=row.reason,
            reported=row.state in (JobState.FAILED, JobState.DEAD)
            and _is_reported(row.id, bytes(row.payload), row.reason, done, log),
        )
        for row in jobs.values()
    ]


def _is_reported(job_id: str, payload: bytes, reason: str, done: set[str], log: str) -> bool:
    """A user who asked hears of a failure by a job of its own, the operator by a line of the log."""
    job = decode(payload)
    if not isinstance(job, CommandedJob):
        return job_id in log
    (report,) = rows(job_id, [ReportFailure(repository=job.repository, failed=job, reason=reason)])
    return report.id in done
