"""The edit of a candidate made at the other places of its file that read alike: the slip that was copied.

Of 2,033 past fixes of one file in 28 projects, 42 make one edit at several places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from workers.repair.engines.search.candidates import TOKEN, Candidate

LONGEST, MOST_PLACES = 12, 8
"""An edit of more tokens is not repeated, nor one of what is in more places: that is how the file is written."""


class _Token(NamedTuple):
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """The tokens from `first` to `last` of a file become `code`; nothing lies between them where code is put in."""

    first: int
    last: int
    code: str


def repeated(candidate: Candidate, original: str) -> Iterator[Candidate]:
    """The same edit at all other places that read alike as well, then at the nearest of them alone."""
    tokens = _tokens(original)
    change = _change(tokens, original, candidate.source)
    places = _places(tokens, change) if change is not None else []
    if change is None or not 0 < len(places) <= MOST_PLACES:
        return
    nearest = min(places, key=lambda place: abs(place - change.first))
    for chosen in dict.fromkeys((tuple(places), (nearest,))):
        yield replace(candidate, source=_edited(tokens, original, change, sorted((*chosen, change.first))))


def _tokens(text: str) -> list[_Token]:
    """The tokens without comments, and an empty one for the end."""
    found = [_Token(m.group(), *m.span()) for m in TOKEN.finditer(text) if m.lastgroup != "comment"]
    return [*found, _Token("", len(text), len(text))]


def _change(tokens: Sequence[_Token], original: str, edited: str) -> _Change | None:
    """What an edit changes; None where that is much, or goes over several lines."""
    new = _tokens(edited)
    old_words, new_words = [token.text for token in tokens], [token.text for token in new]
    shortest = min(len(tokens), len(new))
    ahead = next((at for at in range(shortest) if old_words[at] != new_words[at]), shortest)
    behind = next((at for at in range(shortest - ahead) if old_words[-1 - at] != new_words[-1 - at]), shortest - ahead)
    first, last, end = ahead, len(tokens) - behind, len(new) - behind
    if not 1 < first <= last < len(tokens) or max(last - first, end - first) > LONGEST:
        return None
    begin = new[first].start if last > first else new[first - 1].end
    code = edited[begin : new[end - 1].end] if end > first else ""
    removed = original[tokens[first - 1].end : tokens[last].start] if last > first else ""
    return None if "\n" in code or "\n" in removed.strip() else _Change(first=first, last=last, code=code)


def _places(tokens: Sequence[_Token], change: _Change) -> list[int]:
    """Where the changed tokens begin elsewhere: with a word among them, and with a neighbour that is the same."""
    words = [token.text for token in tokens]
    size = change.last - change.first
    gone = words[change.first : change.last]
    before, behind = words[change.first - 2 : change.first], words[change.last]
    found = []
    for at in range(2, len(words) - size):
        if at == change.first or words[at : at + size] != gone:
            continue
        same = [word for word, other in ((before[1], words[at - 1]), (behind, words[at + size])) if word == other]
        named = any(word.isidentifier() for word in (*gone, *same))
        whole = len(same) == 2 and before[0] == words[at - 2]
        if named and (whole if not gone else same):
            found.append(at)
    return found


def _edited(tokens: Sequence[_Token], original: str, change: _Change, places: Sequence[int]) -> str:
    size, parts, done = change.last - change.first, [], 0
    for at in places:
        start = tokens[at].start if size and change.code else tokens[at - 1].end
        parts += [original[done:start], change.code]
        done = tokens[at + size - 1].end if size else start
    return "".join((*parts, original[done:]))
