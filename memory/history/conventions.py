"""What people here came to write otherwise, always the same way: expressions replaced in many places. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from memory.model import Convention, Replacement

LEAST_PLACES, LEAST_FILES = 4, 2
"""Places, and files, where an expression was replaced by the same one before that is more than a coincidence."""

LEAST_AGREEMENT = 0.8
"""Share of the replacements of an expression that agree on what takes its place."""


def conventions(replacements: Iterable[Replacement]) -> tuple[Convention, ...]:
    """The replacements, given oldest first, that many places agree on and none of any number took back; most places first."""
    found: defaultdict[str, defaultdict[str, list[Replacement]]] = defaultdict(lambda: defaultdict(list))
    for each in replacements:
        found[each.before][each.after].append(each)
    agreed = (_agreed(before, by_after) for before, by_after in found.items())
    made = [each for each in agreed if each is not None and not _taken_back(each, found)]
    return tuple(sorted(made, key=lambda each: (-each.places, each.before)))


def _agreed(before: str, by_after: dict[str, list[Replacement]]) -> Convention | None:
    places = Counter({after: sum(each.places for each in some) for after, some in by_after.items()})
    ((after, most),) = places.most_common(1)
    files = {each.path for each in by_after[after]}
    if most < LEAST_PLACES or len(files) < LEAST_FILES or most < LEAST_AGREEMENT * places.total():
        return None
    return Convention(before=before, after=after, places=most, files=len(files), sha=by_after[after][-1].sha)


def _taken_back(made: Convention, found: defaultdict[str, defaultdict[str, list[Replacement]]]) -> bool:
    back = found[made.after][made.before] if made.after in found and made.before in found[made.after] else []
    return sum(each.places for each in back) > (1.0 - LEAST_AGREEMENT) * made.places
