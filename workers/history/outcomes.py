"""What became of findings and suggestions, by the code alone. Pure."""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from operator import attrgetter

from memory.model import Fate, Finding, PastFinding, Suggestion
from workers.diffs import FileChange, FileStatus, Hunk, split_lines
from workers.history.changes import FileVersion, PastChange, ReadChange
from workers.line_matching import LineMatcher
from workers.review.matching import LONGEST, moved, touches
from workers.review.source import CodeScope, scope_at, scopes
from workers.review.suggestions import applied, apply_edits

CONTEXT_LINES = 2


def was_applied(suggestion: Suggestion, before: str, after: str, others: Sequence[Suggestion] = ()) -> bool:
    """Whether `after` holds the suggested lines where `before` held the lines they replace.

    Either the suggested lines with up to two neighbours on each side are in `after` and not in `before`, or they are all
    that is between the same two lines now: a deletion between blank lines leaves no other trace. The neighbours may be
    what one or all of the `others` suggest: GitHub commits several at once.
    """
    first, last = suggestion.start_line, suggestion.end_line
    near = [each for each in others if 0 < max(each.start_line - last, first - each.end_line) <= CONTEXT_LINES]
    old, new = _bare(split_lines(before)), _bare(split_lines(after))
    together = ([], *([each] for each in near), near)
    return any(_is_in(new, *_beside(suggestion, each, before)) for each in together) or _are_between(
        suggestion, old, new
    )


def _beside(suggestion: Suggestion, others: Sequence[Suggestion], text: str) -> tuple[Suggestion, str]:
    """The suggestion, and the text that it is for, once the others are applied, of which none overlaps it."""
    for each in sorted(others, key=attrgetter("start_line"), reverse=True):  # so that lines above keep their numbers
        text = applied(each, text)
        if each.start_line < suggestion.start_line:
            more = len(split_lines(each.replacement)) - (each.end_line - each.start_line + 1)
            first, last = suggestion.start_line + more, suggestion.end_line + more
            suggestion = replace(suggestion, start_line=first, end_line=last)
    return suggestion, text


def _is_in(new: list[str], suggestion: Suggestion, before: str) -> bool:
    """Whether the suggested lines with their neighbours are there now, and were not before."""
    old = _bare(split_lines(before))
    first, last = suggestion.start_line - 1, suggestion.end_line
    above, below = old[max(first - CONTEXT_LINES, 0) : first], old[last : last + CONTEXT_LINES]
    wanted = _bare([*above, *split_lines(suggestion.replacement), *below])
    return _contains(new, wanted) and not _contains(old, wanted)


def _are_between(suggestion: Suggestion, old: list[str], new: list[str]) -> bool:
    """Whether the lines around the replaced ones are still there, with the suggested ones between them."""
    kept = {-1: -1, len(old): len(new)}
    for block in LineMatcher(old, new).get_matching_blocks():
        kept |= {block.a + offset: block.b + offset for offset in range(block.size)}
    above, below = kept.get(suggestion.start_line - 2), kept.get(suggestion.end_line)
    if above is None or below is None:
        return False
    return new[above + 1 : below] == _bare(split_lines(suggestion.replacement))


def _contains(lines: list[str], wanted: list[str]) -> bool:
    return any(lines[start : start + len(wanted)] == wanted for start in range(len(lines) - len(wanted) + 1))


def _bare(lines: list[str]) -> list[str]:
    """Line ends do not count."""
    return [line.rstrip() for line in lines]


ALIKE = 0.5
"""A line that nothing this similar replaced went for other reasons, unless the tool's own remedy is to remove it."""

MAX_COMPARED = 200

