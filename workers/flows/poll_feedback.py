"""Find the outcomes of our posts: applied suggestions at each push, reactions at each poll and at the close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.model import Post, PostKind, Sighting, SignalKind
from workers.errors import Gone
from workers.flows.finding_outcomes import record_left_unchanged
from workers.flows.permissions import actor_of
from workers.flows.review_context import key_of_push
from workers.git import Mirror
from workers.job_context import JobContext
from workers.jobs import Job, PollReactions, TrackPull
from workers.ports import GitHub, UserReaction
from workers.review.outcomes import was_applied

LIKED = frozenset({"+1", "heart", "hooray", "rocket"})
DISLIKED = frozenset({"-1", "confused"})


def run(job: TrackPull, context: JobContext) -> Sequence[Job]:
    """Find the suggestions that the new commits apply; at the close, read the reactions once more and stop watching."""
    repository = job.repository.full_name
    if job.merged:
        _record_left_unchanged(job, context)
    watched = [post for post in context.store.posts.on(repository, job.number) if post.watched]
    if not watched:
        return ()
    github = context.connect(job.repository)
    _record_applied_suggestions(job, watched, github, context)
    if job.closed:
        for post in watched:
            _record_reactions(post, github, context)
            context.store.posts.unwatch(repository, post.kind, post.github_id)
    return ()


def poll(job: PollReactions, context: JobContext) -> Sequence[Job]:
    """Read the reactions to all watched posts of a repository."""
    github = context.connect(job.repository)
    for post in context.store.posts.watched(job.repository.full_name):
        _record_reactions(post, github, context)
    return ()


def _record_left_unchanged(job: TrackPull, context: JobContext) -> None:
    """Record the findings that a merge left unchanged, if the last commit was reviewed."""
    review = context.store.inbox.effect(key_of_push(job.repository, job.number, job.head_sha, "check"))
    left = [each for each in _sightings(job, context).values() if each.place.sha == job.head_sha]
    if review is not None and review.done_at is not None and left:
        actor = actor_of(job.actor)
        record_left_unchanged(left, actor, context.connect(job.repository).permission(actor), context)


def _record_applied_suggestions(job: TrackPull, watched: Sequence[Post], github: GitHub, context: JobContext) -> None:
    """GitHub sends no event for an applied suggestion, so compare the new head with each suggestion."""
    sightings = _sightings(job, context)
    suggested = [post for post in watched if _suggestion(post, sightings)]
    if not suggested:
        return
    mirror = context.mirror(job.repository, github)
    mirror.fetch(job.head_sha)
    actor = actor_of(job.actor)
    permission = github.permission(actor)
    author = github.pull(job.number).author.id == actor.id
    for post in suggested:
        if _applied(sightings[post.fingerprint], mirror, job.head_sha):
            for decision in post.decision_ids:
                context.learner.record_signal(
                    decision,
                    SignalKind.SUGGESTION_APPLIED,
                    actor,
                    permission,
                    f"applied:{post.github_id}",
                    is_author=author,
                )


def _sightings(job: TrackPull, context: JobContext) -> Mapping[str, Sighting]:
    found = context.store.posts.sightings(job.repository.full_name, job.number)
    return {sighting.finding.fingerprint: sighting for sighting in found}


def _suggestion(post: Post, sightings: Mapping[str, Sighting]) -> bool:
    sighting = sightings.get(post.fingerprint)
    return sighting is not None and sighting.finding.suggestion is not None


def _applied(sighting: Sighting, mirror: Mirror, head: str) -> bool:
    suggestion, path = sighting.finding.suggestion, sighting.finding.path
    assert suggestion is not None, "only posts with a suggestion are compared"
    try:
        mirror.fetch(sighting.sha)
    except Gone:
        return False
    before, after = mirror.text(sighting.sha, path), mirror.text(head, path)
    if before is None or after is None:
        return False
    return was_applied(suggestion, before, after)


def _record_reactions(post: Post, github: GitHub, context: JobContext) -> None:
    """Record each reaction as a signal; retract the signal of a removed reaction.

    One decision may have two posts (a fix and the answer that links to it), so the source names the post.
    """
    given = f"reaction:{post.kind}:{post.github_id}:"
    reactions = {f"{given}{each.id}": each for each in _reactions(post, github) if each.content in LIKED | DISLIKED}
    for decision in post.decision_ids:
        known = {s.source: s for s in context.store.ledger.live_signals((decision,)) if s.source.startswith(given)}
        for source in known.keys() - reactions.keys():
            context.learner.retract(decision, known[source].kind, source)
        for source in reactions.keys() - known.keys():
            _record_reaction(decision, source, reactions[source], github, context)


def _reactions(post: Post, github: GitHub) -> Sequence[UserReaction]:
    match post.kind:
        case PostKind.REVIEW_COMMENT:
            return github.review_comment_reactions(post.github_id)
        case PostKind.ISSUE_COMMENT:
            return github.issue_comment_reactions(post.github_id)
        case PostKind.FIX_PULL:
            return github.issue_reactions(post.github_id)


def _record_reaction(decision: str, source: str, reaction: UserReaction, github: GitHub, context: JobContext) -> None:
    kind = SignalKind.REACTION_UP if reaction.content in LIKED else SignalKind.REACTION_DOWN
    context.learner.record_signal(decision, kind, reaction.actor, github.permission(reaction.actor), source)
