"""Learn from what users do with our posts: verdicts in comments, reactions, applied suggestions, reasons of a rejection.

Each signal counts by the permission of its user, looked up when it is recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from memory.model import (
    Attempt,
    Decision,
    Failure,
    NearMiss,
    Post,
    PostKind,
    Reflection,
    Sighting,
    Signal,
    SignalKind,
    Task,
    TaskKind,
)
from memory.reflections import edit_digest, store_reflection
from memory.rewards import trusted
from workers.diffs import apply_unified, parse_diff, patched
from workers.errors import Gone, NoAccess
from workers.flows.outcomes import (
    CLOSED,
    record_left_unchanged,
    record_reverts,
    repair_of,
    settled,
    suggested_beside,
    text_at,
    was_made,
)
from workers.flows.pinning import later_jobs
from workers.flows.replies import post_comment, reply_to_outsider
from workers.flows.rounds import REPAIR_OF_REVIEW, REVIEWED, cache_owner
from workers.git import Mirror
from workers.history.outcomes import was_applied
from workers.job_context import JobContext
from workers.jobs import POLLED_FOR, Feedback, Job, PollReactions, RepositoryRef, SubjectKind, TrackPull
from workers.messages import conversation

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

VERDICTS = frozenset({SignalKind.ACCEPTED, SignalKind.REJECTED})


def run(job: Feedback, context: JobContext) -> Sequence[Job]:
    """Record one signal for each judged decision; a verdict in a comment gets a receipt."""
    if _is_outdated(job, context):
        return ()
    posts = _posts(job, context)
    if job.undone:
        kinds = CLOSED if job.kind in CLOSED else {job.kind}
        for decision in _decisions(posts):
            for signal in _live_signals(decision, kinds, job, context):
                context.learner.retract(decision, signal.kind, signal.source, actor=job.actor)
        return ()
    github = context.connect(job.repository)
    if job.kind in CLOSED and posts:
        job = settled(job, posts[0], github, context)
    signals = _record_signals(job, posts, github, context)
    if job.kind is SignalKind.REJECTED and job.note:
        reflect(signals, job.note, job.repository, github, context)
    if job.kind in VERDICTS:
        _acknowledge(job, posts, signals, github, context)
    if job.kind in CLOSED:
        for post in posts:
            context.store.posts.unwatch(post.repository, post.kind, post.github_id)
    return ()


def _is_outdated(job: Feedback, context: JobContext) -> bool:
    """Whether a later event takes back what this one says, or says again what this one takes back, or is a later verdict of the
    same user on the same. Jobs that wait for GitHub are overtaken by those that do not need it.
    """
    later = [each for each in later_jobs(job.repository.id, job.number, context) if isinstance(each, Feedback)]
    who = (job.actor.id, job.subject)
    return any(
        {job.kind, each.kind} <= VERDICTS and (each.actor.id, each.subject) == who
        if each.source != job.source
        else each.kind is job.kind and each.undone is not job.undone
        for each in later
    )


def _record_signals(job: Feedback, posts: Sequence[Post], github: GitHub, context: JobContext) -> list[Signal]:
    """The live signals of this feedback, recorded now or by an earlier worker. Looks the permission up by account id."""
    if not posts or job.actor.is_bot:
        return []
    actor = job.actor
    permission = github.permission(actor)
    signals = []
    for decision in _decisions(posts):
        if not (live := _live_signals(decision, {job.kind}, job, context)):
            for earlier in context.store.ledger.live_signals([decision]) if job.kind in VERDICTS else ():
                if earlier.kind in VERDICTS and earlier.actor.id == actor.id:  # the last one counts
                    context.learner.retract(decision, earlier.kind, earlier.source)
            context.learner.record_signal(decision, job.kind, actor, permission, _fresh_source(decision, job, context))
            live = _live_signals(decision, {job.kind}, job, context)
        signals += live
    return signals


def _live_signals(decision: str, kinds: Collection[SignalKind], job: Feedback, context: JobContext) -> list[Signal]:
    live = context.store.ledger.live_signals([decision])
    return [signal for signal in live if signal.kind in kinds and _is_from(signal, job)]


def _fresh_source(decision: str, job: Feedback, context: JobContext) -> str:
    """The event's source, with a number after a retraction: each signal can be retracted only once."""
    if job.kind in VERDICTS:  # a job that is done again learns no verdict that was forgotten since
        return job.source
    signals = context.store.ledger.signals(decision)
    before = sum(1 for s in signals if s.kind is job.kind and _is_from(s, job) and not s.retracts)
    return f"{job.source}#{before + 1}" if before else job.source


def _is_from(signal: Signal, job: Feedback) -> bool:
    return signal.source.partition("#")[0] == job.source


def _decisions(posts: Sequence[Post]) -> list[str]:
    return list(dict.fromkeys(decision for post in posts for decision in post.decision_ids))


