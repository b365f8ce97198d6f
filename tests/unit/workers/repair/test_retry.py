"""What failed before comes later, and what came nearest is made again."""

from __future__ import annotations

from memory.model import EditShape, NearMiss
from workers.diffs import unified
from workers.repair.candidates import Candidate
from workers.repair.engines.search.candidate_order import LATER, put_off, restored

SOURCE = "def f(a):\n    return a\n"


def candidate(name: str, score: float) -> Candidate:
    shape = EditShape(template=name, before="", after="")
    return Candidate(
        path="a.py", source=name, line=1, function="f", template=name, strategy="names", shape=shape, score=score
    )


def names(found: object) -> list[str]:
    assert hasattr(found, "__iter__")
    return [each.source for each in found]


LINE = [candidate("a", 0.8), candidate("b", 0.7), candidate("c", 0.3), candidate("d", 0.1)]


def test_what_failed_before_stands_where_a_quarter_of_its_score_falls() -> None:
    """It is not left out: the code around it may have changed."""
    assert names(put_off(LINE, {"a", "b"}, lambda each: each.source)) == ["c", "a", "b", "d"]
    assert 0.8 * LATER > 0.1
    assert names(put_off(LINE, set(), lambda each: each.source)) == ["a", "b", "c", "d"]
    assert sorted(names(put_off(LINE, {"d", "c", "b", "a"}, lambda each: each.source))) == ["a", "b", "c", "d"]


def test_a_near_miss_is_made_again_where_it_still_fits() -> None:
    """On the code as it is now; where that has changed there, not at all."""
    edited = SOURCE.replace("return a", "return -a")
    miss = NearMiss(
        path="a.py",
        line=2,
        template="negate",
        edit=unified("a.py", SOURCE, edited),
        passed=1,
        error_type="",
        message="",
    )
    found = restored(miss, SOURCE)
    assert found is not None
    assert (found.source, found.template) == (edited, "negate")
    assert restored(miss, SOURCE.replace("return a", "return b")) is None
    assert restored(miss, None) is None
