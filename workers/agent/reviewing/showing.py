"""What the model is shown of a change: numbered lines around what changed, file by file, in parts of a bounded size. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.diffs import Hunk, split_lines
from workers.llm.untrusted import data
from workers.review.detectors.detector import Delta
from workers.review.detectors.rules import is_test_path
from workers.review.source import CodeScope, scopes

PART = 24_000
"""Characters of one request: what is far longer is read with less care."""

MOST_PARTS = 6
"""Parts of one review, each of which is asked about once or twice."""

MOST_PAGES = 4
LONGEST_PAGE = PART - 500
"""Characters of one page, without the marks around it and what they spell out."""

CONTEXT = 3
LONGEST_SCOPE = 80
"""Lines of a function that is shown whole."""

TOO_LONG = "its change is too long for the model"
NO_ROOM = "over what the model reads of one review"

_NO_LINES: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One file as the model sees it, or a piece of a long one."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The parts, each of whole files, and why the others are in none, by path."""

    parts: tuple[tuple[Page, ...], ...]
    unread: Mapping[str, str]


def shown(delta: Delta, paths: Sequence[str]) -> Shown:
    """The files in parts, code before tests and what changed most first."""
    parts: list[list[Page]] = []
    room, unread = 0, dict[str, str]()
    for path in sorted(paths, key=lambda path: (is_test_path(path), -len(delta.added.get(path, _NO_LINES)), path)):
        pages = pages_of(delta, path)
        if not pages:
            unread[path] = TOO_LONG
        for page in pages:
            if not parts or len(page.text) > room:
                if len(parts) >= MOST_PARTS:
                    unread[path] = NO_ROOM
                    break
                parts.append([])
                room = PART
            parts[-1].append(page)
            room -= len(page.text)
    return Shown(parts=tuple(map(tuple, parts)), unread=unread)


def halves(part: Sequence[Page]) -> tuple[tuple[Page, ...], ...]:
    """A part as two; one file cannot be halved."""
    half = len(part) // 2
    return (tuple(part[:half]), tuple(part[half:])) if half else ()


def pages_of(delta: Delta, path: str) -> tuple[Page, ...]:
    """A file with the functions around its changed lines; where that is too long, the lines around them, on several pages.

    No page where even those are too many.
    """
    text = delta.head.sources[path]
    added, removed = delta.added.get(path, _NO_LINES), _removed(delta.hunks.get(path, ()))
    near = frozenset(at + by for at in added | removed.keys() for by in range(-CONTEXT, CONTEXT + 1))
    known = [each for each in scopes(text) if _is_short(each)] if path.endswith((".py", ".pyi")) else []
    around = (range(each.line, each.end_line + 1) for each in known if not added.isdisjoint(_lines(each)))
    whole = _paged(_rendered(text, near.union(*around), added, removed))
    pages = whole if len(whole) == 1 else _paged(_rendered(text, near, added, removed))
    if len(pages) > MOST_PAGES:
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


def excerpt(text: str, line: int, end_line: int, around: int = 8) -> str:
    """Numbered lines around a place."""
    wanted = frozenset(range(line - around, end_line + around + 1))
    return "\n".join(_rendered(text, wanted, _NO_LINES, {}))


def _is_short(scope: CodeScope) -> bool:
    return scope.end_line - scope.line < LONGEST_SCOPE


def _lines(scope: CodeScope) -> range:
    return range(scope.line, scope.end_line + 1)


def _removed(hunks: Sequence[Hunk]) -> dict[int, list[str]]:
    """What was taken away, by the number of the line that it stood before."""
    found: dict[int, list[str]] = {}
    for hunk in hunks:
        number = hunk.new_start + (hunk.new_count == 0)
        for line in hunk.lines:
            if line.startswith("-"):
                found.setdefault(number, []).append(line[1:])
            number += not line.startswith(("-", "\\"))
    return found


def _rendered(
    text: str, wanted: frozenset[int], added: frozenset[int], removed: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    gap = False
    lines = split_lines(text)
    for number in range(1, len(lines) + 2):
        for gone in removed.get(number, ()):
            yield f"     - | {gone.rstrip()}"
        if number in wanted and number <= len(lines):
            gap = False
            yield f"{number:>4} {'+' if number in added else ' '} | {lines[number - 1].rstrip()}"
        elif number <= len(lines) and not gap:
            gap = True
            yield "…"