def _posts(job: Feedback, context: JobContext) -> list[Post]:
    repository, subject = job.repository.key, job.subject
    match subject.kind:
        case SubjectKind.CONVERSATION:
            return _last_post(repository, subject.id, context)
        case SubjectKind.FIX_PULL | SubjectKind.REVIEW_COMMENT:
            post = context.store.posts.find(repository, PostKind(subject.kind.value), subject.id)
            return [post] if post else []


def _last_post(repository: str, number: int, context: JobContext) -> list[Post]:
    """The posts that a verdict in a conversation judges: the last one, or all comments of the last review."""
    posts = context.store.posts.on(repository, number)
    if not posts or posts[-1].kind is not PostKind.REVIEW_COMMENT:
        return posts[-1:]
    last = _review_of(posts[-1], context)
    remarks = (post for post in posts if post.kind is PostKind.REVIEW_COMMENT)
    return [post for post in remarks if _review_of(post, context) == last]


def _review_of(post: Post, context: JobContext) -> str:
    """The task of the review that made a comment."""
    return _decision(post, context).task_id.removesuffix(REPAIR_OF_REVIEW)


def _acknowledge(
    job: Feedback, posts: Sequence[Post], signals: Sequence[Signal], github: GitHub, context: JobContext
) -> None:
    """Reply in the verdict's review thread or conversation."""
    key = f"{context.job_id}:receipt"
    thread = job.subject.id if job.subject.kind is SubjectKind.REVIEW_COMMENT else 0
    if trusted(github.permission(job.actor), job.actor) == 0.0:
        reply_to_outsider(job, context, github, text=conversation.NO_EFFECT, thread=thread)
        return
    if posts:
        states = [_decision(post, context).state for post in posts]
        scope = f"{', '.join(sorted({state.label for state in states}))} in {job.repository.full_name}"
        text = conversation.receipt(signals, wanted=job.kind is SignalKind.ACCEPTED, scope=scope)
    else:
        text = conversation.NOTHING_TO_JUDGE
    post_comment(job.number, text, key, context, github, thread=thread)


def _decision(post: Post, context: JobContext) -> Decision:
    decision = context.store.ledger.decision(post.decision_ids[0])
    assert decision is not None, "a post refers to decisions that exist before it"
    return decision


LIKED = frozenset({"+1", "heart", "hooray", "rocket"})
DISLIKED = frozenset({"-1", "confused"})


def track(job: TrackPull, context: JobContext) -> Sequence[Job]:
    """Find the suggestions that the new commits apply; at the close, read the reactions once more and stop watching.

    What a merge leaves unchanged is recorded if its last commit was reviewed.
    """
    repository = job.repository.key
    if job.closed:
        context.store.review_cache.remove_of(cache_owner(repository, job.number))
    else:
        context.store.posts.watch_again(repository, job.number)
    if job.merged:
        rounds = context.store.tasks.ended(TaskKind.REVIEW, repository, job.number)
        left = [each for each in _sightings(job, context).values() if each.place.sha == job.head_sha]
        if left and any(each.task.sha == job.head_sha and each.status == REVIEWED for each in rounds):
            permission = context.connect(job.repository).permission(job.actor)
            record_left_unchanged(left, job.actor, permission, context)
        record_reverts(job, context)
    watched = [post for post in context.store.posts.on(repository, job.number) if post.watched]
    if not watched:
        return ()
    github = context.connect(job.repository)
    _record_applied_suggestions(job, watched, github, context)
    if job.closed:
        later = later_jobs(job.repository.id, job.number, context)
        open_again = any(isinstance(each, TrackPull) and not each.closed for each in later)
        for post in watched:
            _record_reactions(post, github, context)
            if not open_again:
                context.store.posts.unwatch(repository, post.kind, post.github_id)
    return ()


MAX_POLLED = 50
"""Posts in one poll, drawn by lot, each with a request: GitHub allows an installation 5,000 an hour, and reviews need them."""


def poll(job: PollReactions, context: JobContext) -> Sequence[Job]:
    """Read the reactions to the watched posts of a repository; where the App has no access any more, watch them no more."""
    try:
        github = context.connect(job.repository)
    except NoAccess:
        context.store.posts.unwatch_all(job.repository.key)
        raise
    watched = context.store.posts.watched(job.repository.key, context.clock() - POLLED_FOR)
    for post in context.rng.sample(watched, min(len(watched), MAX_POLLED)):
        _record_reactions(post, github, context)
    return ()


