"""Candidates in one order, the likeliest set apart by strategy."""

from __future__ import annotations

from collections.abc import Iterator

from memory.model import EditShape
from workers.repair.candidates import Candidate
from workers.repair.lineup import Lineup


def candidate(number: int, strategy: str) -> Candidate:
    return Candidate(
        path="a.py",
        source=str(number),
        line=1,
        function="",
        template="t",
        strategy=strategy,
        shape=EditShape(template="t", before="", after=""),
        score=1.0 / (1 + number),
    )


def numbered(*strategies: str) -> Iterator[Candidate]:
    return (candidate(number, strategy) for number, strategy in enumerate(strategies))


def sources(candidates: Iterator[Candidate]) -> list[int]:
    return [int(each.source) for each in candidates]


def test_the_likeliest_are_found_by_strategy() -> None:
    """A strategy has its own of them in order, and those without one are not named."""
    lineup = Lineup(numbered("names", "guards", "names", "calls"), head=3)
    assert lineup.strategies == ("names", "guards")
    assert sources(lineup.of("names")) == [0, 2]


def test_the_rest_follows_best_first() -> None:
    """What a strategy was kept from trying comes before what was never among the likeliest."""
    lineup = Lineup(numbered("names", "guards", "names", "guards", "calls", "names"), head=4)
    names = lineup.of("names")
    assert next(names).source == "0"
    assert sources(lineup.rest()) == [1, 2, 3, 4, 5]


def test_candidates_are_read_as_far_as_they_are_asked_for() -> None:
    """There may be a hundred thousand, and the first is often the one."""
    stream = numbered("names", "guards", "calls")
    Lineup(stream, head=2)
    assert next(stream).strategy == "calls"
