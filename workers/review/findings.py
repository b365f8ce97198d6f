"""Reports of detectors as findings that keep their identity while the code around them moves. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.model import Finding, PastFinding, Severity
from memory.parsing import functions_in
from workers.diffs import split_lines
from workers.review.detectors.detector import MODEL, Category, RawFinding, ToolFix
from workers.review.detectors.rules import ruff_equivalent
from workers.review.source import scope_at, scopes

_ANCHOR_LINES = 10
LONGEST_MESSAGE = 500
"""Characters: a tool repeats names of the code, of whatever length."""
_NOSEC = re.compile(r"#\s*nosec\b(.*)")
_NOQA = re.compile(r"#\s*noqa\b(.*)", re.IGNORECASE)
_CODE = re.compile(r"\b[A-Z]+[0-9]+\b")
_SECRET = frozenset({"SEC001", "SEC002", "SEC003"})
_COVERED_BY: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("S110", "S112"), frozenset({"E722"})),
    "name-defined": frozenset({"F821"}),
    "no-redef": frozenset({"F811"}),
    **dict.fromkeys(("S105", "S106", "S107"), _SECRET),
}
"""Rules of one line that are reported once: those on the right cover the one on the left."""
_GRAVE = frozenset({Severity.MAJOR, Severity.CRITICAL})
_OF_A_HEADER = "B107"
"""bandit's guess that a default is a password: its lines are those of the whole function, and so of every change of it."""
_SILENCED_BY_COMMENTS = frozenset({"ruff", "bandit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingWithFix:
    """A finding and the remedy that its tool offers."""

    finding: Finding
    fix: ToolFix | None


def order(finding: Finding) -> tuple[str, int, int, str, str]:
    """The order of findings in every list."""
    return finding.path, finding.line, finding.end_line, finding.rule, finding.fingerprint


def seen_in(raw: Iterable[RawFinding], sources: Mapping[str, str]) -> tuple[FindingWithFix, ...]:
    """The findings in `sources` (text by path): duplicates merged, what a comment silences left out, in order."""
    by_path: dict[str, list[RawFinding]] = {}
    for found in raw:
        by_path.setdefault(found.path, []).append(found)
    seen = [each for path in by_path for each in _seen_in_file(path, by_path[path], sources[path])]
    return tuple(sorted(seen, key=lambda each: order(each.finding)))


def _seen_in_file(path: str, raw: Sequence[RawFinding], text: str) -> list[FindingWithFix]:
    lines, count = split_lines(text), Counter[tuple[str, str, str]]()
    scope = scope_at(scopes(text) if path.endswith((".py", ".pyi")) else ())
    seen = []
    placed = [_within(found, len(lines)) for found in raw]
    secret = {found.line: found.anchor or "" for found in placed if found.rule in _SECRET}
    shown = [secret.get(number, line) for number, line in enumerate(lines, 1)]
    for each in merged([found for found in placed if not _silenced(found, lines)]):
        found = replace(each, end_line=_header_end(text, each.line)) if each.rule == _OF_A_HEADER else each
        anchor = _anchor(found, shown)
        place = (found.rule, anchor, scope(found.line))
        fix = None if found.fix and secret.keys() & _lines_of(found, found.fix) else found.fix
        seen.append(FindingWithFix(finding=_finding(found, place, count[place]), fix=fix))
        count[place] += 1
    return seen


def _header_end(text: str, line: int) -> int:
    """The last line before the body of the function that begins in a line."""
    return max((each.body[0].lineno - 1 for each in functions_in(text) if each.lineno == line), default=line)


def _lines_of(found: RawFinding, fix: ToolFix) -> set[int]:
    """The lines of a finding and of its remedy: a suggestion would repeat them."""
    spans = [(found.line, found.end_line), *((edit.line, edit.end_line) for edit in fix.edits)]
    return {line for first, last in spans for line in range(first, last + 1)}


def _within(found: RawFinding, last: int) -> RawFinding:
    """The finding on lines that exist: a parser complains of the end of a file one line below it."""
    line = max(1, min(found.line, last))
    return replace(found, line=line, end_line=max(line, min(found.end_line, last)))


def _finding(found: RawFinding, place: tuple[str, str, str], index: int) -> Finding:
    rule, anchor, scope = place
    identity = "\0".join((found.path, rule, anchor, scope, str(index)))
    return Finding(
        fingerprint=hashlib.sha256(identity.encode()).hexdigest()[:32],
        path=found.path,
        line=found.line,
        end_line=found.end_line,
        tool=found.tool,
        rule=rule,
        category=found.category.value,
        severity=found.severity,
        message=found.message if len(found.message) <= LONGEST_MESSAGE else f"{found.message[: LONGEST_MESSAGE - 1]}…",
        anchor=anchor,
        own_linter=found.own_linter,
    )


def _anchor(found: RawFinding, lines: Sequence[str]) -> str:
    """The finding's own lines without their white space, at most the first ten, or what replaces them."""
    if found.anchor is not None:
        return found.anchor
    own = lines[found.line - 1 : found.end_line][:_ANCHOR_LINES]
    return "\n".join(" ".join(line.split()) for line in own)


def merged(raw: Iterable[RawFinding]) -> list[RawFinding]:
    """Each problem once, by place: ruff's words for what bandit reports too, with bandit's grade."""
    kept: list[RawFinding] = []
    by_rule: dict[str, list[int]] = {}
    for found in sorted(raw, key=lambda found: (found.tool == "bandit", *_place(found))):
        others = (at for at in by_rule.get(rule_of(found), ()) if kept[at].tool != found.tool)
        same = next((at for at in others if _overlap(kept[at], found)), None)
        if same is None:
            by_rule.setdefault(rule_of(found), []).append(len(kept))
            kept.append(found)
        else:
            kept[same] = replace(kept[same], severity=found.severity)
    on_line: dict[int, set[str]] = {}
    for found in kept:
        on_line.setdefault(found.line, set()).add(found.rule)
    kept = [found for found in kept if on_line[found.line].isdisjoint(_COVERED_BY.get(rule_of(found), ()))]
    tools = [found for found in kept if found.tool != MODEL]
    kept = [found for found in kept if found.tool != MODEL or not any(_covers(tool, found) for tool in tools)]
    return sorted(kept, key=_place)


def _covers(tool: RawFinding, found: RawFinding) -> bool:
    """Whether a tool reports what a model reports too: of the same lines and category, and not of much less harm."""
    grave = found.severity in _GRAVE and tool.severity not in _GRAVE
    return _overlap(tool, found) and tool.category is found.category and not grave


def _place(found: RawFinding) -> tuple[int, int, str, str]:
    return found.line, found.column, found.rule, found.message


def rule_of(found: RawFinding | Finding | PastFinding) -> str:
    """What a finding is about: ruff's rule where bandit reports the same, for either tool may have failed once."""
    return ruff_equivalent(found.rule) if found.tool == "bandit" else found.rule


def _overlap(one: RawFinding, other: RawFinding) -> bool:
    return one.line <= other.end_line and other.line <= one.end_line


def _silenced(found: RawFinding, lines: Sequence[str]) -> bool:
    """Whether a comment silences the same rule of the other tool: `# nosec` answers ruff's S rules too."""
    if found.category is not Category.SECURITY or found.tool not in _SILENCED_BY_COMMENTS:
        return False
    comment, answers = (
        (_NOQA, ruff_equivalent(found.rule)) if found.tool == "bandit" else (_NOSEC, "B" + found.rule[1:])
    )
    for line in lines[found.line - 1 : found.end_line]:
        match = comment.search(line)
        codes = _CODE.findall(match.group(1).partition("#")[0]) if match else []
        if match and (not codes or answers in codes):
            return True
    return False


def is_severe(finding: Finding) -> bool:
    """Whether it is reported even on an old line, in a function that the change touches."""
    security = finding.category == Category.SECURITY and finding.severity in _GRAVE
    return security or finding.severity is Severity.CRITICAL


def is_on(finding: Finding, changed: Mapping[str, frozenset[int]]) -> bool:
    """Whether it is on one of these lines, by path."""
    return not changed.get(finding.path, frozenset()).isdisjoint(finding.lines)


def beside(
    findings: Sequence[Finding], touched: Mapping[str, frozenset[int]], sources: Mapping[str, str]
) -> list[Finding]:
    """Those in a function or class, the innermost around them, of which a line is touched too."""
    found = []
    for path in dict.fromkeys(each.path for each in findings):
        scope = scope_at(scopes(sources.get(path, "")))
        names = {*map(scope, touched.get(path, ()))} - {""}
        found += [each for each in findings if each.path == path and scope(each.line) in names]
    return found
