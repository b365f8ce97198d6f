"""What the model says held against the code: what cannot be found there is not said. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memory.model import Severity
from workers.agent.reviewing.answers import MOST_FINDINGS, Candidate, Said
from workers.llm.untrusted import seen, verbatim
from workers.patches import replace_lines, split_lines
from workers.review.detectors.detector import MODEL, Category, Delta, FixEdit, RawFinding, ToolFix
from workers.review.detectors.rules import is_test_path

LONGEST_TITLE = 90
LONGEST_MESSAGE = 290
"""Characters of a title and its explanation together: no more is shown of any message."""

LONGEST_FINDING = 40
"""Lines of a finding; one on more stands on its first line."""

LONGEST_REPLACEMENT = 40
_BOM = "\ufeff"
_NO_LINES: frozenset[int] = frozenset()


def checked(said: Sequence[Said], paths: Collection[str], delta: Delta, *, described: bool = False) -> list[Candidate]:
    """Those of the findings whose quote stands on changed lines of `paths`, at the lines where it stands."""
    found = (_candidate(each, delta, described) for each in said[:MOST_FINDINGS] if each.path in paths)
    return unlike([each for each in found if each is not None], ())


def unlike(found: Sequence[Candidate], others: Sequence[Candidate | RawFinding]) -> list[Candidate]:
    """Each of the found that says of its lines what none before it and none of the `others` says."""
    kept: list[Candidate] = []
    for each in found:
        if not any(same_place(each, other) for other in (*others, *kept)):
            kept.append(each)
    return kept


def same_place(one: Candidate, other: Candidate | RawFinding) -> bool:
    """Whether both speak of the same: from the same line on, or of one category on lines in common."""
    if one.path != other.path:
        return False
    overlap = one.line <= other.end_line and other.line <= one.end_line
    return one.line == other.line or (overlap and one.category == other.category)


def _candidate(said: Said, delta: Delta, described: bool) -> Candidate | None:
    lines, added = split_lines(delta.head.sources[said.path]), delta.added.get(said.path, _NO_LINES)
    line = _place(said, lines, added)
    title = shortened(said.title, LONGEST_TITLE)
    if line is None or not title:
        return None
    length = max(0, said.end_line - said.line)
    end_line = line + (length if length < LONGEST_FINDING else 0)
    if end_line > len(lines) or added.isdisjoint(range(line, end_line + 1)):
        return None
    return Candidate(
        path=said.path,
        line=line,
        end_line=end_line,
        category=Category(said.category),
        severity=Severity(said.severity),
        title=title,
        explanation=shortened(said.explanation, LONGEST_MESSAGE - len(title)),
        replacement=said.replacement if length < LONGEST_FINDING else None,
        described=described,
    )


def _place(said: Said, lines: Sequence[str], added: frozenset[int]) -> int | None:
    """The line that is quoted: the one that is said, else the only changed one that reads so."""
    quote = next((bare for line in said.quote.splitlines() if (bare := _bare(line))), "")
    if not quote:
        return None
    if 1 <= said.line <= len(lines) and _bare(lines[said.line - 1]) == quote:
        return said.line
    places = [number for number in sorted(added) if _bare(lines[number - 1]) == quote]
    return places[0] if len(places) == 1 else None


def _bare(line: str) -> str:
    return " ".join(verbatim(line).split())


def shortened(text: str, most: int) -> str:
    """The model's words on one line, as people see them, at most so many characters."""
    line = " ".join(seen(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def raw_of(candidate: Candidate, text: str) -> RawFinding:
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


def _fix(candidate: Candidate, text: str) -> ToolFix | None:
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
