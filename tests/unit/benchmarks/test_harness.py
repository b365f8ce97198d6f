"""How jobs share the machine."""

from __future__ import annotations

import pytest

from benchmarks.repair.harness import shared


@pytest.mark.parametrize(
    ("cores", "jobs", "expected"),
    [
        ([0, 1], 1, [[0, 1]]),
        ([0, 1], 2, [[0], [1]]),
        ([2, 3, 5], 2, [[2, 5], [3]]),
        ([4], 2, [[4], [4]]),
        ([0, 1], 3, [[0], [1], [0]]),
    ],
)
def test_no_job_is_without_a_core(cores: list[int], jobs: int, expected: list[list[int]]) -> None:
    """All cores are given out, and none twice while there are enough."""
    assert [shared(cores, number, jobs) for number in range(jobs)] == expected
