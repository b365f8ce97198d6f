"""Somebody did something about what we posted: weigh who they are, learn from it, say how far it reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from memory.model import Post, PostKind, Signal, SignalKind
from workers import comments
from workers.context import Context
from workers.flows.asking import actor_of
from workers.jobs import Feedback, Job
from workers.ports import GitHub

VERDICTS = frozenset({SignalKind.ACCEPTED, SignalKind.REJECTED})
CLOSED = frozenset({SignalKind.FIX_MERGED, SignalKind.FIX_CLOSED})


def run(job: Feedback, context: Context) -> Sequence[Job]:
    """Record one signal for each decision that it is about; a verdict in words gets a receipt."""
    posts = _posts(job, context)
    github = context.connect(job.repository)
    if job.undone:
        _take_back(job, posts, context)
        return ()
    heard = hear(job, posts, github, context)
    if job.kind in VERDICTS:
        _acknowledge(job, posts, heard, github, context)
    if job.kind in CLOSED:
        for post in posts:
            context.store.posts.unwatch(post.repository, post.kind, post.github_id)
    return ()


def hear(job: Feedback, posts: Sequence[Post], github: GitHub, context: Context) -> list[Signal]:
    """The signals that were new. The permission is looked up now, by the account's id."""
    if not posts:
        return []
    actor = actor_of(job.actor)
    permission = github.permission(actor)
    heard = [
        context.learner.hear(decision, job.kind, actor, permission, job.source)
        for post in posts
        for decision in post.decision_ids
    ]
    return [signal for signal in heard if signal is not None]


def _take_back(job: Feedback, posts: Sequence[Post], context: Context) -> None:
    for post in posts:
        for decision in post.decision_ids:
            context.learner.take_back(decision, job.kind, job.source, actor=actor_of(job.actor))


def _posts(job: Feedback, context: Context) -> list[Post]:
    """What the job's `about` names."""
    kind, _, number = job.about.partition(":")
    repository = job.repository.full_name
    if kind == "issue-comment":
        return context.store.posts.on(repository, int(number))[-1:]
    wanted = PostKind.FIX_PULL if kind == "pull" else PostKind.REVIEW_COMMENT
    post = context.store.posts.find(repository, wanted, int(number))
    return [post] if post else []


def _acknowledge(
    job: Feedback, posts: Sequence[Post], heard: Sequence[Signal], github: GitHub, context: Context
) -> None:
    """Answer where the verdict was given: in the review comment's thread, or in the conversation."""
    key = f"{context.job_id}:receipt"
    marker = comments.marker(key)
    kind, _, about = job.about.partition(":")
    if not posts:
        if kind == "issue-comment":
            text = comments.nothing_to_judge(key=key)
            _once(
                context, key, lambda: github.comment(int(about), text), lambda: github.find_comment(int(about), marker)
            )
        return
    number = posts[0].number
    text = comments.receipt(heard, wanted=job.kind is SignalKind.ACCEPTED, scope=_scope(posts, context), key=key)
    if kind == "comment":
        reply = partial(github.reply, number, int(about), text)
        _once(context, key, reply, lambda: github.find_reply(number, marker))
    else:
        _once(context, key, lambda: github.comment(number, text), lambda: github.find_comment(number, marker))


def _once(context: Context, key: str, make: Callable[[], int], find: Callable[[], int | None]) -> None:
    context.effects.once(key, make=make, find=find)


def _scope(posts: Sequence[Post], context: Context) -> str:
    """What the verdict speaks of, in words: the rule or error type, in this repository."""
    decision = context.store.ledger.decision(posts[0].decision_ids[0])
    assert decision is not None, "a post names decisions that were recorded before it was made"
    return f"{decision.state.label} in {decision.state.repository}"