_FILE_SILENCER = re.compile(r"^[ \t]*#[ \t]*(?:ruff|flake8):[ \t]*noqa(?P<codes>[^\n]*)", re.IGNORECASE | re.MULTILINE)
_CODE = re.compile(r"\b[A-Z]+[0-9]+\b")
_SILENCER = re.compile(r"#\s*(noqa|nosec|type:\s*ignore|pylint:\s*disable)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFinding:
    """A finding as it was last seen: its rule and lines, the scope around them, and what gives the file with its fix, if any.

    The file is made when it is asked for: a history has tens of thousands of findings open at a time. `removed`: the fix
    is to remove lines.
    """

    rule: str
    lines: tuple[str, ...]
    scope: str
    fixed: Callable[[], str | None]
    removed: bool


def ending(was: EndedFinding, touching: Sequence[Hunk], after: str, known: Sequence[CodeScope]) -> Fate:
    """What a change did to a finding that is no longer there: `touching` are the hunks on its lines.

    `after` is the file's text then, and `known` are the scopes in it.
    """
    if not touching:
        whole_file = (_CODE.findall(match["codes"]) for match in _FILE_SILENCER.finditer(after))
        silenced = any(not codes or was.rule.startswith(tuple(codes)) for codes in whole_file)
        return Fate.SILENCED if silenced else Fate.INDIRECT
    if after == was.fixed():
        return Fate.APPLIED
    added = [line[1:] for hunk in touching for line in hunk.lines if line.startswith("+")]
    alike = _alike(added, was.lines[0]) if was.lines else None
    if alike is not None and _SILENCER.search(alike) and not any(map(_SILENCER.search, was.lines)):
        return Fate.SILENCED
    if was.scope and all(scope.name != was.scope for scope in known):
        return Fate.GONE
    return Fate.FIXED if was.removed or alike is not None else Fate.REWRITTEN


def _alike(lines: Sequence[str], wanted: str) -> str | None:
    """The line that is most like one, if any is like it at all."""
    near = [
        (SequenceMatcher(None, wanted.strip()[:LONGEST], line.strip()[:LONGEST]).ratio(), line)
        for line in lines[:MAX_COMPARED]
    ]
    ratio, line = max(near, key=lambda each: each[0], default=(0.0, ""))
    return line if ratio >= ALIKE else None


HORIZON = 100
"""Changes of the branch after which what is still there was left."""

SWEEP = 10
"""Findings of one rule that a single change ends are a sweep from this many on."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """A finding that is still there: as it was found, and where it is now."""

    found: PastFinding
    line: int
    end_line: int
    was: EndedFinding
    decided: bool = False

    def decide(self, fate: Fate, now: PastChange) -> PastFinding:
        self.decided = True
        return replace(self.found, fate=fate, until=now.position)


@dataclass(slots=True)
class OutcomeTracker:
    """Follows findings from change to change. Give it every change once, in order."""

    horizon: int
    _open: dict[str, list[_Open]] = field(default_factory=dict)
    _waiting: deque[_Open] = field(default_factory=deque)

    def follow(self, change: ReadChange) -> Iterator[PastFinding]:
        """The findings whose fate is known with this change; what it brought is followed from here on."""
        while self._waiting and change.past.position - self._waiting[0].found.position > self.horizon:
            oldest = self._waiting.popleft()
            if not oldest.decided:
                yield oldest.decide(Fate.LEFT, change.past)
        if change.past.change:
            yield from _without_sweeps(list(self._through(change)))
        else:  # too large to be read: nothing that was there can be followed through it
            yield from (each.decide(Fate.GONE, change.past) for each in self._waiting if not each.decided)
            self._waiting.clear()
            self._open.clear()

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
                    yield each.decide(fate, change.past)
                elif not each.decided:
                    still.append(each)
            found = list(_new(version, file, still, change.past, known)) if version else []
            new += found
            if still or found:
                self._open.setdefault(file.path, []).extend((*still, *found))
        together = Counter(each.found.rule for each in new)
        for each in new:
            each.found = replace(each.found, burst=together[each.found.rule])
        self._waiting.extend(new)


def _without_sweeps(ended: Sequence[PastFinding]) -> Iterator[PastFinding]:
    """The same, but what one change ended many of was a tool's sweep, without a thought for each."""
    together = Counter(each.rule for each in ended if each.fate.addressed)
    for each in ended:
        swept = each.fate.addressed and together[each.rule] >= SWEEP
        yield replace(each, fate=Fate.SWEPT) if swept else each


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
    if version is None or _is_still_there(each, version, range(first, last + 1)):
        return None
    return ending(each.was, touching, version.text, known)


def _is_still_there(each: _Open, version: FileVersion, lines: range) -> bool:
    """Whether the same rule is still broken in those lines; the finding is there then."""
    rule = each.found.rule
    for finding in (seen.finding for seen in version.seen):
        if finding.rule == rule and finding.line < lines.stop and lines.start <= finding.end_line:
            each.line, each.end_line = finding.line, finding.end_line
            return True
    return False


def _new(
    version: FileVersion, file: FileChange, still: Sequence[_Open], past: PastChange, known: tuple[CodeScope, ...]
) -> Iterator[_Open]:
    """What a review of this change would have found: findings on its own lines that were not known before."""
    there = {(each.found.rule, each.line) for each in still}
    standing = Counter(seen.finding.rule for seen in version.seen if not _is_on(seen.finding, file))
    lines, scope = split_lines(version.text), scope_at(known)
    for seen in version.seen:
        finding = seen.finding
        if (finding.rule, finding.line) not in there and _is_on(finding, file):
            yield _Open(
                found=PastFinding(
                    sha=past.sha,
                    position=past.position,
                    path=file.path,
                    line=finding.line,
                    tool=finding.tool,
                    rule=finding.rule,
                    category=finding.category,
                    severity=finding.severity,
                    fixable=seen.fix is not None,
                    standing=standing[finding.rule],
                    burst=1,
                    fate=Fate.LEFT,
                    until=past.position,
                ),
                line=finding.line,
                end_line=finding.end_line,
                was=EndedFinding(
                    rule=finding.rule,
                    lines=tuple(lines[finding.line - 1 : finding.end_line]),
                    scope=scope(finding.line),
                    fixed=partial(apply_edits, version.text, seen.fix.edits) if seen.fix else lambda: None,
                    removed=seen.fix is not None and not any(edit.content.strip() for edit in seen.fix.edits),
                ),
            )


def _is_on(finding: Finding, file: FileChange) -> bool:
    return not file.added_lines.isdisjoint(finding.lines)
