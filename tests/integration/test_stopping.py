"""A repair that stops: what the table says of an error type ends the search for it, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.repair.firstfound import FirstFound
from memory.model import EVERYTHING, Arm, AttemptEffect, AttemptOutcome, State, TaskKind
from memory.rewards import repair_components
from tests.integration.test_skills import House
from workers.repair.candidates import Candidate
from workers.repair.engines.search.session import SearchSession
from workers.repair.engines.search.templates import STRATEGIES
from workers.repair.result import RepairStatus

pytestmark = [pytest.mark.sandbox, pytest.mark.extended]

HOPELESS = {
    "oracle.py": "def answer(question):\n    return len(question)\n",
    "test_oracle.py": (
        "from oracle import answer\n\n\ndef test_answers():\n"
        '    assert [answer(q) for q in ("why", "who", "what for")] == ["because", "nobody", "for ever"]\n'
    ),
}


def test_what_never_helped_is_not_tried_for_long(tmp_path: Path) -> None:
    """After many searches that found nothing for an error type, a repair of it ends after a turn, with the reason; one that is
    not to give up goes on.
    """
    house = House(tmp_path)
    fresh = State(kind=TaskKind.REPAIR, repository="o/oracle", label="AssertionError", family="assertion")
    for after in AttemptEffect:
        for name in (*STRATEGIES, EVERYTHING) * 30:
            state = replace(fresh, after=after)
            house.learner.conclude(house.learner.settle("before", state, {name: 1.0}, arm=Arm.LEARNED), {})
    repaired = house.repair("oracle", HOPELESS, session=partial(FirstFound, most=30))
    assert repaired.status is RepairStatus.NOT_FIXED
    assert EVERYTHING not in [attempt.strategy for attempt in repaired.attempts]
    assert repaired.effort is not None
    assert "It stopped early" in repaired.effort.described()
    insisted = house.repair("oracle", HOPELESS, session=partial(FirstFound, most=30), gives_up=False)
    assert EVERYTHING in [attempt.strategy for attempt in insisted.attempts]


SMALLER = "def larger(one, other):\n    return min(one, other)\n"
FROZEN = {
    "sizes.py": SMALLER,
    "test_sizes.py": (
        "from hashlib import sha256\nfrom pathlib import Path\n\nfrom sizes import larger\n\n\n"
        "def test_larger():\n    assert larger(2, 5) == 5\n\n\n"
        f"def test_frozen():\n    assert sha256(Path('sizes.py').read_bytes()).hexdigest() == '{sha256(SMALLER.encode()).hexdigest()}'\n"
    ),
}


class Few(SearchSession):
    """A search that soon comes to the end of its edits."""

    def with_pairs(self, singles: Iterator[Candidate], *given: object, **named: object) -> Iterator[Candidate]:
        return islice(singles, 60)


def test_more_time_is_advised_only_where_it_can_help(tmp_path: Path) -> None:
    """A search whose edits pass the failing tests and break others may end before its time does; then no time is missed."""
    house = House(tmp_path)
    state = State(kind=TaskKind.REPAIR, repository="o/sizes", label="AssertionError", family="assertion")
    won = repair_components(
        failing_before=1, fixed=1, broken=0, moved=False, proven=True, patch_lines=1, candidates=1, wasted=0
    )
    for _ in range(60):
        house.learner.conclude(house.learner.settle("before", state, {EVERYTHING: 1.0}, arm=Arm.LEARNED), won)
    repaired = house.repair("sizes", FROZEN, session=Few, gives_up=False)
    last = repaired.attempts[-1]
    assert (last.strategy, last.outcome) == (EVERYTHING, AttemptOutcome.UNPROVEN)
    assert repaired.effort is not None
    assert repaired.effort.exhausted
