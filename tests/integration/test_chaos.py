"""A short run of the chaos benchmark, and what its oracle says where an effect is taken away or made twice."""

from __future__ import annotations

import pytest

from benchmarks.chaos.github import FaultShares
from benchmarks.chaos.run import Scenario, run

SHORT = Scenario(
    deliveries=25,
    kills=3,
    embedded=True,
    webs=2,
    workers=2,
    slots=1,
    lease_seconds=2.0,
    poll_seconds=5.0,
    outages=False,
    faults=FaultShares(held=0.0, latest=3.0),
    deliveries_a_revocation=10,
)

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]


def test_nothing_lost_nothing_silent() -> None:
    """With three kills, refused answers and revoked tokens everything is done, once."""
    result = run(SHORT)
    assert (result.verdict.lost, result.verdict.doubled) == ((), ())
    assert (result.verdict.stuck, result.verdict.silent) == ((), ())
    assert result.requests["by users"] >= SHORT.deliveries
    assert sum(count for name, count in result.kills.items() if "none" not in name) >= SHORT.kills
