"""The benchmark of environments: its list, and what counts as collected and as passing."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.environments.__main__ import HERE
from benchmarks.environments.checkouts import NotBuilt, check_out, repositories
from benchmarks.environments.suites import Outcome


def test_list_follows_its_rule() -> None:
    """At least 44 repositories, each once, at a whole commit, at least three for each of the twelve tools."""
    listed = repositories(HERE / "repositories.toml")
    tools = Counter(each.tool for each in listed)
    assert len({each.name for each in listed}) == len(listed) >= 44
    assert len(tools) == 12 and min(tools.values()) >= 3
    assert all(len(each.commit) == 40 for each in listed)


@pytest.mark.parametrize(
    ("counts", "is_collected", "passes"),
    [
        ({"collected": 100, "passed": 95, "failed": 5}, True, True),
        ({"collected": 100, "passed": 94, "failed": 6}, True, False),
        ({"collected": 100, "broken": 1, "passed": 99, "failed": 1}, False, True),
        ({"collected": 3, "skipped": 3}, True, False),
        ({}, False, False),
    ],
)
def test_share_that_passes(counts: dict[str, int], is_collected: bool, passes: bool) -> None:
    """A file that cannot be read spoils the collection, skipped tests count as nothing, and 95 of 100 are enough."""
    outcome = Outcome(repository="a/b", way="any", cold=1.0, **counts)
    assert (outcome.is_collected, outcome.passes) == (is_collected, passes)


def test_missing_clone_is_named(tmp_path: Path) -> None:
    """A repository without a clone is told with the place where it should be."""
    with pytest.raises(NotBuilt, match=r"no clone at .*/a\+b"):
        check_out(tmp_path / "a+b", "0" * 40, tmp_path / "checkout")
