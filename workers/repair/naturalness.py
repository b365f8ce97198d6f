"""How much a line of code surprises whoever knows the repository: a model of three tokens in a row, with a cache. Pure.

After Hindle et al., On the Naturalness of Software (ICSE 2012) and Ray et al., On the "Naturalness" of Buggy Code (ICSE
2016): buggy lines surprise more than what replaces them. Orders are mixed as by Jelinek and Mercer (1980).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile

MIX = (0.5, 0.3, 0.2)
"""What is believed of three tokens in a row, of two, and of one alone; an unseen token gets what add-one leaves it."""

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\*\*|//|[<>=!]=|[^\w\s]")


class Naturalness:
    """What is usual in the code that it was made from."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._counts: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter(), Counter(), Counter())
        for source in sources:
            for line in source.splitlines():
                self._learn(_tokens(line))

    def surprise(self, before: str, after: str) -> float:
        """Bits a token by which the lines of `after` that are not in `before` surprise, on average; 0 for none."""
        bits = [bit for line in changed_lines(before, after) for bit in self._bits(_tokens(line))]
        return sum(bits) / len(bits) if bits else 0.0

    def _learn(self, tokens: Sequence[str]) -> None:
        for end in range(2, len(tokens)):
            for size in range(4):
                self._counts[size][tuple(tokens[end - size + 1 : end + 1]) if size else ()] += 1

    def _bits(self, tokens: Sequence[str]) -> list[float]:
        return [-math.log2(self._likelihood(tuple(tokens[end - 2 : end + 1]))) for end in range(2, len(tokens))]

    def _likelihood(self, three: tuple[str, ...]) -> float:
        alone = (self._counts[1][three[2:]] + 1) / (self._counts[0][()] + len(self._counts[1]) + 1)
        two = _share(self._counts[2][three[1:]], self._counts[1][three[1:2]])
        all_three = _share(self._counts[3][three], self._counts[2][three[:2]])
        return MIX[0] * all_three + MIX[1] * two + MIX[2] * alone


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of `after` between those that it begins and ends with like `before`."""
    old, new = before.splitlines(), after.splitlines()
    head = _common_start(old, new)
    tail = min(_common_start(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    return new[head : len(new) - tail]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _tokens(line: str) -> list[str]:
    """Two marks before the first token, so that every token has two before it, and one for the end of the line."""
    found: list[str] = _TOKEN.findall(line)
    return ["", "", *found, "\n"] if found else []


def _common_start(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
