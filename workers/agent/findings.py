"""A review by a model: what it sees of a change, what it answers with, and the check of its answers against the code. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from memory.model import Severity
from memory.parsing import BOM
from memory.policy.review_policy import PROTECTED
from workers.diffs import Hunk, replace_lines, split_lines
from workers.llm.prompt_text import data, verbatim, visible_text
from workers.redaction import redact_lines
from workers.review.detectors.detector import MODEL, Category, Delta, FixEdit, RawFinding, ToolFix
from workers.review.detectors.rules import is_test_path
from workers.review.source import scopes

MAX_FINDINGS = 12
"""Findings of one answer; the others are not read."""

Kind = Literal["security", "correctness", "performance", "maintainability"]
Grade = Literal["info", "minor", "major", "critical"]


class ReportedFinding(Struct):
    """One finding: where it is, the text of its first line, what it is about, and what to write instead, if anything."""

    path: str
    line: int
    end_line: int
    quote: str
    category: Kind
    severity: Grade
    title: str
    explanation: str
    replacement: str | None = None


class ReportedFindings(Struct):
    """What was found, the worst first; an empty list for nothing."""

    findings: list[ReportedFinding]


class CritiqueVerdict(Struct):
    """The decision on the finding with this number; `principle` is the number of the one that it breaks, 0 for none."""

    finding: int
    verdict: Literal["keep", "revise", "drop"]
    principle: int = 0
    title: str | None = None
    explanation: str | None = None
    severity: Grade | None = None


class CritiqueVerdicts(Struct):
    """One verdict for each finding."""

    verdicts: list[CritiqueVerdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFinding:
    """A finding whose quote was found. `title` and `explanation` are fit to be shown; `replacement` is for its lines.

    `described` is one that was found with the author's description at hand.
    """

    path: str
    line: int
    end_line: int
    category: Category
    severity: Severity
    title: str
    explanation: str
    replacement: str | None = None
    described: bool = False

    @property
    def message(self) -> str:
        return f"{self.title}: {self.explanation}" if self.explanation else self.title

    @property
    def grave(self) -> bool:
        """Whether no machine's second thoughts may drop it."""
        serious = self.severity in (Severity.MAJOR, Severity.CRITICAL)
        return (serious and self.category in PROTECTED) or self.severity is Severity.CRITICAL


def lowered(severity: Severity) -> Severity:
    """One level less harm; the lowest stays."""
    return list(Severity)[max(0, severity.rank - 1)]


LONGEST_TITLE = 90
LONGEST_MESSAGE = 290
"""Characters of a title and its explanation together: no more is shown of any message."""

LONGEST_FINDING = 40
"""Lines of a finding; one on more is shown on its first line."""

LONGEST_REPLACEMENT = 40


