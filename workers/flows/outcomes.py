"""Tell by the code what became of what was posted: how findings ended, and whether fixes were merged as they are, or reverted."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memory.model import (
    Actor,
    Attempt,
    Failure,
    Fate,
    Permission,
    Post,
    PostKind,
    Sighting,
    Signal,
    SignalKind,
    Suggestion,
    Task,
    TaskKind,
)
from memory.parsing import PARSE_ERRORS, parse_module
from memory.rewards import trusted
from memory.store.database import load
from workers.diffs import Change, parse_diff, patched, split_lines
from workers.errors import Gone
from workers.flows.rounds import ReviewRound
from workers.git import Mirror
from workers.git_command import TooMuchForGit
from workers.history.outcomes import EndedFinding, ending, was_applied
from workers.job_context import JobContext
from workers.jobs import Feedback, StartCi, TrackPull, decodable
from workers.repair.result import Repaired
from workers.review.engine import Reviewed
from workers.review.matching import touches
from workers.review.plan import INLINE
from workers.review.source import scope_at, scopes
from workers.review.suggestions import applied, difference

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

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


def record_endings(current: ReviewRound, reviewed: Reviewed) -> None:
    """Record how the findings of earlier rounds ended that are no longer there; retract it for those that are back.

    Not every commit names who pushed it: all count as the author's, which weighs nothing without write access.
    """
    ended = _ended(current.earlier_findings, current.context)
    for sighting in current.earlier_findings:
        if sighting.finding.fingerprint in reviewed.present and sighting.decision_id in ended:
            signal = ended[sighting.decision_id]
            current.context.learner.retract(sighting.decision_id, signal.kind, signal.source)
    paths = current.known.paths
    gone = [
        sighting
        for sighting in current.earlier_findings
        if (mark := sighting.finding.fingerprint) not in reviewed.present
        and paths.get(mark, sighting.finding.path) not in reviewed.unread
        and sighting.decision_id not in ended
    ]
    if not gone:
        return
    author, source = current.pull.author, f"ended:{current.task.id}"
    permission = current.github.permission(author)
    files = frozenset(each.place.path for each in current.earlier_findings) | {
        file.path for file in parse_diff(current.diff).files
    }
    since = cache(lambda sha: current.since(sha, files))
    for sighting in gone:
        fate = _fate(sighting, since(sighting.place.sha), current)
        if fate is not None:
            current.context.learner.record_signal(
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


def _fate(sighting: Sighting, change: Change | None, current: ReviewRound) -> Fate | None:
    """How a finding ended that is no longer at the head; None where the code does not show it.

    An applied suggestion of an inline comment is None too: it is another signal, which the poll records.

    `change` is what happened since it was last seen, None where that commit is gone.
    """
    place, suggestion = sighting.place, sighting.finding.suggestion
    file = next((file for file in change.files if file.old_path == place.path), None) if change else None
    before = current.mirror.text(place.sha, place.path) if file else None
    if file is None or before is None:
        return None
    after = current.mirror.text(current.task.sha, file.path)
    if after is None:
        return Fate.GONE
    as_posted = current.mirror.text(sighting.sha, sighting.finding.path) if suggestion else None
    others = suggested_beside(sighting, current.earlier_findings)
    if suggestion is not None and as_posted is not None and was_applied(suggestion, as_posted, after, others):
        return None if sighting.action in INLINE else Fate.APPLIED
    was = EndedFinding(
        rule=sighting.finding.rule,
        lines=tuple(split_lines(before)[place.line - 1 : place.end_line]),
        scope=scope_at(scopes(before))(place.line),
        fixed=partial(applied, suggestion, before) if suggestion and before == as_posted else lambda: None,
        removed=suggestion is not None and not suggestion.replacement.strip(),
    )
    touching = [hunk for hunk in file.hunks if touches(hunk, place.line, place.end_line)]
    return ending(was, touching, after, scopes(after))


# ── Fixes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

MAX_FIXES = 100
"""How many of a repository's latest fixes are looked for in what is merged."""


def repair_of(decision_id: str, context: JobContext) -> tuple[Task, Failure, Attempt] | None:
    """The repair that a decision led to; None for anything else."""
    decision = context.store.ledger.decision(decision_id)
    stored = context.store.tasks.get(decision.task_id) if decision else None
    if stored is None or stored.task.kind is not TaskKind.REPAIR or not stored.summary:
        return None
    repaired = load(Repaired, stored.summary)
    attempt = next((each for each in repaired.attempts if each.decision_id == decision_id), None)
    return None if attempt is None or repaired.failure is None else (stored.task, repaired.failure, attempt)


def text_at(mirror: Mirror, sha: str, path: str) -> str | None:
    """A text at an earlier head; None where it or its commit is gone."""
    try:
        mirror.fetch(sha)
    except Gone:
        return None
    return mirror.text(sha, path)


CLOSED = frozenset({SignalKind.FIX_MERGED, SignalKind.FIX_EDITED, SignalKind.FIX_CLOSED})


def settled(job: Feedback, post: Post, github: GitHub, context: JobContext) -> Feedback:
    """What the end of a fix's pull request says, by the code. What a bot merges counts as of the user who marked it as ready."""
    job = replace(job, kind=_kind_of_end(job, post, github, context))
    if job.kind is SignalKind.FIX_CLOSED or not job.actor.is_bot:
        return job
    readied = context.store.jobs.about("ci", job.repository.id, job.subject.id)[-1:]
    users = [each.actor for each in decodable([last.payload for last in readied]) if isinstance(each, StartCi)]
    return replace(job, actor=users[0]) if users else job


