from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import count

import pytest
from msgspec.structs import replace

from memory.model import (
    Action,
    Actor,
    Arm,
    Finding,
    Permission,
    Severity,
    SignalKind,
    State,
    Task,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.policy.review_policy import appraise, decide_posting, reason
from memory.rewards import PATTERN
from memory.sharing import MOST, OWN, Learnings, Lesson, from_elsewhere, harvest, merged, parse, render, shifted
from memory.store import Store

KEY = (TaskKind.REVIEW, "B006", PATTERN)
numbers = count()


def lesson(mean: float, weight: float, label: str = "B006") -> Lesson:
    day = date(2026, 1, 1)
    return Lesson(
        about=TaskKind.REVIEW, label=label, family="style", strategy=PATTERN, mean=mean, weight=weight, teachers=2,
        since=day, until=day, decisions=(), taught_by=(),
    )  # fmt: skip


def learned(*lessons: Lesson, source: str = "acme/shop") -> Learnings:
    return Learnings(source=source, lessons=lessons)


def finding(rule: str = "B006") -> Finding:
    return Finding(
        fingerprint=f"f{next(numbers)}", path="a.py", line=3, end_line=3, tool="ruff", rule=rule, category="style",
        severity=Severity.MINOR, message="m", anchor="def f(x=[]):",
    )  # fmt: skip


def link(kind: TaskKind, repository: str, number: int) -> str:
    return f"https://example.org/{repository}/{kind}/{number}"


@pytest.fixture
def teach(store: Store, learner: Learner) -> Callable[..., None]:
    """Have people judge findings of a rule, a review of its own each."""

    def judge(
        people: str, kind: SignalKind, *, rule: str = "B006", role: str = "write", repo: str = "acme/shop"
    ) -> None:
        for who in people:
            number = next(numbers) + 1
            task = Task(
                id=f"t{number}", kind=TaskKind.REVIEW, repository=repo, sha="0" * 40, number=number,
                created_at=datetime(2026, 1, 1, tzinfo=UTC),
            )  # fmt: skip
            store.tasks.add(task)
            decision = decide_posting(
                learner, task.id, repo, finding(rule), arm=Arm.LEARNED, suggestion_proven=False, slots_left=9
            ).decision
            learner.record_signal(
                decision.id, kind, Actor(id=ord(who), login=who), Permission(role), f"comment:{number}"
            )

    return judge


def test_without_lessons_the_prior_stays() -> None:
    """Other rules, and nothing at all, move nothing."""
    assert shifted(0.2, [], KEY)[0] == 0.2
    assert shifted(0.2, [learned(lesson(1.0, 9.0, "E711"))], KEY) == shifted(0.2, [], KEY)
    assert shifted(0.2, [learned(lesson(1.0, 0.0))], KEY)[0] == 0.2


def test_lessons_are_pseudo_counts_of_bounded_strength() -> None:
    """A few verdicts count as they are; a million, or a hundred sources, as no more than `MOST`."""
    assert shifted(0.2, [learned(lesson(1.0, 10.0))], KEY)[0] == pytest.approx(0.6)
    most = (OWN * 0.2 + MOST) / (OWN + MOST)
    assert shifted(0.2, [learned(lesson(1.0, 1e6))], KEY)[0] == pytest.approx(most)
    crowd = [learned(lesson(1.0, 1e6), source=f"s{n:03}") for n in range(100)]
    assert shifted(0.2, crowd, KEY)[0] == pytest.approx(most)
    assert shifted(0.2, crowd, KEY)[1][:2] == ("s000", "s001")


def test_sources_that_disagree_are_averaged() -> None:
    """Each by its weight, up to the bound for one."""
    both = [learned(lesson(1.0, 1e6), source="a/a"), learned(lesson(0.0, 1e6), source="b/b")]
    assert shifted(0.2, both, KEY)[0] == pytest.approx((OWN * 0.2 + MOST * 0.5) / (OWN + MOST))


def test_people_here_soon_weigh_more(learner: Learner) -> None:
    """Lessons make a pattern louder, say so, and three rejections here make it quiet all the same."""
    known = [learned(lesson(1.0, 1e6))]

    def believed() -> float:
        return appraise(
            learner, "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=False, learnings=known
        ).belief.mean

    bare = appraise(learner, "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=False)
    assert believed() > 2 * bare.belief.mean
    for _ in range(3):
        decision = decide_posting(
            learner, "t", "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=True, slots_left=9, learnings=known
        ).decision
        learner.record_signal(
            decision.id, SignalKind.REJECTED, Actor(id=1, login="ada"), Permission.WRITE, f"c:{decision.id}"
        )
    assert believed() < 0.35


def test_the_control_arm_reads_no_lessons(learner: Learner) -> None:
    """It decides as on the first day."""
    known = [learned(lesson(1.0, 1e6))]
    plain = appraise(learner, "o/r", finding(), arm=Arm.CONTROL, suggestion_proven=False)
    assert appraise(learner, "o/r", finding(), arm=Arm.CONTROL, suggestion_proven=False, learnings=known) == plain


def test_the_reason_names_whose_learnings_it_was(learner: Learner) -> None:
    """People can see that a belief comes from elsewhere, and from where."""
    what, known = finding(), [learned(lesson(0.9, 30.0))]
    decision = decide_posting(
        learner, "t", "o/r", what, arm=Arm.LEARNED, suggestion_proven=False, slots_left=9, learnings=known
    ).decision
    appraisal = appraise(learner, "o/r", what, arm=Arm.LEARNED, suggestion_proven=False, learnings=known)
    assert reason(decision, appraisal).endswith(", with what acme/shop learned")
    assert decision.chosen in set(Action)


def test_what_two_people_taught_leaves(store: Store, teach: Callable[..., None]) -> None:
    """With its mean, weight and links, and without anybody's name; the file holds exactly that."""
    teach("ada", SignalKind.ACCEPTED)
    teach("b", SignalKind.REJECTED)
    found = harvest(store, "acme/shop", link)
    (only,) = found.lessons
    assert (only.label, only.mean, only.weight, only.teachers) == ("B006", 0.75, 4.0, 3)
    assert len(only.taught_by) == len(only.decisions) == 4
    assert parse(render(found)) == found
    assert not re.search(r"\bada\b", render(found))


@pytest.mark.parametrize(
    ("people", "given"),
    [("aaaaa", {}), ("abcde", {"role": "read"}), ("abcde", {"repo": "other/one"}), ("abcde", {"rule": "acme-secret"})],
    ids=["one person", "outsiders", "another repository", "a project's own name"],
)
def test_what_does_not_leave(store: Store, teach: Callable[..., None], people: str, given: dict[str, str]) -> None:
    """One person's word, outsiders' words, other repositories' words, and names that are code."""
    teach(people, SignalKind.ACCEPTED, **given)
    assert harvest(store, "acme/shop", link).lessons == ()


def test_own_names_leave_when_allowed_and_a_larger_quorum_holds(store: Store, teach: Callable[..., None]) -> None:
    """Both are the operator's choice; a quorum below two is not."""
    teach("ab", SignalKind.ACCEPTED, rule="acme-secret")
    assert len(harvest(store, "acme/shop", link, private_names=True).lessons) == 1
    assert harvest(store, "acme/shop", link, private_names=True, quorum=3).lessons == ()
    teach("a", SignalKind.ACCEPTED)
    assert harvest(store, "acme/shop", link, quorum=1).lessons == ()


def test_a_repair_strategy_is_a_lesson_about_the_error_type(store: Store) -> None:
    """Its verdicts are the people's; what the tests said does not leave."""
    learner = Learner(store, random.Random(1), lambda: datetime(2026, 1, 1, tzinfo=UTC), control_share=0.0)
    state = State(kind=TaskKind.REPAIR, repository="acme/shop", label="KeyError", family="lookup")
    for person in (1, 2):
        decision = learner.decide(f"t{person}", state, ("guards",), arm=Arm.LEARNED, prior={})
        learner.conclude(decision, {"suite_green": 1.0})
        learner.record_signal(
            decision.id, SignalKind.FIX_MERGED, Actor(id=person, login="x"), Permission.WRITE, f"p:{person}"
        )
    (only,) = harvest(store, "acme/shop", link).lessons
    assert (only.pattern, only.mean, only.weight) == ((TaskKind.REPAIR, "KeyError", "guards"), 1.0, 2.0)


def test_imports_are_kept_apart_and_taken_out_exactly(store: Store, teach: Callable[..., None]) -> None:
    """The table is the same before, during and after; a second import of a source replaces the first."""
    teach("ab", SignalKind.ACCEPTED)
    now, before = datetime(2026, 1, 1, tzinfo=UTC), store.ledger.cells_digest()
    store.imports.put("acme/shop", learned(lesson(0.5, 3.0)), now=now)
    store.imports.put("b/b", learned(lesson(0.5, 3.0), source="b/b"), now=now)
    store.imports.put("acme/shop", learned(lesson(0.9, 3.0)), now=now)
    assert [(each.source, each.lessons[0].mean) for each in store.imports.all(Learnings)] == [
        ("acme/shop", 0.9),
        ("b/b", 0.5),
    ]
    assert store.ledger.cells_digest() == before
    assert store.imports.remove("acme/shop")
    assert not store.imports.remove("acme/shop")
    assert [each.source for each in store.imports.all(Learnings)] == ["b/b"]


def test_an_update_changes_only_what_was_learned() -> None:
    """Entries whose figures are the same keep their links, so that a review shows the difference alone."""
    old = replace(lesson(0.5, 3.0), taught_by=("https://example.org/1",))
    new = replace(lesson(0.5, 3.0), taught_by=("https://example.org/2",))
    assert merged(learned(old), learned(new)) == learned(old)
    more = replace(new, weight=4.0)
    assert merged(learned(old, lesson(0.1, 2.0, "E711")), learned(more)) == learned(more)
    assert merged(learned(old, source="b/b"), learned(new)) == learned(new)


def test_ones_own_lessons_are_no_news(store: Store, teach: Callable[..., None]) -> None:
    """A lesson from a decision of this ledger is passed over, wherever it was read; the others stay."""
    teach("ab", SignalKind.ACCEPTED)
    own = harvest(store, "acme/shop", link)
    other = learned(replace(lesson(0.5, 3.0), decisions=("elsewhere",)), source="b/b")
    assert from_elsewhere(store, [own, other]) == (Learnings(source="acme/shop", lessons=()), other)
