"""Which lines of two texts are the same, in a time that grows with their number: difflib's own can take its cube. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

MAX_COMPARED = 300
"""Lines on a side up to which difflib compares each with each."""


class LineMatcher(SequenceMatcher[str]):
    """difflib's matcher for texts of any length. Of long ones it first matches the lines that occur once on each side.

    Between two of these, where over MAX_COMPARED lines of a side differ, all of them count as replaced.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._sides = old, new

    def get_matching_blocks(self) -> list[Match]:
        """As difflib's: in order, none beside the next one, and an empty one at the end."""
        if max(map(len, self._sides)) <= MAX_COMPARED:
            return super().get_matching_blocks()
        blocks = list[Match]()
        for a, b, size in _runs(*self._sides):
            last = blocks.pop() if blocks else Match(0, 0, 0)
            if (last.a + last.size, last.b + last.size) == (a, b):
                blocks.append(Match(last.a, last.b, last.size + size))
            else:
                blocks += [last, Match(a, b, size)]
        old, new = self._sides
        return [*(each for each in blocks if each.size), Match(len(old), len(new), 0)]


def differing_lines(old: str, new: str) -> frozenset[int]:
    """The lines, from 1, of the new text that differ, and the one after a place where lines were removed."""
    steps = LineMatcher(old.splitlines(), new.splitlines()).get_opcodes()
    places = (range(i + 1, max(j, i + 1) + 1) for kind, _, _, i, j in steps if kind != "equal")
    return frozenset(line for lines in places for line in lines)


def common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Equal lines: where they begin on both sides, and how many."""
    old_at = new_at = 0
    for old_end, new_end in (*_anchors(old, new), (len(old), len(new))):
        for a, b, size in _between(old[old_at:old_end], new[new_at:new_end]):
            yield old_at + a, new_at + b, size
        if old_end < len(old):
            yield old_end, new_end, 1
        old_at, new_at = old_end + 1, new_end + 1


def _between(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The equal lines at both ends, and between them those of difflib where there are few."""
    head = common_start(old, new)
    tail = common_start(old[head:][::-1], new[head:][::-1])
    ends = len(old) - tail, len(new) - tail
    yield 0, 0, head
    if max(ends) - head <= MAX_COMPARED:
        few = SequenceMatcher(None, old[head : ends[0]], new[head : ends[1]], autojunk=False)
        yield from ((head + a, head + b, size) for a, b, size in few.get_matching_blocks())
    yield (*ends, tail)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of lines that occur once on each side, the most of them that are in one order (patience sorting)."""
    counts, places = (Counter(old), Counter(new)), {line: at for at, line in enumerate(new)}
    ends, before = list[tuple[int, int]](), dict[tuple[int, int], tuple[int, int] | None]()
    for at, line in enumerate(old):
        if counts[0][line] == counts[1][line] == 1:
            pair = at, places[line]
            length = bisect_left(ends, pair[1], key=lambda end: end[1])
            before[pair] = ends[length - 1] if length else None
            ends[length : length + 1] = [pair]
    found, last = list[tuple[int, int]](), ends[-1] if ends else None
    while last:
        found.append(last)
        last = before[last]
    return found[::-1]