def _kind_of_end(job: Feedback, post: Post, github: GitHub, context: JobContext) -> SignalKind:
    """A merge without our edit is an edit. A close is a merge where the base branch has our edit, as after a bot that pushes
    commits of its own. Where nothing can be seen, it is what it was.
    """
    found, closed = repair_of(post.decision_ids[0], context), job.kind is SignalKind.FIX_CLOSED
    if found is None or not (closed or job.head_sha):
        return job.kind
    mirror = context.mirror(job.repository, github)
    edits = list(_edits(found[0], found[2], mirror))
    try:
        head = mirror.tip(github.pull(job.subject.id).base_ref) if closed else job.head_sha
        mirror.fetch(head)
    except Gone:
        return job.kind
    kept = [edit.is_kept(now) for edit in edits if (now := mirror.text(head, edit.path)) is not None]
    if closed:
        return SignalKind.FIX_MERGED if edits and kept.count(True) == len(edits) else job.kind
    return job.kind if all(kept) else SignalKind.FIX_EDITED


def record_reverts(job: TrackPull, context: JobContext) -> None:
    """Record the merged fixes that a merged pull request takes out again, and those that it brings back."""
    fixes = context.store.posts.latest(job.repository.key, PostKind.FIX_PULL, MAX_FIXES)
    merged = [each for each in fixes if each.number != job.number and _outcomes(each, context)]
    if not merged:
        return
    github = context.connect(job.repository)
    pull = github.pull(job.number)
    job = replace(job, actor=pull.author if job.actor.is_bot else job.actor)  # a queue merges what others asked for
    permission = github.permission(job.actor)
    if trusted(permission, job.actor) == 0.0:
        return
    mirror = context.mirror(job.repository, github)
    try:
        mirror.fetch(job.head_sha, base := pull.base_sha)
        start = mirror.merge_base(base, job.head_sha)
        changed = {file.path for file in parse_diff(mirror.diff(start, job.head_sha)).files}
    except (Gone, TooMuchForGit):  # then nothing can be seen, and nothing is recorded
        return
    for post in merged:
        taken_out = _taken_out(post, mirror, start, job.head_sha, changed, context)
        if taken_out is True:
            _exchange(post, SignalKind.FIX_MERGED, SignalKind.FIX_REVERTED, job, permission, context)
        elif taken_out is False and SignalKind.FIX_REVERTED in _outcomes(post, context):
            _exchange(post, SignalKind.FIX_REVERTED, SignalKind.FIX_MERGED, job, permission, context)


def _exchange(
    post: Post, was: SignalKind, now: SignalKind, job: TrackPull, permission: Permission, context: JobContext
) -> None:
    """Record one signal and take back those that it makes untrue; a worker that does it again changes nothing."""
    for decision in post.decision_ids:
        context.learner.record_signal(decision, now, job.actor, permission, f"merge:{job.number}")
        for signal in context.store.ledger.live_signals([decision]):
            if signal.kind is was:
                context.learner.retract(decision, was, signal.source, actor=job.actor)


def _outcomes(post: Post, context: JobContext) -> set[SignalKind]:
    """Whether a fix was merged, and whether it is reverted."""
    live = context.store.ledger.live_signals(post.decision_ids[:1])
    return {signal.kind for signal in live} & {SignalKind.FIX_MERGED, SignalKind.FIX_REVERTED}


def _taken_out(
    post: Post, mirror: Mirror, start: str, end: str, changed: Collection[str], context: JobContext
) -> bool | None:
    """Whether a change takes a fix out (True) or brings it back (False); None where it does neither."""
    found = repair_of(post.decision_ids[0], context)
    if found is None or not set(changed).intersection(_paths(found[2])):
        return None
    turns = {
        (edit.is_in(mirror.text(start, edit.path)), edit.is_in(mirror.text(end, edit.path)))
        for edit in _edits(found[0], found[2], mirror)
    }
    return True if turns == {(True, False)} else False if turns == {(False, True)} else None


@dataclass(frozen=True, slots=True)
class _FixedFile:
    """One file of a fix, without and with it."""

    path: str
    without: str
    fixed: str

    def is_kept(self, now: str) -> bool:
        """Whether a text still has the edit; comments and the form of the code do not count."""
        return _tree(now) == _tree(self.fixed) or was_made(self.without, self.fixed, now)

    def is_in(self, now: str | None) -> bool | None:
        """Whether a text has the edit; None where it has neither the edit nor what was there before."""
        if now is None:
            return None
        if self.is_kept(now):
            return True
        return False if was_made(self.fixed, self.without, now) or now == self.without else None


def was_made(old: str, new: str, now: str) -> bool:
    """Whether a text that may have changed elsewhere has the edit from `old` to `new`."""
    found = difference(old, new, frozenset(range(1, len(split_lines(old)) + 1)))
    return found is not None and was_applied(found, old, now)


def _tree(text: str) -> str:
    """The code of a text without its form; the text itself where it does not parse."""
    try:
        return ast.dump(parse_module(text))
    except PARSE_ERRORS:
        return text


def _paths(attempt: Attempt) -> list[str]:
    return [file.path for file in parse_diff(attempt.patch).files]


def _edits(task: Task, attempt: Attempt, mirror: Mirror) -> Iterator[_FixedFile]:
    """The files of a fix that were there before; none where its commit is gone."""
    before = {path: text_at(mirror, task.sha, path) for path in _paths(attempt)}
    if all(text is not None for text in before.values()):
        for path, fixed in patched(attempt.patch, before.get).items():
            yield _FixedFile(path, before[path] or "", fixed)
