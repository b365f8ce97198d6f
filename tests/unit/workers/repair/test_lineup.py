"""Candidates in one order, the likeliest set apart by strategy."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from memory.model import EditShape
from workers.repair.candidates import Candidate
from workers.repair.engines.search.candidate_order import HEAD, CandidateQueue


def candidate(number: int, strategy: str, score: float) -> Candidate:
    return Candidate(
        path="a.py",
        source=str(number),
        line=1,
        function="",
        template="t",
        strategy=strategy,
        shape=EditShape(template="t", before="", after=""),
        score=score,
    )


def scored(*given: tuple[str, float]) -> Iterator[Candidate]:
    return (candidate(number, strategy, score) for number, (strategy, score) in enumerate(given))


def sources(candidates: Iterator[Candidate]) -> list[int]:
    return [int(each.source) for each in candidates]


def lineup_of(candidates: Iterator[Candidate], *, tried: Collection[str] = (), head: int = HEAD) -> CandidateQueue:
    return CandidateQueue(candidates, tried=lambda each: each.source in tried, head=head)


def test_a_strategy_is_near_by_its_next_candidate() -> None:
    """The best one's has all of the best score; those far below, or not among the likeliest, are not open."""
    lineup = lineup_of(
        scored(("names", 0.8), ("guards", 0.7), ("names", 0.5), ("calls", 0.2), ("imports", 0.2)), head=4
    )
    assert lineup.near() == {"names": 1.0, "guards": 0.7 / 0.8}


def test_a_turn_ends_where_another_strategy_is_much_likelier() -> None:
    """What a choice costs is bounded; what it left comes in its place."""
    lineup = lineup_of(scored(("names", 0.8), ("names", 0.7), ("guards", 0.7), ("names", 0.3), ("calls", 0.1)))
    assert sources(lineup.of("names")) == [0, 1]
    assert lineup.near() == {"guards": 1.0}
    assert sources(lineup.rest()) == [2, 3, 4]


def test_a_strategy_alone_goes_on_to_its_last() -> None:
    """Nothing is likelier than its own next candidate."""
    lineup = lineup_of(scored(("names", 0.8), ("names", 0.1)))
    assert sources(lineup.of("names")) == [0, 1]
    assert lineup.near() == {}


def test_what_was_replayed_before_opens_no_strategy() -> None:
    """Lifted edits come first here too: a turn of those alone would try nothing, and count as a failure."""
    lineup = lineup_of(scored(("names", 0.9), ("names", 0.9), ("guards", 0.4), ("names", 0.35)), tried=("0", "1"))
    assert lineup.near() == {"guards": 1.0, "names": 0.35 / 0.4}
    assert sources(lineup.of("names")) == [3]


def test_where_no_candidate_is_likely_none_is_near() -> None:
    """There is nothing to choose by: they follow in their order."""
    lineup = lineup_of(scored(("names", 0.0), ("guards", 0.0)))
    assert lineup.near() == {}
    assert sources(lineup.rest()) == [0, 1]


def test_the_rest_follows_best_first() -> None:
    """What a strategy was kept from trying comes before what was never among the likeliest."""
    lineup = lineup_of(
        scored(("names", 0.8), ("guards", 0.7), ("names", 0.65), ("guards", 0.6), ("calls", 0.5)), head=4
    )
    names = lineup.of("names")
    assert next(names).source == "0"
    assert sources(lineup.rest()) == [1, 2, 3, 4]


def test_candidates_are_read_as_far_as_they_are_asked_for() -> None:
    """There may be a hundred thousand, and the first is often the one."""
    stream = scored(("names", 0.8), ("guards", 0.8), ("calls", 0.8))
    lineup_of(stream, head=2)
    assert next(stream).strategy == "calls"