def checked(
    reported: Sequence[ReportedFinding], paths: Collection[str], delta: Delta, *, described: bool = False
) -> list[ModelFinding]:
    """Those of the findings whose quote is on changed lines of `paths`, at the lines of the quote."""
    found = (_candidate(each, delta, described) for each in reported[:MAX_FINDINGS] if each.path in paths)
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
    lines, added = _shown_lines(delta.head.sources[reported.path]), delta.added.get(reported.path, frozenset())
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
    """The model's words on one line, as users see them, cut to `most` characters."""
    line = " ".join(visible_text(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def raw_of(candidate: ModelFinding, text: str) -> RawFinding:
    """The finding as every detector gives its own; its rule is one of four, whatever the model says."""
    return RawFinding(
        path=candidate.path,
        line=candidate.line,
        end_line=candidate.end_line,
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
    lines = split_lines(text.removeprefix(BOM))
    before, after = "".join(lines[: candidate.line - 1]), "".join(lines[candidate.end_line :])
    replaced = replace_lines(text.removeprefix(BOM), candidate.line, candidate.end_line, wanted)
    edit = FixEdit(
        line=candidate.line,
        column=1,
        end_line=candidate.end_line + 1,
        end_column=1,
        content=replaced[len(before) : len(replaced) - len(after)],
    )
    return ToolFix(edits=(edit,), safe=False)


PART = 24_000
"""Characters of one request: what is far longer is read with less care."""

MAX_PARTS = 6
"""Parts of one review, each of which is asked about once or twice."""

MAX_PAGES = 4
LONGEST_PAGE = PART - 500
"""Characters of one page, without the marks around it and what they spell out."""

AROUND = 8
"""Lines of an excerpt on each side of its place."""

CONTEXT = 3
LONGEST_SCOPE = 80
"""Lines of a function that is shown whole."""

TOO_LONG = "its change is too long for the model"
NO_ROOM = "over what the model reads of one review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One file as the model sees it, or a piece of a long one."""

    path: str
    text: str


def shown(delta: Delta, paths: Sequence[str]) -> tuple[list[tuple[Page, ...]], dict[str, str]]:
    """The files in parts, code before tests and what changed most first; and why the others are in none, by path."""
    parts: list[list[Page]] = []
    room, unread = 0, dict[str, str]()
    for path in sorted(paths, key=lambda path: (is_test_path(path), -len(delta.added.get(path, frozenset())), path)):
        pages = pages_of(delta, path)
        if not pages:
            unread[path] = TOO_LONG
        for page in pages:
            if not parts or len(page.text) > room:
                if len(parts) >= MAX_PARTS:
                    unread[path] = NO_ROOM
                    break
                parts.append([])
                room = PART
            parts[-1].append(page)
            room -= len(page.text)
    return [*map(tuple, parts)], unread


def pages_of(delta: Delta, path: str) -> tuple[Page, ...]:
    """A file with the functions around its changed lines; where that is too long, the lines around them, on several pages.

    No page where even those are too many.
    """
    text = delta.head.sources[path]
    added, removed = delta.added.get(path, frozenset()), _removed(delta.hunks.get(path, ()), delta.base.get(path, ""))
    near = frozenset(at + by for at in added | removed.keys() for by in range(-CONTEXT, CONTEXT + 1))
    known = scopes(text) if path.endswith((".py", ".pyi")) else ()
    bodies = (range(each.first_line, each.end_line + 1) for each in known)
    around = (body for body in bodies if len(body) <= LONGEST_SCOPE and not added.isdisjoint(body))
    whole = _paged(_rendered(text, near.union(*around), added, removed))
    pages = whole if len(whole) == 1 else _paged(_rendered(text, near, added, removed))
    if len(pages) > MAX_PAGES:
        return ()
    names = [path] if len(pages) == 1 else [f"{path} page {n} of {len(pages)}" for n in range(1, len(pages) + 1)]
    return tuple(Page(path=path, text=data(name, page, code=True)) for name, page in zip(names, pages, strict=True))


def _paged(lines: Iterable[str]) -> list[str]:
    """The lines on pages of a part's size."""
    pages: list[list[str]] = [[]]
    room = LONGEST_PAGE
    for line in lines:
        if pages[-1] and len(line) >= room:
            pages.append([])
            room = LONGEST_PAGE
        pages[-1].append(line)
        room -= len(line) + 1
    return ["\n".join(page) for page in pages]


def excerpt(text: str, line: int, end_line: int) -> str:
    """Numbered lines around a place."""
    wanted = frozenset(range(line - AROUND, end_line + AROUND + 1))
    return "\n".join(_rendered(text, wanted, frozenset(), {}))


def _removed(hunks: Sequence[Hunk], before: str) -> dict[int, list[str]]:
    """Removed lines of a file's text before, by the number of the line that follows them."""
    found: dict[int, list[str]] = {}
    past = _shown_lines(before)
    for hunk in hunks:
        number, old = hunk.new_start + (hunk.new_count == 0), hunk.old_start
        for line in hunk.lines:
            if line.startswith("-"):
                found.setdefault(number, []).append(past[old - 1] if old <= len(past) else line[1:])
            number += not line.startswith(("-", "\\"))
            old += not line.startswith(("+", "\\"))
    return found


def _shown_lines(text: str) -> list[str]:
    """The lines of a file without the credentials in it."""
    return split_lines(redact_lines(text))


def _rendered(
    text: str, wanted: frozenset[int], added: frozenset[int], removed: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    gap = False
    lines = _shown_lines(text)
    for number in range(1, len(lines) + 2):
        for gone in removed.get(number, ()):
            yield f"     - | {gone.rstrip()}"
        if number in wanted and number <= len(lines):
            gap = False
            yield f"{number:>4} {'+' if number in added else ' '} | {lines[number - 1].rstrip()}"
        elif number <= len(lines) and not gap:
            gap = True
            yield "…"
