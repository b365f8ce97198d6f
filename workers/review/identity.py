"""Which findings of this round are those of earlier rounds, whatever became of the lines around them. Pure.

A finding is the same when the rule is broken in the same place, followed through everything that was pushed since it was
last seen; by what it says only where names in it tell two findings of one line apart, for tools reword what they say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import IntEnum

from memory.model import Finding
from workers.patches import Change, FileStatus, changed_lines
from workers.review.detectors.rules import twin
from workers.review.findings import order
from workers.review.lines import moved, touches

IN_PLACE = 0.5
"""How alike two texts are at least when one replaced the other. Of 1,223 one-line edits in this project's own history, 95 %
are; so are 24 % of unrelated lines of one kind, but those seldom replace each other and break the same rule."""

ELSEWHERE = 0.75
"""How alike they are at least in different places of a file: 1 % of unrelated lines of one kind, 76 % of the edits."""

LONGEST = 2_000
"""Characters of an anchor that are compared."""

_ONE_A_FILE = frozenset({"TST001"})
"""Told once of a whole file, on whichever line comes first."""

_NAMES = re.compile(r"['`\"]([^'`\"]+)['`\"]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A finding of an earlier round as it was last seen, and the fingerprint under which people were told of it.

    One that people were told to be `gone` is back only with the same text; what is merely like it is new.
    """

    fingerprint: str
    finding: Finding
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSeen:
    """What was last seen at one commit, and the change from there to the present, without context.

    The change is None where the commit cannot be had any more; then texts alone tell.
    """

    known: Sequence[Known]
    change: Change | None


class Likeness(IntEnum):
    """How two findings of one rule are known to be the same, the surest first."""

    STAYED = 0
    SAME = 1
    MOVED = 2
    EDITED = 3
    ALIKE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """What became of the place of a finding: its file's name now, its first line, and the lines that stand for its own.

    `line` is None where the first line was touched. `added` are the lines that were not there before, None if not known.
    """

    path: str
    line: int | None = None
    lines: frozenset[int] = frozenset()
    start: int = 0
    added: Mapping[str, frozenset[int]] | None = None
    arrived: frozenset[str] = frozenset()


def identities(rounds: Sequence[LastSeen], present: Sequence[Finding]) -> dict[str, str]:
    """The fingerprint for each finding of this round, by the one that it has by its place alone; no two get the same.

    `rounds` come with the most recently seen first. Whatever is the surest is matched first, and each known finding is
    one present finding at most; what remains is new.
    """
    names: dict[str, str] = {}
    named: set[str] = set()
    for likenesses in ((Likeness.STAYED, Likeness.SAME, Likeness.MOVED), (Likeness.EDITED, Likeness.ALIKE)):
        open_rounds = [_without(each, named) for each in rounds]
        left = [finding for finding in present if finding.fingerprint not in names]
        for _, known, found in sorted(_pairs(open_rounds, left, likenesses), key=lambda pair: pair[0]):
            if found.fingerprint not in names and known.fingerprint not in named:
                names[found.fingerprint] = known.fingerprint
                named.add(known.fingerprint)
    taken = {known.fingerprint for each in rounds for known in each.known}
    for finding in sorted(present, key=order):
        if finding.fingerprint not in names:
            names[finding.fingerprint] = _unused(finding.fingerprint, taken)
            taken.add(names[finding.fingerprint])
    return names


def _without(seen: LastSeen, named: AbstractSet[str]) -> LastSeen:
    return LastSeen(known=[each for each in seen.known if each.fingerprint not in named], change=seen.change)


def _unused(fingerprint: str, taken: AbstractSet[str]) -> str:
    """One of its own for a finding whose place was another's, as of a copy above the line that was there first."""
    wanted, number = fingerprint, 0
    while wanted in taken:
        number += 1
        wanted = hashlib.sha256(f"{fingerprint}\0{number}".encode()).hexdigest()[:32]
    return wanted


Rank = tuple[int, int, int, int, int, str, tuple[str, int, int, str, str]]


def _pairs(
    rounds: Sequence[LastSeen], present: Sequence[Finding], likenesses: Sequence[Likeness]
) -> Iterator[tuple[Rank, Known, Finding]]:
    by_rule: dict[str, list[Finding]] = {}
    for found in present:
        by_rule.setdefault(rule_of(found), []).append(found)
    for age, seen in enumerate(rounds):
        following = _Following(seen.change)
        for known in seen.known:
            if not (candidates := by_rule.get(rule_of(known.finding))):
                continue
            trace = following.trace(known.finding)
            for found in candidates:
                likeness, ratio = _likeness(known, trace, found, likenesses)
                if likeness is not None:
                    yield _rank(likeness, age, ratio, known, trace, found), known, found


