"""Hear what became of findings: how they ended with a push, and which ones stood when a change was merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from memory.model import Actor, Fate, Permission, Sighting, Signal, SignalKind
from workers.context import Context
from workers.errors import Retryable
from workers.flows.asking import actor_of
from workers.flows.rounds import Round
from workers.git import Mirror
from workers.patches import Change, parse_diff, split_lines
from workers.review.applied import was_applied
from workers.review.edits import applied
from workers.review.endings import ending, touches
from workers.review.engine import Reviewed
from workers.review.source import scope_of, scopes

KINDS: Mapping[Fate, SignalKind] = MappingProxyType(
    {
        Fate.APPLIED: SignalKind.FINDING_FIXED,
        Fate.FIXED: SignalKind.FINDING_FIXED,
        Fate.INDIRECT: SignalKind.FINDING_FIXED_ELSEWHERE,
        Fate.SILENCED: SignalKind.FINDING_SILENCED,
        Fate.REWRITTEN: SignalKind.FINDING_REWRITTEN,
        Fate.GONE: SignalKind.FINDING_GONE,
        Fate.LEFT: SignalKind.FINDING_LEFT,
    }
)
"""What each end is as a signal. A suggestion of ours that was applied is one of its own, heard elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pusher:
    actor: Actor
    permission: Permission
    is_author: bool


def hear_endings(this: Round, reviewed: Reviewed, context: Context) -> None:
    """Hear how the findings of earlier rounds ended that are no longer there; take it back for those that came back.

    A push is its sender's; asked for in a comment, a round says nothing of who pushed, and the author is held for it.
    """
    ended = _ended(this.earlier, context)
    for sighting in this.earlier:
        if sighting.finding.fingerprint in reviewed.present and sighting.decision_id in ended:
            signal = ended[sighting.decision_id]
            context.learner.take_back(sighting.decision_id, signal.kind, signal.source)
    gone = [
        sighting
        for sighting in this.earlier
        if sighting.finding.fingerprint not in reviewed.present
        and sighting.finding.path not in reviewed.unread
        and sighting.decision_id not in ended
    ]
    if not gone:
        return
    pusher, changed = _pusher(this), cache(partial(_changed, this.mirror, this.task.sha))
    for sighting in gone:
        fate = _fate(sighting, changed(sighting.sha), this)
        if fate is not None:
            _hear(sighting, fate, f"ended:{this.task.sha}", pusher, context)


def hear_left(sightings: Iterable[Sighting], merger: Actor, permission: Permission, context: Context) -> None:
    """Hear that a change was merged with these findings, as far as no end of theirs is known."""
    sightings = list(sightings)
    ended = _ended(sightings, context)
    for sighting in sightings:
        if sighting.decision_id not in ended:
            by = _Pusher(actor=merger, permission=permission, is_author=False)
            _hear(sighting, Fate.LEFT, f"merged:{sighting.sha}", by, context)


def _hear(sighting: Sighting, fate: Fate, source: str, by: _Pusher, context: Context) -> None:
    context.learner.hear(sighting.decision_id, KINDS[fate], by.actor, by.permission, source, is_author=by.is_author)


def _ended(sightings: Iterable[Sighting], context: Context) -> dict[str, Signal]:
    """By decision, the end that is known already."""
    kinds = frozenset(KINDS.values())
    live = context.store.ledger.live_signals([sighting.decision_id for sighting in sightings])
    return {signal.decision_id: signal for signal in live if signal.kind in kinds}


def _pusher(this: Round) -> _Pusher:
    author = this.pull.author
    actor = author if this.job.commanded else actor_of(this.job.actor)
    return _Pusher(actor=actor, permission=this.github.permission(actor), is_author=author.id == actor.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Was:
    """A finding as it was seen."""

    line: int
    end_line: int
    lines: tuple[str, ...]
    scope: str
    fixed: str | None
    removed: bool


def _changed(mirror: Mirror, head: str, seen_at: str) -> Change:
    """What changed since a commit that may have been pushed away; nothing where it cannot be had any longer."""
    try:
        mirror.fetch(seen_at)
    except Retryable:
        return Change(files=())
    return parse_diff(mirror.between(seen_at, head, context=0))


def _fate(sighting: Sighting, change: Change, this: Round) -> Fate | None:
    """How a finding ended that is not at the head any more; None where our suggestion was applied, or nothing can be told."""
    finding, suggestion = sighting.finding, sighting.finding.suggestion
    file = next((file for file in change.files if file.old_path == finding.path), None)
    before = _text(this.mirror, sighting.sha, finding.path) if file else None
    if file is None or before is None:
        return None
    after = _text(this.mirror, this.task.sha, file.path)
    if after is None:
        return Fate.GONE
    if suggestion is not None and was_applied(suggestion, before, after):
        return None
    was = _Was(
        line=finding.line,
        end_line=finding.end_line,
        lines=tuple(split_lines(before)[finding.line - 1 : finding.end_line]),
        scope=scope_of(finding.line, scopes(before)),
        fixed=applied(suggestion, before) if suggestion else None,
        removed=suggestion is not None and not suggestion.replacement.strip(),
    )
    return ending(was, [hunk for hunk in file.hunks if touches(hunk, was)], after, scopes(after))


def _text(mirror: Mirror, sha: str, path: str) -> str | None:
    content = mirror.read(sha, path)
    return None if content is None else content.decode(errors="replace")
