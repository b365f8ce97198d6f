"""Teachers whose verdicts do not look like one person's honest opinion each, in simulated houses.

A house is a repository whose findings are judged by a few people: each judges some of them, and mostly sees how good a
finding is, so that honest teachers agree.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from memory.evaluation.audit import AuditCheck, one_sided, together, verdicts
from memory.model import Actor, Arm, Decision, LoggedDecision, Permission, Signal, SignalKind, State, TaskKind
from tests.unit.memory.ledgers import ADA, BEN, said

START = datetime(2026, 1, 1, tzinfo=UTC)
HONEST = tuple(Actor(id=10 + n, login=f"h{n}") for n in range(4))
PAIR = (Actor(id=1, login="p0"), Actor(id=2, login="p1"))
FINDINGS = 200
GOOD, SEES = 0.6, 0.9
JUDGES, PAIR_JUDGES = 0.3, 0.2


def house(seed: int, *, pair: bool = False, striking: float = 1.0) -> list[LoggedDecision]:
    """A house of four honest teachers; `pair`: and of two accounts that always accept the same findings.

    Every third finding draws `striking` times as many verdicts as the others: more than 1 is against what the audit's
    test of togetherness assumes.
    """
    rng, log = random.Random(seed), []
    for number in range(FINDINGS):
        good, draws = rng.random() < GOOD, JUDGES * (striking if number % 3 == 0 else 1.0)
        heard = [
            verdict(number, each, liked=good if rng.random() < SEES else not good)
            for each in HONEST
            if rng.random() < draws
        ]
        if pair and rng.random() < PAIR_JUDGES:
            heard += [verdict(number, each, liked=True) for each in PAIR]
        log.append(finding(number, heard))
    return log


def finding(number: int, heard: Sequence[Signal], *, repository: str = "o/r") -> LoggedDecision:
    """A finding that was said inline, five to a pull request, with what was said about it."""
    decision = Decision(
        id=f"d{number}",
        task_id=f"t{number // 5}",
        state=State(kind=TaskKind.REVIEW, repository=repository, label="KeyError", family="lookup"),
        available=("inline", "summary"),
        probabilities=(0.9, 0.1),
        chosen="inline",
        arm=Arm.LEARNED,
        policy_version="v",
        created_at=START + timedelta(minutes=number),
    )
    return LoggedDecision(decision=decision, signals=tuple(heard))


def verdict(number: int, actor: Actor, *, liked: bool) -> Signal:
    """What a maintainer said about a finding."""
    return Signal(
        id=f"s{number}-{actor.id}",
        decision_id=f"d{number}",
        kind=SignalKind.ACCEPTED if liked else SignalKind.REJECTED,
        actor=actor,
        permission=Permission.WRITE,
        source=f"comment:{number}-{actor.id}",
        created_at=START + timedelta(minutes=number, seconds=1),
        weights_version="1",
        weight=1.0,
    )


def test_who_has_no_say_is_no_teacher() -> None:
    """Signals without weight are no verdicts; several of one teacher are one."""
    log = [finding(0, [said(0, weight=0.0), said(0, actor=BEN), said(0, SignalKind.REACTION_UP, BEN)])]
    assert [(each.actor.login, each.liked) for each in verdicts(log)] == [("ben", True)]


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
