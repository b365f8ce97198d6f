"""Which findings of this round are those of earlier rounds, whatever became of the lines around them. Pure.

A finding is the same when the rule is broken in the same place, followed through everything that was pushed since it was
last seen. Its message counts only where names in it separate two findings of one line, for tools reword their messages.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import IntEnum

from memory.model import Finding
from workers.diffs import Change, FileChange, FileStatus, Hunk, changed_lines
from workers.review.findings import order, rule_of


def touches(hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk removes lines of `first`..`last` of the old side, or lies between them."""
    if hunk.old_count == 0:
        return first <= hunk.old_start < last
    return hunk.old_start <= last and first < hunk.old_start + hunk.old_count


def moved(line: int, hunks: Sequence[Hunk]) -> int:
    """The number on the new side of an old line that no hunk touches."""
    before = (hunk for hunk in hunks if hunk.old_start + max(hunk.old_count - 1, 0) < line)
    return line + sum(hunk.new_count - hunk.old_count for hunk in before)


def path_now(path: str, change: Change | None) -> str:
    """What a file is called after a change; one that is gone keeps its name."""
    files = change.files if change else ()
    renamed = (file.path for file in files if file.old_path == path and file.status is FileStatus.RENAMED)
    return next(renamed, path)


def without_context(change: Change) -> Change:
    """The same change in hunks without context lines."""
    return Change(
        files=tuple(
            replace(file, hunks=tuple(tight for hunk in file.hunks for tight in _tight(hunk))) for file in change.files
        )
    )


def _tight(hunk: Hunk) -> Iterator[Hunk]:
    old, new, block = hunk.old_start + (hunk.old_count == 0), hunk.new_start + (hunk.new_count == 0), list[str]()
    for line in (*(line for line in hunk.lines if not line.startswith("\\")), " "):
        if line.startswith(("-", "+")):
            block.append(line)
            continue
        if block:
            taken = sum(1 for each in block if each.startswith("-"))
            given = len(block) - taken
            yield Hunk(
                old_start=old - (taken == 0),
                old_count=taken,
                new_start=new - (given == 0),
                new_count=given,
                lines=tuple(block),
            )
            old, new, block = old + taken, new + given, []
        old, new = old + 1, new + 1


IN_PLACE = 0.5
"""How alike two texts are at least when one replaced the other. Of 1,223 one-line edits in this project's own history, 95 %
are; so are 24 % of unrelated lines of one kind, but those seldom replace each other and break the same rule."""

ELSEWHERE = 0.75
"""How alike they are at least in different places of a file: 1 % of unrelated lines of one kind, 76 % of the edits."""

LONGEST = 200
"""Characters of an anchor that are compared."""

LONGEST_PLACE = 1_000
"""Lines of a finding that are followed."""

NEAREST = 5
"""How many on either side of where a finding was are looked at, of many that it could be."""

_NAMES = re.compile(r"['`\"]([^'`\"]+)['`\"]")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFinding:
    """A finding of an earlier round as it was last seen, and the fingerprint under which it was posted.

    One that was reported as `gone` is back only with the same text; what is merely like it is new.
    """

    fingerprint: str
    finding: Finding
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSeen:
    """What was last seen at one commit, and the change from there to the present, without context.

    The change is None where the commit is gone; then texts alone decide.
    """

    known: Sequence[KnownFinding]
    change: Change | None


class MatchKind(IntEnum):
    """How two findings of one rule are known to be the same, the surest first."""

    STAYED = 0
    SAME = 1
    MOVED = 2
    EDITED = 3
    SIMILAR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _TracedFinding:
    """A known finding and what became of its place: its file's name now, its first line, and the lines that replaced its own.

    `age` counts from the newest round. `line` is None where the first line was touched; `start` is about where it would
    be. `added` are all lines of the change that were not there before, None if that is not known. `arrived` are the new
    files, where the own one is gone.
    """

    known: KnownFinding
    age: int
    path: str
    start: int
    line: int | None = None
    lines: frozenset[int] = frozenset()
    added: Mapping[str, frozenset[int]] | None
    arrived: frozenset[str] = frozenset()


_Rank = tuple[int, int, int, bool, int, str, tuple[str, int, int, str, str]]
_Pair = tuple[_Rank, str, str]
"""How sure a match is, the fingerprint of a present finding, and that of the known one that it may be."""


