"""The rank of a faulty line among suspects."""

from __future__ import annotations

from benchmarks.localisation import NOWHERE, rank
from workers.repair.candidates import Suspect


def test_equals_share_their_middle_rank() -> None:
    """One more than those above, and half of the others that are as suspect; a line beside the place counts for it."""
    scores = {1: 0.9, 4: 0.5, 7: 0.5, 10: 0.5, 13: 0.1}
    listed = [Suspect(path="a.py", line=line, score=score) for line, score in scores.items()]
    assert [rank(listed, ("a.py", line)) for line in (1, 7, 6, 13)] == [1, 3, 3, 5]
    assert rank(listed, ("b.py", 1)) == NOWHERE
