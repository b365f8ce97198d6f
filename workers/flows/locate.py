"""Answer an issue in words with its likely places: on command, or where the repository wants it and the learner expects use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.model import Decision, Post, PostKind, Task, TaskKind
from memory.policy.issue_policy import ANSWER, asked_answer, decide_answer, state_of
from workers.flows.configured import configuration_at
from workers.flows.repair import issue_test
from workers.flows.replies import connected, post_comment
from workers.job_context import JobContext
from workers.jobs import Job, LocateIssue
from workers.localisation.locate import Located, locate
from workers.messages import locating
from workers.messages.conversation import web_root

if TYPE_CHECKING:
    from workers.git import Mirror
    from workers.github.adapter import GitHub

ANSWERS_A_DAY = 20
"""So many new issues of one repository are looked into a day without a command."""


def run(job: LocateIssue, context: JobContext) -> Sequence[Job]:
    """Look, decide whether to answer, and answer. A new issue with a test is the repair's.

    A new issue of an outsider is looked into as well: the repository asked for it, and nothing of the issue is run.
    """
    if not job.commanded and issue_test(job.body) is not None:
        return ()
    github = connected(job, context) if job.commanded else context.connect(job.repository)
    if github is None:
        return ()
    task, mirror = _pinned(job, github, context)
    if not job.commanded and not _is_wanted(job, task, mirror, context):
        return ()
    found = locate(mirror.directory, task.sha, f"{job.text}\n{job.title}\n{job.body}")
    if found.places:
        _answer_or_not(job, task, found, github, context)
    elif job.commanded:
        post_comment(job.number, locating.NOTHING, f"{task.id}:answer", context, github)
    return ()


def _pinned(job: LocateIssue, github: GitHub, context: JobContext) -> tuple[Task, Mirror]:
    """The task at the commit that the first worker on this job found, and the mirror with it."""
    made = context.task(TaskKind.ISSUE, job.repository, sha=github.default_branch().sha, number=job.number)
    stored = context.store.tasks.get(made.id)
    assert stored is not None, "it was added just now, here or by an earlier worker"
    mirror = context.mirror(job.repository, github)
    mirror.fetch(stored.task.sha)
    return stored.task, mirror


def _is_wanted(job: LocateIssue, task: Task, mirror: Mirror, context: JobContext) -> bool:
    """Whether the repository wants its new issues looked into, and few enough were today."""
    chosen = configuration_at(mirror, task.sha, job.repository, context).chosen
    if not chosen.issues.locate or chosen.silent:
        return False
    now, among = context.clock(), f"located:{job.repository.id}:"
    since = now - timedelta(days=1)
    begun = context.store.inbox.begin_limited(
        f"{among}{job.number}", context.job_id, now, among=among, since=since, most=ANSWERS_A_DAY
    )
    if not begun:
        context.progress(f"issue {job.number} was not looked into: {ANSWERS_A_DAY} others were within a day")
    return begun


def _answer_or_not(job: LocateIssue, task: Task, found: Located, github: GitHub, context: JobContext) -> None:
    decision = _decision(job, task, found, context)
    context.store.tasks.finish(task.id, decision.chosen, "")
    if decision.chosen != ANSWER:
        return
    root = f"{web_root(context.settings.github_url)}/{job.repository.full_name}"
    text = locating.answer(found, root=root, decision=decision.id, bot_name=context.settings.bot_name)
    comment = post_comment(job.number, text, f"{task.id}:answer", context, github)
    context.store.posts.add(
        Post(
            repository=task.repository,
            kind=PostKind.ISSUE_COMMENT,
            number=job.number,
            github_id=comment,
            decision_ids=(decision.id,),
            created_at=context.clock(),
        )
    )


def _decision(job: LocateIssue, task: Task, found: Located, context: JobContext) -> Decision:
    """The choice of an earlier worker on this job, or one that is made now."""
    if made := context.store.ledger.decisions_of_task(task.id):
        return made[0]
    learner, state = context.learner, state_of(task.repository, found.clue)
    arm = learner.arm(f"issue:{task.repository}:{job.number}")
    return (asked_answer if job.commanded else decide_answer)(learner, task.id, state, arm=arm)
