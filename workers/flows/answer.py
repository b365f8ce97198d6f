"""Answer a command that needs no work: why, help, or one that was not understood."""

from __future__ import annotations

from collections.abc import Sequence

from memory.explain import explain
from workers.comments import conversation
from workers.context import Context
from workers.flows.permissions import actor_of, answer_there, may_command, refuse
from workers.jobs import Answer, Job


def run(job: Answer, context: Context) -> Sequence[Job]:
    """Reply once, where the command was given."""
    github = context.connect(job.repository)
    if not may_command(github, actor_of(job.actor)):
        refuse(job, context, github)
        return ()
    key = f"{context.job_id}:answer"
    answer_there(job, _text(job, context, key), key, context, github)
    return ()


def _text(job: Answer, context: Context, key: str) -> str:
    bot_name = context.settings.bot_name
    if job.problem:
        return conversation.misunderstood(job.problem, job.suggestion, bot_name, key=key)
    if job.command == "why":
        return _why(job, context, key)
    return conversation.help_text(bot_name, key=key)


def _why(job: Answer, context: Context, key: str) -> str:
    reference = job.argument or _latest(job, context)
    explanation = explain(context.store, context.learner, reference) if reference else None
    # A decision of another repository is none of this one's business.
    if explanation is None or explanation.repository != job.repository.full_name:
        return conversation.unknown_decision(reference, key=key)
    return conversation.why(explanation.text(), key=key)


def _latest(job: Answer, context: Context) -> str:
    """The decision that a bare `why` asks about: the last one of this conversation."""
    posts = context.store.posts.on(job.repository.full_name, job.number)
    return posts[-1].decision_ids[-1] if posts else ""
