"""What became of findings in later changes, told from the code alone. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from memory.model import Fate, Finding, PastFinding
from workers.diffs import FileChange, FileStatus, split_lines
from workers.history.changes import FileVersion, PastChange, ReadChange
from workers.review.findings import FindingWithFix
from workers.review.matching import moved, touches
from workers.review.outcomes import ending
from workers.review.source import CodeScope, scope_of, scopes
from workers.review.suggestions import apply_edits

HORIZON = 100
"""Changes of the branch after which what is still there was left."""

SWEEP = 10
"""Findings of one rule that a single change ends are a sweep from this many on."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """A finding that is still there: as it was found, and where it stands now."""

    past: PastChange
    path: str
    seen: FindingWithFix
    standing: int
    burst: int = 1
    line: int
    end_line: int
    scope: str
    lines: tuple[str, ...]
    fixed: str | None
    removed: bool
    decided: bool = False

    @property
    def rule(self) -> str:
        return self.seen.finding.rule


@dataclass(slots=True)
class OutcomeTracker:
    """Follows findings from change to change. Give it every change once, in order."""

    horizon: int = HORIZON
    _open: dict[str, list[_Open]] = field(default_factory=dict)
    _waiting: deque[_Open] = field(default_factory=deque)

    def follow(self, change: ReadChange) -> Iterator[PastFinding]:
        """The findings whose fate is known with this change; what it brought is followed from here on."""
        yield from self._left(change.past)
        yield from _without_sweeps(list(self._through(change))) if change.past.change else self._lost(change.past)

    def _through(self, change: ReadChange) -> Iterator[PastFinding]:
        new: list[_Open] = []
        for file in change.past.change.files if change.past.change else ():
            here = self._open.pop(file.old_path, []) if file.status is not FileStatus.ADDED else []
            version = change.versions.get(file.path)
            known = scopes(version.text) if version and (version.seen or here) else ()
            still = []
            for each in here:
                fate = None if each.decided else _fate(each, file, version, known)
                if fate is not None:
                    yield _decided(each, fate, change.past, change.past.sha)
                elif not each.decided:
                    still.append(each)
            found = list(_new(version, file, still, change.past, known)) if version else []
            new += found
            if still or found:
                self._open.setdefault(file.path, []).extend((*still, *found))
        together = Counter(each.seen.finding.rule for each in new)
        for each in new:
            each.burst = together[each.seen.finding.rule]
        self._waiting.extend(new)

    def _lost(self, now: PastChange) -> Iterator[PastFinding]:
        """A change that was too large to be read: nothing that was there can be followed through it."""
        for each in self._waiting:
            if not each.decided:
                yield _decided(each, Fate.GONE, now, now.sha)
        self._waiting.clear()
        self._open.clear()

    def _left(self, now: PastChange) -> Iterator[PastFinding]:
        while self._waiting and now.position - self._waiting[0].past.position > self.horizon:
            oldest = self._waiting.popleft()
            if not oldest.decided:
                yield _decided(oldest, Fate.LEFT, now, "")


def _without_sweeps(ended: Sequence[PastFinding]) -> Iterator[PastFinding]:
    """The same, but for what one change ended many of: that was a tool's sweep, and nobody thought of each."""
    together = Counter(each.rule for each in ended if each.fate.addressed)
    for each in ended:
        swept = each.fate.addressed and together[each.rule] >= SWEEP
        yield replace(each, fate=Fate.SWEPT) if swept else each


def _decided(each: _Open, fate: Fate, now: PastChange, by: str) -> PastFinding:
    each.decided = True
    finding = each.seen.finding
    return PastFinding(
        sha=each.past.sha,
        position=each.past.position,
        at=each.past.at,
        path=each.path,
        line=finding.line,
        tool=finding.tool,
        rule=finding.rule,
        category=finding.category,
        severity=finding.severity,
        fixable=each.seen.fix is not None,
        standing=each.standing,
        burst=each.burst,
        fate=fate,
        until=now.position,
        by=by,
    )


def _fate(each: _Open, file: FileChange, version: FileVersion | None, known: tuple[CodeScope, ...]) -> Fate | None:
    """What a change of the file did to a finding in it; None while it is still there, its place then being the new one."""
    if file.status is FileStatus.DELETED:
        return Fate.GONE
    touching = [hunk for hunk in file.hunks if touches(hunk, each.line, each.end_line)]
    if touching and version is None:
        return Fate.GONE
    if touching:
        first = min(hunk.new_start for hunk in touching)
        last = max(hunk.new_start + hunk.new_count for hunk in touching)
    else:
        first, last = (moved(line, file.hunks) for line in (each.line, each.end_line))
        each.line, each.end_line = first, last
    if version is None or _stands(each, version, range(first, last + 1)):
        return None
    return ending(each, touching, version.text, known)


def _stands(each: _Open, version: FileVersion, lines: range) -> bool:
    """Whether the same rule is still broken in those lines; the finding is there then."""
    rule = each.seen.finding.rule
    for finding in (seen.finding for seen in version.seen):
        if finding.rule == rule and finding.line < lines.stop and lines.start <= finding.end_line:
            each.line, each.end_line = finding.line, finding.end_line
            return True
    return False


def _new(
    version: FileVersion, file: FileChange, still: Sequence[_Open], past: PastChange, known: tuple[CodeScope, ...]
) -> Iterator[_Open]:
    """What a review of this change would have said: findings on its own lines that were not known before."""
    there = {(each.seen.finding.rule, each.line) for each in still}
    standing = Counter(seen.finding.rule for seen in version.seen if not _is_on(seen.finding, file))
    lines = split_lines(version.text)
    for seen in version.seen:
        finding = seen.finding
        if (finding.rule, finding.line) not in there and _is_on(finding, file):
            yield _Open(
                past=past,
                path=file.path,
                seen=seen,
                standing=standing[finding.rule],
                line=finding.line,
                end_line=finding.end_line,
                scope=scope_of(finding.line, known),
                lines=tuple(lines[finding.line - 1 : finding.end_line]),
                fixed=apply_edits(version.text, seen.fix.edits) if seen.fix else None,
                removed=seen.fix is not None and not any(edit.content.strip() for edit in seen.fix.edits),
            )


def _is_on(finding: Finding, file: FileChange) -> bool:
    return not file.added_lines.isdisjoint(range(finding.line, finding.end_line + 1))