def _record_applied_suggestions(job: TrackPull, watched: Sequence[Post], github: GitHub, context: JobContext) -> None:
    """GitHub sends no event for an applied suggestion, so compare the new head with each suggestion."""
    sightings = _sightings(job, context)
    remarks = (post for post in watched if post.kind is PostKind.REVIEW_COMMENT)
    suggesting = [
        post for post in remarks if (seen := sightings.get(post.fingerprint)) is None or seen.finding.suggestion
    ]
    if not suggesting:
        return
    mirror = context.mirror(job.repository, github)
    try:
        mirror.fetch(job.head_sha)
    except Gone:  # pushed over meanwhile: nothing can be compared
        return
    permission = github.permission(job.actor)
    author = github.pull(job.number).author.id == job.actor.id
    for post in suggesting:
        seen = sightings.get(post.fingerprint)
        applied = _applied(seen, sightings, mirror, job) if seen else _repair_applied(post, mirror, job, context)
        if applied:
            kind, source = SignalKind.SUGGESTION_APPLIED, f"applied:{post.github_id}"
            for decision in post.decision_ids:
                context.learner.record_signal(decision, kind, job.actor, permission, source, is_author=author)


def _sightings(job: TrackPull, context: JobContext) -> Mapping[str, Sighting]:
    found = context.store.posts.sightings(job.repository.key, job.number)
    return {sighting.finding.fingerprint: sighting for sighting in found}


def _applied(sighting: Sighting, sightings: Mapping[str, Sighting], mirror: Mirror, job: TrackPull) -> bool:
    suggestion, path = sighting.finding.suggestion, sighting.finding.path
    if suggestion is None or (before := text_at(mirror, sighting.sha, path)) is None:
        return False
    after = mirror.text(job.head_sha, path)
    others = suggested_beside(sighting, sightings.values())
    return after is not None and was_applied(suggestion, before, after, others)


def _repair_applied(post: Post, mirror: Mirror, job: TrackPull, context: JobContext) -> bool:
    """Whether the new head has the repair that a comment suggests."""
    found = repair_of(post.decision_ids[0], context)
    if found is None:
        return False
    task, _, attempt = found
    (file,) = parse_diff(attempt.patch).files
    before, after = text_at(mirror, task.sha, file.path), mirror.text(job.head_sha, file.path)
    if before is None or after is None:
        return False
    return was_made(before, apply_unified(before, attempt.patch), after)


def _record_reactions(post: Post, github: GitHub, context: JobContext) -> None:
    """Record each reaction as a signal; retract the signal of a removed reaction.

    One decision may have two posts (a fix and the answer that links to it), so the source names the post.
    """
    given = f"reaction:{post.kind}:{post.github_id}:"
    now = github.reactions(post.kind, post.github_id)
    reactions = {f"{given}{each.id}": each for each in now if each.content in LIKED | DISLIKED}
    for decision in post.decision_ids:
        known = {s.source: s for s in context.store.ledger.live_signals((decision,)) if s.source.startswith(given)}
        for source in known.keys() - reactions.keys():
            context.learner.retract(decision, known[source].kind, source)
        for source in reactions.keys() - known.keys():
            actor, content = reactions[source].actor, reactions[source].content
            kind = SignalKind.REACTION_UP if content in LIKED else SignalKind.REACTION_DOWN
            context.learner.record_signal(decision, kind, actor, github.permission(actor), source)


LONGEST = 500


def reflect(
    signals: Sequence[Signal], reason: str, repository: RepositoryRef, github: GitHub, context: JobContext
) -> None:
    """Keep the reason of a rejection by a user whose feedback counts, so that similar results are not repeated."""
    from workers.llm.prompt_text import rendered_text  # loaded only where there is something to clean

    words = " ".join(rendered_text(reason).split())[:LONGEST]
    for signal in signals:
        if signal.weight > 0.0:
            context.store.reasons.add(signal.id, words)
            if (found := repair_of(signal.decision_id, context)) is not None:
                mirror = context.mirror(repository, github)
                store_reflection(context.store, _reflection(signal, *found, words, mirror))


def _reflection(
    signal: Signal, task: Task, failure: Failure, attempt: Attempt, words: str, mirror: Mirror
) -> Reflection:
    return Reflection(
        id=signal.decision_id,
        repository=task.repository,
        failing_tests=failure.failing_tests,
        outcome=attempt.outcome,
        ruled_out=_digests(task.sha, attempt.patch, mirror),
        nearest=NearMiss(
            path="",
            line=0,
            template="",
            edit=attempt.patch,
            passed=len(failure.failing_tests),
            error_type="rejected",
            message=words,
        ),
        summary=f"A maintainer rejected this repair: {words}",
        created_at=signal.created_at,
    )


def _digests(sha: str, patch: str, mirror: Mirror) -> tuple[str, ...]:
    """The names under which the embedded engine knows the edits of a patch; none where the commit is gone."""
    try:
        mirror.fetch(sha)
    except Gone:
        return ()
    after = patched(patch, lambda path: mirror.text(sha, path))
    before = {path: mirror.text(sha, path) for path in after}
    return tuple(edit_digest(path, old, after[path]) for path, old in before.items() if old is not None)
