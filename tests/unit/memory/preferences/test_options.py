from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from memory.model import Actor, Permission, Signal, SignalKind
from memory.preferences import QUOTA, RIVALS, JudgedOption, PreferencePair, net_support, pairs, teacher, within_quota

Judge = Callable[..., JudgedOption]


def signal(kind: SignalKind, *, actor: int = 1, weight: float = 1.0) -> Signal:
    return Signal(
        id=f"{kind}{actor}", decision_id="d", kind=kind, actor=Actor(id=actor, login="ada"), permission=Permission.WRITE,
        source="x:1", created_at=datetime(2026, 1, 1, tzinfo=UTC), weights_version="1", weight=weight,
    )  # fmt: skip


def names(found: Sequence[PreferencePair]) -> set[tuple[str, str]]:
    return {(pair.better.decision_id, pair.worse.decision_id) for pair in found}


def test_a_verdict_weighs_who_said_what() -> None:
    """For and against are summed by trust and by what the signal tells, within [-1, 1]; outsiders say nothing."""
    assert net_support([]) == 0.0
    assert net_support([signal(SignalKind.FIX_MERGED)] * 3) == 1.0
    assert net_support([signal(SignalKind.REJECTED, weight=0.0)]) == 0.0
    assert net_support([signal(SignalKind.REJECTED, weight=0.5)]) == -0.5
    assert net_support([signal(SignalKind.THREAD_RESOLVED)]) == 0.0
    assert net_support([signal(SignalKind.ACCEPTED), signal(SignalKind.REJECTED, actor=2)]) == 0.0


def test_the_teacher_is_who_said_most() -> None:
    """Of several people it is the one whose word weighs most."""
    assert teacher([signal(SignalKind.REACTION_UP, actor=3), signal(SignalKind.ACCEPTED, actor=9)]) == 9


def test_findings_of_one_review_are_compared(judge: Judge) -> None:
    """What was acted upon goes before what was dismissed in the same review, whatever their rules."""
    found = pairs([judge("a"), judge("b", -1.0, label="F401"), judge("c", -0.5, label="E711")])
    assert names(found) == {("a", "b"), ("a", "c")}
    assert {pair.weight for pair in found} == {1.0, 0.5}


def test_across_reviews_only_the_same_rule_of_the_same_repository_is_compared(judge: Judge) -> None:
    """Other rules and other people's repositories say nothing about each other."""
    worse = judge("worse", -1.0, task="t1")
    others = [judge("rule", task="t2", label="F401"), judge("repository", task="t3", repository="o/other")]
    assert pairs([worse, *others]) == []
    assert names(pairs([worse, *others, judge("same", task="t4")])) == {("same", "worse")}


def test_a_rejected_one_meets_few_accepted_ones(judge: Judge) -> None:
    """The nearest in time, so that a long history does not count by its square."""
    accepted = [judge(f"a{hour}", task=f"t{hour}", at=hour) for hour in range(9)]
    found = pairs([*accepted, judge("worse", -1.0, task="w", at=9)])
    assert names(found) == {(f"a{hour}", "worse") for hour in range(9 - RIVALS, 9)}


def test_pairs_do_not_hang_on_the_order_of_reading(judge: Judge) -> None:
    """Any order gives the same pairs."""
    judged = [judge(f"d{n}", (-1.0) ** n, task=f"t{n // 3}", at=n) for n in range(12)]
    assert pairs(judged) == pairs(judged[::-1])


def test_no_repository_says_more_than_its_quota(judge: Judge) -> None:
    """Of one that judged a lot the last ones count."""
    many = [judge(f"d{n}", at=n) for n in range(QUOTA + 5)]
    kept = within_quota([*many, judge("other", repository="o/other")])
    assert len(kept) == QUOTA + 1
    assert "d4" not in {each.decision_id for each in kept}
