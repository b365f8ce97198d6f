"""Check the model's findings against the code: a finding whose quote is not there is dropped. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memory.model import Severity
from workers.agent.reviewing.answers import MOST_FINDINGS, ModelFinding, ReportedFinding
from workers.diffs import replace_lines, split_lines
from workers.llm.untrusted import verbatim, visible_text
from workers.review.detectors.detector import MODEL, Category, Delta, FixEdit, RawFinding, ToolFix
from workers.review.detectors.rules import is_test_path

LONGEST_TITLE = 90
LONGEST_MESSAGE = 290
"""Characters of a title and its explanation together: no more is shown of any message."""

LONGEST_FINDING = 40
"""Lines of a finding; one on more is shown on its first line."""

LONGEST_REPLACEMENT = 40
_BOM = "\ufeff"
_NO_LINES: frozenset[int] = frozenset()


def checked(
    reported: Sequence[ReportedFinding], paths: Collection[str], delta: Delta, *, described: bool = False
) -> list[ModelFinding]:
    """Those of the findings whose quote is on changed lines of `paths`, at the lines of the quote."""
    found = (_candidate(each, delta, described) for each in reported[:MOST_FINDINGS] if each.path in paths)
    return unlike([each for each in found if each is not None], ())


def unlike(found: Sequence[ModelFinding], others: Sequence[ModelFinding | RawFinding]) -> list[ModelFinding]:
    """Each finding that is about other lines, or of another category, than those before it and the `others`."""
    kept: list[ModelFinding] = []
    for each in found:
        if not any(same_place(each, other) for other in (*others, *kept)):
            kept.append(each)
    return kept


def same_place(one: ModelFinding, other: ModelFinding | RawFinding) -> bool:
    """Whether both are about the same: from the same line on, or of one category on lines in common."""
    if one.path != other.path:
        return False
    overlap = one.line <= other.end_line and other.line <= one.end_line
    return one.line == other.line or (overlap and one.category == other.category)


def _candidate(reported: ReportedFinding, delta: Delta, described: bool) -> ModelFinding | None:
    lines, added = split_lines(delta.head.sources[reported.path]), delta.added.get(reported.path, _NO_LINES)
    line = _place(reported, lines, added)
    title = shortened(reported.title, LONGEST_TITLE)
    if line is None or not title:
        return None
    length = max(0, reported.end_line - reported.line)
    end_line = line + (length if length < LONGEST_FINDING else 0)
    if end_line > len(lines) or added.isdisjoint(range(line, end_line + 1)):
        return None
    return ModelFinding(
        path=reported.path,
        line=line,
        end_line=end_line,
        category=Category(reported.category),
        severity=Severity(reported.severity),
        title=title,
        explanation=shortened(reported.explanation, LONGEST_MESSAGE - len(title)),
        replacement=reported.replacement if length < LONGEST_FINDING else None,
        described=described,
    )


def _place(reported: ReportedFinding, lines: Sequence[str], added: frozenset[int]) -> int | None:
    """The line that is quoted: the reported one, else the only changed one that reads so."""
    quote = next((bare for line in reported.quote.splitlines() if (bare := _bare(line))), "")
    if not quote:
        return None
    if 1 <= reported.line <= len(lines) and _bare(lines[reported.line - 1]) == quote:
        return reported.line
    places = [number for number in sorted(added) if _bare(lines[number - 1]) == quote]
    return places[0] if len(places) == 1 else None


def _bare(line: str) -> str:
    return " ".join(verbatim(line).split())


def shortened(text: str, most: int) -> str:
    """The model's words on one line, as people see them, at most so many characters."""
    line = " ".join(visible_text(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def raw_of(candidate: ModelFinding, text: str) -> RawFinding:
    """The finding as every detector gives its own; its rule is one of four, whatever the model says."""
    return RawFinding(
        path=candidate.path,
        line=candidate.line,
        end_line=candidate.end_line,
        column=1,
        tool=MODEL,
        rule=f"{MODEL}-{candidate.category.value}",
        category=candidate.category,
        severity=candidate.severity,
        message=candidate.message,
        fix=_fix(candidate, text),
    )


def _fix(candidate: ModelFinding, text: str) -> ToolFix | None:
    """Whole lines for whole lines, on trial; none for tests, which would vouch for themselves, nor with unseen characters."""
    wanted = candidate.replacement
    if wanted is None or is_test_path(candidate.path) or verbatim(wanted) != wanted:
        return None
    if wanted.count("\n") > LONGEST_REPLACEMENT:
        return None
    lines = split_lines(text.removeprefix(_BOM))
    before, after = "".join(lines[: candidate.line - 1]), "".join(lines[candidate.end_line :])
    replaced = replace_lines(text.removeprefix(_BOM), candidate.line, candidate.end_line, wanted)
    edit = FixEdit(
        line=candidate.line,
        column=1,
        end_line=candidate.end_line + 1,
        end_column=1,
        content=replaced[len(before) : len(replaced) - len(after)],
    )
    return ToolFix(edits=(edit,), safe=False)
