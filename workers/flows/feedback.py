"""Learn from a user's feedback on a post, weighted by the user's permission, and reply with its effect."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Decision, Post, PostKind, Signal, SignalKind
from workers.flows.permissions import actor_of, post_comment
from workers.flows.rejection_reasons import reflect
from workers.job_context import JobContext
from workers.jobs import Feedback, Job, SubjectKind
from workers.messages import conversation
from workers.messages.marker import marker
from workers.ports import GitHub

VERDICTS = frozenset({SignalKind.ACCEPTED, SignalKind.REJECTED})
CLOSED = frozenset({SignalKind.FIX_MERGED, SignalKind.FIX_CLOSED})


def run(job: Feedback, context: JobContext) -> Sequence[Job]:
    """Record one signal for each judged decision; a verdict in a comment gets a receipt."""
    posts = _posts(job, context)
    if job.undone:
        _retract(job, posts, context)
        return ()
    github = context.connect(job.repository)
    signals = _record_signals(job, posts, github, context)
    if job.kind is SignalKind.REJECTED and job.note:
        reflect(signals, job.note, job.repository, github, context)
    if job.kind in VERDICTS:
        _acknowledge(job, posts, signals, github, context)
    if job.kind in CLOSED:
        for post in posts:
            context.store.posts.unwatch(post.repository, post.kind, post.github_id)
    return ()


def _record_signals(job: Feedback, posts: Sequence[Post], github: GitHub, context: JobContext) -> list[Signal]:
    """The live signals of this feedback, recorded now or by an earlier worker. Looks the permission up by account id."""
    if not posts:
        return []
    actor = actor_of(job.actor)
    permission = github.permission(actor)
    signals = []
    for decision in _decisions(posts):
        if not (live := _live_signals(decision, job, context)):
            context.learner.record_signal(decision, job.kind, actor, permission, _fresh_source(decision, job, context))
            live = _live_signals(decision, job, context)
        signals += live
    return signals


def _retract(job: Feedback, posts: Sequence[Post], context: JobContext) -> None:
    for decision in _decisions(posts):
        for signal in _live_signals(decision, job, context):
            context.learner.retract(decision, signal.kind, signal.source, actor=actor_of(job.actor))


def _live_signals(decision: str, job: Feedback, context: JobContext) -> list[Signal]:
    live = context.store.ledger.live_signals([decision])
    return [signal for signal in live if signal.kind is job.kind and _is_from(signal, job)]


def _fresh_source(decision: str, job: Feedback, context: JobContext) -> str:
    """The event's source, with a number after a retraction: each signal can be retracted only once."""
    signals = context.store.ledger.signals(decision)
    before = sum(1 for s in signals if s.kind is job.kind and _is_from(s, job) and not s.retracts)
    return f"{job.source}#{before + 1}" if before else job.source


def _is_from(signal: Signal, job: Feedback) -> bool:
    return signal.source.partition("#")[0] == job.source


def _decisions(posts: Sequence[Post]) -> list[str]:
    return list(dict.fromkeys(decision for post in posts for decision in post.decision_ids))


def _posts(job: Feedback, context: JobContext) -> list[Post]:
    """The posts that the feedback judges."""
    repository, subject = job.repository.full_name, job.subject
    match subject.kind:
        case SubjectKind.CONVERSATION:
            return _last_post(repository, subject.id, context)
        case SubjectKind.FIX_PULL:
            post = context.store.posts.find(repository, PostKind.FIX_PULL, subject.id)
        case SubjectKind.REVIEW_COMMENT:
            post = context.store.posts.find(repository, PostKind.REVIEW_COMMENT, subject.id)
    return [post] if post else []


def _last_post(repository: str, number: int, context: JobContext) -> list[Post]:
    """The posts that a verdict in a conversation judges: the last one, or all comments of the last review."""
    posts = context.store.posts.on(repository, number)
    if not posts or posts[-1].kind is not PostKind.REVIEW_COMMENT:
        return posts[-1:]
    last = _decision(posts[-1], context).task_id
    remarks = (post for post in posts if post.kind is PostKind.REVIEW_COMMENT)
    return [post for post in remarks if _decision(post, context).task_id == last]


def _acknowledge(
    job: Feedback, posts: Sequence[Post], signals: Sequence[Signal], github: GitHub, context: JobContext
) -> None:
    """Reply in the verdict's review thread or conversation."""
    key = f"{context.job_id}:receipt"
    if posts:
        wanted = job.kind is SignalKind.ACCEPTED
        text = conversation.receipt(signals, wanted=wanted, scope=_scope(posts, context), key=key)
    else:
        text = conversation.nothing_to_judge(key=key)
    if job.subject.kind is SubjectKind.REVIEW_COMMENT:
        context.effects.once(
            key,
            make=lambda: github.reply(job.number, job.subject.id, text),
            find=lambda: github.find_reply(job.number, marker(key)),
        )
    else:
        post_comment(job.number, text, key, context, github)


def _scope(posts: Sequence[Post], context: JobContext) -> str:
    """The subject of the verdict in words: the rules or error type, and the repository."""
    states = [_decision(post, context).state for post in posts]
    labels = ", ".join(sorted({state.label for state in states}))
    return f"{labels} in {states[0].repository}"


def _decision(post: Post, context: JobContext) -> Decision:
    decision = context.store.ledger.decision(post.decision_ids[0])
    assert decision is not None, "a post refers to decisions that exist before it"
    return decision
