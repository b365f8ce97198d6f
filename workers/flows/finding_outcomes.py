"""Record what became of findings: how they ended with a push, and which ones a merge left."""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from types import MappingProxyType

from memory.model import Actor, Fate, Permission, Sighting, Signal, SignalKind, Suggestion
from workers.diffs import Change, parse_diff, split_lines
from workers.flows.rounds import Round
from workers.history.outcomes import EndedFinding, ending, nothing, was_applied
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
"""The signal of each outcome."""


def record_endings(this: Round, reviewed: Reviewed) -> None:
    """Record how the findings of earlier rounds ended that are no longer there; retract it for those that are back.

    Not every commit names who pushed it: all count as the author's, which weighs nothing without write access.
    """
    ended = _ended(this.earlier, this.context)
    for sighting in this.earlier:
        if sighting.finding.fingerprint in reviewed.present and sighting.decision_id in ended:
            signal = ended[sighting.decision_id]
            this.context.learner.retract(sighting.decision_id, signal.kind, signal.source)
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
    author, source = this.pull.author, f"ended:{this.task.id}"
    permission = this.github.permission(author)
    files = frozenset(each.place.path for each in this.earlier) | {file.path for file in parse_diff(this.diff).files}
    since = cache(lambda sha: this.since(sha, files))
    for sighting in gone:
        fate = _fate(sighting, since(sighting.place.sha), this)
        if fate is not None:
            this.context.learner.record_signal(
                sighting.decision_id, KINDS[fate], author, permission, source, is_author=True
            )


def record_left_unchanged(
    sightings: Iterable[Sighting], merger: Actor, permission: Permission, context: JobContext
) -> None:
    """Record that a change was merged with these findings, as far as no outcome of theirs is known."""
    sightings = list(sightings)
    ended = _ended(sightings, context)
    for sighting in sightings:
        if sighting.decision_id not in ended:
            source = f"merged:{sighting.sha}"
            context.learner.record_signal(sighting.decision_id, KINDS[Fate.LEFT], merger, permission, source)


def suggested_beside(sighting: Sighting, sightings: Iterable[Sighting]) -> list[Suggestion]:
    """The suggestions of the same review in the file of a finding, its own too."""
    place = (sighting.sha, sighting.finding.path)
    of_file = (each.finding for each in sightings if (each.sha, each.finding.path) == place)
    return [finding.suggestion for finding in of_file if finding.suggestion is not None]


def _ended(sightings: Iterable[Sighting], context: JobContext) -> dict[str, Signal]:
    """By decision, the outcome that is known already."""
    kinds = frozenset(KINDS.values())
    live = context.store.ledger.live_signals([sighting.decision_id for sighting in sightings])
    return {signal.decision_id: signal for signal in live if signal.kind in kinds}


def _fate(sighting: Sighting, change: Change | None, this: Round) -> Fate | None:
    """How a finding ended that is no longer at the head; None where the code does not show it.

    An applied suggestion of an inline comment is None too: it is another signal, which the poll records.

    `change` is what happened since it was last seen, None where that commit is gone.
    """
    place, suggestion = sighting.place, sighting.finding.suggestion
    file = next((file for file in change.files if file.old_path == place.path), None) if change else None
    before = this.mirror.text(place.sha, place.path) if file else None
    if file is None or before is None:
        return None
    after = this.mirror.text(this.task.sha, file.path)
    if after is None:
        return Fate.GONE
    as_posted = this.mirror.text(sighting.sha, sighting.finding.path) if suggestion else None
    others = suggested_beside(sighting, this.earlier)
    if suggestion is not None and as_posted is not None and was_applied(suggestion, as_posted, after, others):
        return None if sighting.action in INLINE else Fate.APPLIED
    was = EndedFinding(
        rule=sighting.finding.rule,
        lines=tuple(split_lines(before)[place.line - 1 : place.end_line]),
        scope=scope_of(place.line, scopes(before)),
        fixed=partial(applied, suggestion, before) if suggestion and before == as_posted else nothing,
        removed=suggestion is not None and not suggestion.replacement.strip(),
    )
    touching = [hunk for hunk in file.hunks if touches(hunk, place.line, place.end_line)]
    return ending(was, touching, after, scopes(after))
