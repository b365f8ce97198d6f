"""Past findings of long paths, and what people call a repository."""

from __future__ import annotations

import random
from dataclasses import replace

from memory.model import (
    Fate,
    PastFinding,
    Severity,
)
from memory.store import Store
from memory.store.documents import HistoryPosition, RepositoryName


def past_finding() -> PastFinding:
    return PastFinding(
        sha="a" * 40,
        position=1,
        path="a.py",
        line=1,
        tool="ruff",
        rule="F401",
        category="style",
        severity=Severity.INFO,
        fixable=True,
        standing=0,
        burst=1,
        fate=Fate.FIXED,
        until=2,
    )


def test_a_long_path_is_kept(store: Store) -> None:
    """However long two paths are, what differs at their ends are two findings, each kept once."""
    directory = random.Random(1).randbytes(3000).hex()
    found = [replace(past_finding(), path=f"{directory}/{name}.py") for name in "ab"]
    for _ in range(2):
        store.past.add("o/r", found, HistoryPosition(reading="1", sha="a", position=61))
    assert store.past.of("o/r") == found


def test_a_name_that_was_taken_again(store: Store) -> None:
    """Two repositories that were called the same are told apart: people have to give the number."""
    for number in (77, 78):
        store.repositories.put(str(number), RepositoryName(id=number, full_name="acme/scales"))
    assert store.named("acme/scales") == store.named("ACME/Scales") == ["77", "78"]
    assert [store.name_of(each) for each in ("77", "78", "local:shop")] == ["acme/scales", "acme/scales", "local:shop"]
    assert store.named("77") == ["77"]