def _rank(likeness: Likeness, age: int, ratio: float, known: Known, trace: _Trace, found: Finding) -> Rank:
    """Where a pair stands among all; that of two runs is the same, whatever order things came in."""
    other_words = known.finding.message != found.message
    way = abs(found.line - trace.start)
    return likeness, age, -round(ratio * 1000), other_words, way, known.fingerprint, order(found)


def rule_of(finding: Finding) -> str:
    """What the finding complains of: bandit's word for what ruff says too is ruff's, for either may have failed once."""
    return twin(finding.rule) if finding.tool == "bandit" else finding.rule


def _likeness(
    known: Known, trace: _Trace, found: Finding, likenesses: Sequence[Likeness]
) -> tuple[Likeness | None, float]:
    old = known.finding
    own, here = range(found.line, found.end_line + 1), found.path == trace.path
    if here and rule_of(found) in _ONE_A_FILE:
        return (Likeness.SAME, 1.0) if Likeness.SAME in likenesses else (None, 0.0)
    if here and found.line == trace.line:
        stayed = Likeness.STAYED in likenesses and not _tell_apart(old.message, found.message)
        return (Likeness.STAYED, 1.0) if stayed else (None, 0.0)
    in_place = here and not trace.lines.isdisjoint(own)
    fresh = trace.added is None or not trace.added.get(found.path, frozenset()).isdisjoint(own)
    if not (fresh or in_place):
        return None, 0.0  # it was there before, beside the one that we look for
    if Likeness.SAME in likenesses:
        if here and found.fingerprint in (old.fingerprint, known.fingerprint):
            return Likeness.SAME, 1.0
        return (Likeness.MOVED if _is_moved(old, found, here, trace) else None), 1.0
    if known.gone or not here:
        return None, 0.0
    ratio = _ratio(old.anchor, found.anchor)
    if in_place and ratio >= IN_PLACE:
        return Likeness.EDITED, ratio
    return (Likeness.ALIKE if ratio >= ELSEWHERE else None), ratio


def _is_moved(old: Finding, found: Finding, here: bool, trace: _Trace) -> bool:
    return old.anchor == found.anchor and (here or found.path in trace.arrived)


def _tell_apart(one: str, other: str) -> bool:
    """Whether two messages about one line name different things, as of the imports in it."""
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


@dataclass(slots=True)
class _Following:
    """Follows places through one change."""

    change: Change | None
    _added: Mapping[str, frozenset[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._added = changed_lines(self.change) if self.change else {}

    def trace(self, old: Finding) -> _Trace:
        if self.change is None:
            return _Trace(path=old.path, start=old.line)
        file = next((f for f in self.change.files if f.old_path == old.path and f.status is not FileStatus.ADDED), None)
        if file is None:
            return _Trace(path=old.path, line=old.line, start=old.line, added=self._added)
        if file.status is FileStatus.DELETED:
            arrived = frozenset(each.path for each in self.change.files if each.status is FileStatus.ADDED)
            return _Trace(path=file.path, start=old.line, added=self._added, arrived=arrived)
        touching = [hunk for hunk in file.hunks if touches(hunk, old.line, old.end_line)]
        kept = [
            line
            for line in range(old.line, old.end_line + 1)
            if not any(hunk.old_count and touches(hunk, line, line) for hunk in touching)
        ]
        stand = {moved(line, file.hunks) for line in kept}
        replaced = {line for hunk in touching for line in range(hunk.new_start, hunk.new_start + hunk.new_count)}
        first = touching[0] if touching else None
        return _Trace(
            path=file.path,
            line=moved(old.line, file.hunks) if old.line in kept else None,
            lines=frozenset(stand | replaced),
            start=first.new_start + old.line - first.old_start if first else moved(old.line, file.hunks),
            added=self._added,
        )


def path_now(path: str, change: Change | None) -> str:
    """What a file is called after a change; one that is gone keeps its name."""
    files = change.files if change else ()
    renamed = (file.path for file in files if file.old_path == path and file.status is FileStatus.RENAMED)
    return next(renamed, path)
