"""What earlier attempts at the same failure change about the next one: what was tried comes later. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator

from memory.model import EditShape, NearMiss
from workers.errors import BadInput
from workers.patches import apply_unified
from workers.repair.candidates import Candidate

LATER = 0.25
"""What a candidate that failed before is worth, of what it was: the code around it may have changed."""

START_SCORE = 1.0


def put_off(
    candidates: Iterable[Candidate], later: Collection[str], digest: Callable[[Candidate], str]
) -> Iterator[Candidate]:
    """The candidates, which come best first; those that failed before stand where their score falls to LATER of it."""
    if not later:
        yield from candidates
        return
    waiting: list[tuple[float, int, Candidate]] = []
    for number, candidate in enumerate(candidates):
        while waiting and -waiting[0][0] >= candidate.score:
            yield heapq.heappop(waiting)[-1]
        if digest(candidate) in later:
            heapq.heappush(waiting, (-candidate.score * LATER, number, candidate))
        else:
            yield candidate
    yield from (candidate for _, _, candidate in sorted(waiting, key=lambda each: each[:2]))


def by_score(*streams: Iterator[Candidate]) -> Iterator[Candidate]:
    """Streams that come best first as one that does."""
    return heapq.merge(*streams, key=lambda candidate: -candidate.score)


def restored(miss: NearMiss, source: str | None) -> Candidate | None:
    """The edit that came nearest, made of the module as it is now; None where it does not apply any more."""
    if source is None:
        return None
    try:
        edited = apply_unified(source, miss.edit)
    except BadInput:
        return None
    return Candidate(
        path=miss.path,
        source=edited,
        line=miss.line,
        function="",
        template=miss.template,
        strategy="replay",
        shape=EditShape(template=miss.template, before="", after=""),
        score=START_SCORE,
    )
