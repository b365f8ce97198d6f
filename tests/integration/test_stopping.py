"""A repair that stops: what the table says of an error type ends the search for it, and the answer says so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.repair.firstfound import FirstFound
from memory.model import EVERYTHING, Aftermath, Arm, State, TaskKind
from tests.integration.test_skills import House
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
    for after in Aftermath:
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