def _pair(each: _TracedFinding, found: Finding, kind: MatchKind, ratio: float = 1.0) -> _Pair:
    """The pair with its rank among all, the surest first, in whatever order the findings came."""
    rank = (
        kind,
        each.age,
        -round(ratio * 1000),
        each.known.finding.message != found.message,
        abs(found.line - each.start),
        each.known.fingerprint,
        order(found),
    )
    return rank, found.fingerprint, each.known.fingerprint


def identities(rounds: Sequence[LastSeen], present: Sequence[Finding]) -> dict[str, str]:
    """The fingerprint for each finding of this round, by the one that it has by its place alone; no two get the same.

    `rounds` come with the most recently seen first. The surest pairs are matched first, and each known finding is one
    present finding at most; what remains is new.
    """
    names: dict[str, str] = {}
    traced = list(_traced(rounds))
    for pairs_of in (_stayed, _same, _like):
        _match(pairs_of, traced, present, names)
    taken = {each.known.fingerprint for each in traced}
    for finding in sorted(present, key=order):
        if finding.fingerprint not in names:
            names[finding.fingerprint] = _unused(finding.fingerprint, taken)
            taken.add(names[finding.fingerprint])
    return names


def stood_before(before: Sequence[Finding], present: Sequence[Finding], change: Change) -> frozenset[str]:
    """Which of the present findings were there before a change; those from before name files by their new names."""
    paths = {file.path: file.old_path for file in change.files}
    old = [replace(each, path=paths.get(each.path, each.path)) for each in before]
    return seen_before(old, present, without_context(change))


def seen_before(before: Sequence[Finding], present: Sequence[Finding], change: Change) -> frozenset[str]:
    """Which of the present findings are among those from before a change without context."""
    known = [KnownFinding(fingerprint=each.fingerprint, finding=each) for each in before]
    marks = {each.fingerprint for each in before}
    names = identities([LastSeen(known=known, change=change)], present)
    return frozenset(own for own, name in names.items() if name in marks)


def _traced(rounds: Sequence[LastSeen]) -> Iterator[_TracedFinding]:
    """Follow each known finding through the change since; through one that is not known, by its file alone."""
    for age, seen in enumerate(rounds):
        files = seen.change.files if seen.change else ()
        known_files = {file.old_path: file for file in files if file.status is not FileStatus.ADDED}
        arrived = frozenset(file.path for file in files if file.status is FileStatus.ADDED)
        added = changed_lines(seen.change) if seen.change else None
        for known in seen.known:
            place, file = known.finding, known_files.get(known.finding.path)
            traced = _TracedFinding(known=known, age=age, path=place.path, start=place.line, added=added)
            if file is None:
                yield replace(traced, line=place.line if seen.change else None)
            elif file.status is FileStatus.DELETED:
                yield replace(traced, arrived=arrived)
            else:
                yield _through(traced, file, place.line, min(place.end_line, place.line + LONGEST_PLACE))


def _through(traced: _TracedFinding, file: FileChange, first: int, last: int) -> _TracedFinding:
    """What became of the lines `first`..`last` of a file that was edited."""
    touching = [hunk for hunk in file.hunks if touches(hunk, first, last)]
    lines, at, shift = set[int](), first, moved(first, file.hunks) - first
    for hunk in touching:
        lines.update(range(at + shift, hunk.old_start + (hunk.old_count == 0) + shift))
        lines.update(range(hunk.new_start, hunk.new_start + hunk.new_count))
        at, shift = hunk.old_start + max(hunk.old_count, 1), shift + hunk.new_count - hunk.old_count
    lines.update(range(at + shift, last + 1 + shift))
    is_taken = any(hunk.old_start <= first < hunk.old_start + hunk.old_count for hunk in touching)
    return replace(
        traced,
        path=file.path,
        start=next((hunk.new_start + first - hunk.old_start for hunk in touching), moved(first, file.hunks)),
        line=None if is_taken else moved(first, file.hunks),
        lines=frozenset(lines),
    )


