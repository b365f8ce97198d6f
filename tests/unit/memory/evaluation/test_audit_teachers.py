"""Teachers whose verdicts do not look like one person's honest opinion each."""

from __future__ import annotations

from benchmarks.teachers import finding, house, verdict
from memory.evaluation.audit import AuditCheck, one_sided, together, verdicts
from memory.model import SignalKind
from tests.unit.memory.ledgers import ADA, BEN, said


def test_who_has_no_say_is_no_teacher() -> None:
    """Signals without weight are no verdicts; several of one teacher are one."""
    log = [finding(0, [said(0, weight=0.0), said(0, actor=BEN), said(0, SignalKind.REACTION_UP, BEN)])]
    assert [(each.login, each.liked) for each in verdicts(log)] == [("ben", True)]


def test_two_who_are_always_together_are_named() -> None:
    """The same decisions, the same words, far beyond chance: and nobody else is named."""
    (item,) = together(house(1, pair=True))
    assert (item.check, item.about) == (AuditCheck.TOGETHER, "p0 and p1")
    assert len(item.evidence) >= 8


def test_honest_teachers_are_seldom_named() -> None:
    """Over 100 houses of teachers who agree because they see the same, at most 5 % have anybody named by either test."""
    assert sum(any(together(house(seed))) for seed in range(100)) <= 5
    assert sum(any(one_sided(house(seed))) for seed in range(100)) <= 5


def test_two_maintainers_who_judge_everything_are_no_pair() -> None:
    """Where both judge all there is, being together says nothing."""
    log = [finding(n, [verdict(n, each, liked=True) for each in (ADA, BEN)]) for n in range(50)]
    assert not [*together(log)]


def test_only_ever_positive_is_named_where_others_are_not() -> None:
    """All 25 accepted, where the others accept six in ten."""
    log = house(2)
    log += [finding(1000 + n, [verdict(1000 + n, ADA, liked=True)]) for n in range(25)]
    assert [(item.check, item.about) for item in one_sided(log)] == [(AuditCheck.ONE_SIDED, "ada")]
