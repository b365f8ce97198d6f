"""What the model found in earlier rounds and still stands there, whatever it says this time. Pure.

A model that is asked twice answers twice. What people were told stays said in the same words while its lines stand, and
is gone when they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from memory.model import Sighting
from workers.agent.reviewing.answers import Candidate
from workers.agent.reviewing.checking import raw_of, same_place
from workers.patches import split_lines
from workers.review.detectors.detector import MODEL, Category, RawFinding


def standing(earlier: Sequence[Sighting], sources: Mapping[str, str]) -> tuple[RawFinding, ...]:
    """The model's findings of earlier rounds at the lines where they stand in `sources` (text by path)."""
    of_model = [each for each in earlier if each.finding.tool == MODEL]
    bare = {path: [" ".join(line.split()) for line in split_lines(text)] for path, text in sources.items()}
    found = (_standing(each, bare) for each in of_model) if of_model else ()
    return tuple(each for each in found if each is not None)


def with_news(stood: Sequence[RawFinding], new: Sequence[Candidate], sources: Mapping[str, str]) -> list[RawFinding]:
    """What stands, each with the remedy that was found for it now, and then what is new."""
    known = [_with_remedy(each, new, sources) for each in stood]
    fresh = [each for each in new if not any(same_place(each, other) for other in stood)]
    return [*known, *(raw_of(each, sources[each.path]) for each in fresh)]


def _standing(sighting: Sighting, bare: Mapping[str, Sequence[str]]) -> RawFinding | None:
    finding, place = sighting.finding, sighting.place
    anchor = place.anchor.split("\n")
    at = _nearest(anchor, bare.get(place.path, ()), place.line)
    path = place.path
    if at is None and path not in bare:
        moved = [(other, line) for other, lines in bare.items() for line in _starts(anchor, lines)]
        path, at = moved[0] if len(moved) == 1 else (path, None)
    if at is None:
        return None
    end = min(at + place.end_line - place.line, len(bare[path]))
    return RawFinding(
        path=path,
        line=at,
        end_line=end,
        column=1,
        tool=MODEL,
        rule=finding.rule,
        category=Category(finding.category),
        severity=finding.severity,
        message=place.message,
    )


def _nearest(anchor: Sequence[str], lines: Sequence[str], near: int) -> int | None:
    return min(_starts(anchor, lines), key=lambda line: abs(line - near), default=None)


def _starts(anchor: Sequence[str], lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines at which these lines stand one after the other."""
    for at, line in enumerate(lines):
        if line == anchor[0] and list(lines[at : at + len(anchor)]) == list(anchor):
            yield at + 1


def _with_remedy(stood: RawFinding, new: Sequence[Candidate], sources: Mapping[str, str]) -> RawFinding:
    again = next((each for each in new if same_place(each, stood)), None)
    return stood if again is None else replace(stood, fix=raw_of(again, sources[again.path]).fix)