def _match(
    pairs_of: Callable[[_TracedFinding, _FindingIndex], Iterator[_Pair]],
    traced: Sequence[_TracedFinding],
    present: Sequence[Finding],
    names: dict[str, str],
) -> None:
    """Name what has no name yet, by the surest of these pairs first."""
    named = set(names.values())
    among = _FindingIndex([finding for finding in present if finding.fingerprint not in names])
    left = (each for each in traced if each.known.fingerprint not in named)
    for _, own, name in sorted(pair for each in left for pair in pairs_of(each, among)):
        if own not in names and name not in named:
            names[own] = name
            named.add(name)


def _unused(fingerprint: str, taken: AbstractSet[str]) -> str:
    """A fingerprint for a finding whose place was another's, as of a copy above the line that was there first."""
    wanted, number = fingerprint, 0
    while wanted in taken:
        number += 1
        wanted = hashlib.sha256(f"{fingerprint}\0{number}".encode()).hexdigest()[:32]
    return wanted


class _FindingIndex:
    """Findings by their fingerprint, and by their rule and where they are."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.by_mark = {finding.fingerprint: finding for finding in findings}
        self._by_place = defaultdict[tuple[str | int, ...], list[Finding]](list)
        for finding in sorted(findings, key=order):
            place = rule_of(finding), finding.path
            for key in (place, (*place, finding.line), (*place, finding.anchor)):
                self._by_place[key].append(finding)

    def at(self, *place: str | int) -> Sequence[Finding]:
        """The findings of a rule in a file, by its lines; of those, where the place goes on, on a line or with a text."""
        return self._by_place.get(place, [])

    def near(self, line: int, *place: str) -> Sequence[Finding]:
        """Those of a place that are nearest to a line."""
        found = self.at(*place)
        at = bisect_left(found, line, key=lambda finding: finding.line)
        return found[max(0, at - NEAREST) : at + NEAREST]


def _stayed(each: _TracedFinding, among: _FindingIndex) -> Iterator[_Pair]:
    """On the line that its own is now, unless the two messages name different things, as imports of one line."""
    if each.line is not None:
        for found in among.at(rule_of(each.known.finding), each.path, each.line):
            if not _name_different_things(each.known.finding.message, found.message):
                yield _pair(each, found, MatchKind.STAYED)


def _same(each: _TracedFinding, among: _FindingIndex) -> Iterator[_Pair]:
    """The same text in the same function, or elsewhere in the file, or in a new one where the file is gone."""
    old, rule = each.known.finding, rule_of(each.known.finding)
    for mark in {old.fingerprint, each.known.fingerprint}:
        same = among.by_mark.get(mark)
        if same is not None and same.path == each.path and rule_of(same) == rule and _may_be(same, each):
            yield _pair(each, same, MatchKind.SAME)
    for path in (each.path, *sorted(each.arrived)):
        for found in among.near(each.start, rule, path, old.anchor):
            if _may_be(found, each):
                yield _pair(each, found, MatchKind.MOVED)


def _like(each: _TracedFinding, among: _FindingIndex) -> Iterator[_Pair]:
    """Similar text, more so where it is not in the place of the old."""
    if each.known.gone:
        return
    old = each.known.finding
    for found in among.near(each.start, rule_of(old), each.path):
        if not _may_be(found, each):
            continue
        ratio = _ratio(old.anchor, found.anchor)
        if ratio >= IN_PLACE and not each.lines.isdisjoint(found.lines):
            yield _pair(each, found, MatchKind.EDITED, ratio)
        elif ratio >= ELSEWHERE:
            yield _pair(each, found, MatchKind.SIMILAR, ratio)


def _may_be(found: Finding, place: _TracedFinding) -> bool:
    """Whether it is in the place of what is looked for, or on new lines: what was there beside it is another one."""
    if found.path == place.path:
        if found.line == place.line:
            return False  # another one, by the names in its message
        if not place.lines.isdisjoint(found.lines):
            return True
    return place.added is None or not place.added.get(found.path, frozenset()).isdisjoint(found.lines)


def _name_different_things(one: str, other: str) -> bool:
    names = set(_NAMES.findall(one)), set(_NAMES.findall(other))
    return all(names) and names[0].isdisjoint(names[1])


def _ratio(one: str, other: str) -> float:
    if one == other:
        return 1.0
    compared = SequenceMatcher(None, one[:LONGEST], other[:LONGEST], autojunk=False)
    least = min(IN_PLACE, ELSEWHERE)
    if compared.real_quick_ratio() < least or compared.quick_ratio() < least:
        return 0.0
    return compared.ratio()
