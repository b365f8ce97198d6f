"""Hear what became of findings: how they ended with a push, and which ones stood when a change was merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from memory.model import Actor, Fate, Permission, Sighting, Signal, SignalKind
from workers.diffs import Change, parse_diff, split_lines
from workers.flows.rounds import Round
from workers.history.outcomes import ending, was_applied
from workers.job_context import JobContext
from workers.review.engine import Reviewed
from workers.review.matching import touches
from workers.review.plan import INLINE
from workers.review.source import scope_of, scopes
from workers.review.suggestions import applied

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
"""What each end is as a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _By:
    """Whose doing an end is."""

    actor: Actor
    permission: Permission
    is_author: bool


def hear_endings(this: Round, reviewed: Reviewed, context: JobContext) -> None:
    """Hear how the findings of earlier rounds ended that are no longer there; take it back for those that came back.

    Whose push it was is not told of every commit: the author is held for all, and without write access it weighs nothing.
    """
    ended = _ended(this.earlier, context)
    for sighting in this.earlier:
        if sighting.finding.fingerprint in reviewed.present and sighting.decision_id in ended:
            signal = ended[sighting.decision_id]
            context.learner.retract(sighting.decision_id, signal.kind, signal.source)
    paths = this.again.paths
    gone = [
        sighting
        for sighting in this.earlier
        if (mark := sighting.finding.fingerprint) not in reviewed.present
        and paths.get(mark, sighting.finding.path) not in reviewed.unread
        and sighting.decision_id not in ended
    ]
    if not gone:
        return
    author, since = _author(this), cache(lambda sha: this.since(sha, _paths(this)))
    for sighting in gone:
        fate = _fate(sighting, since(sighting.place.sha), this)
        if fate is not None:
            _hear(sighting, fate, f"ended:{this.task.id}", author, context)


def record_left_unchanged(
    sightings: Iterable[Sighting], merger: Actor, permission: Permission, context: JobContext
) -> None:
    """Hear that a change was merged with these findings, as far as no end of theirs is known."""
    sightings = list(sightings)
    ended = _ended(sightings, context)
    for sighting in sightings:
        if sighting.decision_id not in ended:
            by = _By(actor=merger, permission=permission, is_author=False)
            _hear(sighting, Fate.LEFT, f"merged:{sighting.sha}", by, context)


def _hear(sighting: Sighting, fate: Fate, source: str, by: _By, context: JobContext) -> None:
    context.learner.record_signal(
        sighting.decision_id, KINDS[fate], by.actor, by.permission, source, is_author=by.is_author
    )


def _ended(sightings: Iterable[Sighting], context: JobContext) -> dict[str, Signal]:
    """By decision, the end that is known already."""
    kinds = frozenset(KINDS.values())
    live = context.store.ledger.live_signals([sighting.decision_id for sighting in sightings])
    return {signal.decision_id: signal for signal in live if signal.kind in kinds}


def _author(this: Round) -> _By:
    author = this.pull.author
    return _By(actor=author, permission=this.github.permission(author), is_author=True)


def _paths(this: Round) -> frozenset[str]:
    """The files that earlier findings stood in, and those of the change now."""
    return frozenset(each.place.path for each in this.earlier) | {file.path for file in parse_diff(this.diff).files}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Was:
    """A finding as it was seen."""

    rule: str
    lines: tuple[str, ...]
    scope: str
    fixed: str | None
    removed: bool


def _fate(sighting: Sighting, change: Change | None, this: Round) -> Fate | None:
    """How a finding ended that is not at the head any more; None where nothing can be told.

    A suggestion beside the code that was applied is another signal, heard elsewhere: that is None too.

    `change` is what happened since it was last seen, None where that commit cannot be had any longer.
    """
    place, suggestion = sighting.place, sighting.finding.suggestion
    file = next((file for file in change.files if file.old_path == place.path), None) if change else None
    before = this.mirror.text(place.sha, place.path) if file else None
    if file is None or before is None:
        return None
    after = this.mirror.text(this.task.sha, file.path)
    if after is None:
        return Fate.GONE
    as_said = this.mirror.text(sighting.sha, sighting.finding.path) if suggestion else None
    if suggestion is not None and as_said is not None and was_applied(suggestion, as_said, after):
        return None if sighting.action in INLINE else Fate.APPLIED
    was = _Was(
        rule=sighting.finding.rule,
        lines=tuple(split_lines(before)[place.line - 1 : place.end_line]),
        scope=scope_of(place.line, scopes(before)),
        fixed=applied(suggestion, before) if suggestion and before == as_said else None,
        removed=suggestion is not None and not suggestion.replacement.strip(),
    )
    touching = [hunk for hunk in file.hunks if touches(hunk, place.line, place.end_line)]
    return ending(was, touching, after, scopes(after))
