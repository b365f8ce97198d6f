"""How well skills do, where they may be used, and that all of it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.learner import Learner
from memory.model import (
    Actor,
    Arm,
    AttemptOutcome,
    EditShape,
    Experience,
    Family,
    Permission,
    Rewrite,
    SignalKind,
    Skill,
    SkillState,
    State,
    TaskKind,
)
from memory.skills import PRIOR_RATE, Verdicts, current, derived, template_of, upper, usable
from memory.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REWRITES = (
    Rewrite(before="return a.size < b", after="return a.size <= b"),
    Rewrite(before="return c.size < len(d)", after="return c.size <= len(d)"),
)


def experience(
    number: int, *, repository: str = "o/one", rewrites: Sequence[Rewrite] = (), **more: object
) -> Experience:
    return Experience(
        id=f"e{number}",
        repository=repository,
        task_id=f"t{number}",
        error_type="AssertionError",
        family=Family.ASSERTION,
        signature="",
        path="a.py",
        strategy="operators",
        outcome=AttemptOutcome.PROVEN if rewrites else AttemptOutcome.NOTHING_PLAUSIBLE,
        reflection="",
        patch="",
        shape=None,
        created_at=NOW + timedelta(hours=number),
        rewrites=tuple(rewrites),
        **more,  # type: ignore[arg-type]  # names checked by Experience
    )


TEACHERS = (experience(1, rewrites=REWRITES[:1]), experience(2, repository="o/two", rewrites=REWRITES[1:]))


def both(skills: Sequence[Skill]) -> Skill:
    (found,) = (skill for skill in skills if len(skill.taught_by) == 2)
    return found


def used(skill: Skill, numbers: Sequence[int], *, won: bool) -> list[Experience]:
    """Repairs in which a skill was tried."""
    tried = {template_of(skill): 2, "swap_operator": 5}
    shape = EditShape(template=template_of(skill), before="", after="")
    outcome = AttemptOutcome.PROVEN if won else AttemptOutcome.NOTHING_PLAUSIBLE
    return [
        replace(experience(number, tried=tried), outcome=outcome, shape=shape if won else None) for number in numbers
    ]


def test_a_skill_knows_who_taught_it() -> None:
    """It names experiences, repositories and the accounts that accepted; before anybody did, it is a candidate."""
    skill = both(derived(TEACHERS, Verdicts()))
    assert (skill.taught_by, skill.repositories) == (("e1", "e2"), ("o/one", "o/two"))
    assert (skill.state, skill.teachers) == (SkillState.CANDIDATE, ())
    accepted = both(derived(TEACHERS, Verdicts(teachers={"e1": (7,), "e2": (8, 7)})))
    assert (accepted.state, accepted.teachers) == (SkillState.ACTIVE, (7, 8))


def test_tries_and_wins_are_those_of_repairs() -> None:
    """Two attempts of one repair are one try; a win that people rejected is none."""
    skill = both(derived(TEACHERS, Verdicts()))
    twice = [replace(each, task_id="t9") for each in used(skill, (9, 10), won=False)]
    known = (*TEACHERS, *twice, *used(skill, (11, 12), won=True))
    judged = both(derived(known, Verdicts()))
    assert (judged.tries, judged.wins) == (3, 2)
    rejected = both(derived(known, Verdicts(against={"e11": 1.0})))
    assert (rejected.tries, rejected.wins) == (3, 1)
    assert rejected.rate < judged.rate


def test_what_stops_working_is_retired_until_it_is_taught_again() -> None:
    """Once even the upper bound of its rate is below what any skill starts with; a new fix of its kind brings it back."""
    skill = both(derived(TEACHERS, Verdicts()))
    failures = used(skill, range(10, 80), won=False)
    retired = both(derived((*TEACHERS, *failures), Verdicts()))
    assert retired.state is SkillState.RETIRED
    assert upper(retired) < PRIOR_RATE < upper(skill)
    assert usable([retired], "o/one") == ()
    again = [
        experience(100 + n, rewrites=(Rewrite(before=f"return x{n}.size < y", after=f"return x{n}.size <= y"),))
        for n in range(12)
    ]
    back = next(s for s in derived((*again, *TEACHERS, *failures), Verdicts()) if s.id == skill.id)
    assert back.state is not SkillState.RETIRED


def test_a_rejected_fix_teaches_nothing() -> None:
    """What people were against is no example of anything."""
    skills = derived(TEACHERS, Verdicts(against={"e2": 0.5}))
    assert {each for skill in skills for each in skill.taught_by} == {"e1"}


def test_a_quorum_carries_a_skill_beyond_its_repositories() -> None:
    """One maintainer's merge has effect where the fix was made; two people's everywhere."""
    bounds = tuple(Rewrite(before=f"return {a} < {b}", after=f"return {a} <= {b}") for a, b in ("xy", "uw"))
    taught = (experience(1, rewrites=bounds[:1]), experience(2, repository="o/two", rewrites=bounds[1:]))
    for teachers, reaches in (((), False), ((7,), False), ((7, 8), True)):
        skill = both(derived(taught, Verdicts(teachers={"e1": teachers})))
        assert usable([skill], "o/one") == (skill,)
        assert (usable([skill], "o/three") == (skill,)) is reaches


@pytest.mark.parametrize(
    ("before", "after", "imports", "public"),
    [
        ("return __0_Name__ < len(__1_Name__)", "return __0_Name__ <= len(__1_Name__)", (), True),
        ("return __0_Name__.size", "return __0_Name__.size + 1", (), False),
        ("return __0_Name__", "return __0_Name__ or 'https://intern.example'", (), False),
        ("return __0_Name__", "return __0_Name__ * 4711", (), False),
        ("return __0_Name__", "return ceil(__0_Name__)", ("from math import ceil",), True),
        ("return __0_Name__", "return ceil(__0_Name__)", ("from acme.rates import ceil",), False),
        ("return __0_Name__", "return acme(__0_Name__)", ("from math import ceil as acme",), False),
    ],
)
def test_nobody_elses_code_is_shown(before: str, after: str, imports: tuple[str, ...], *, public: bool) -> None:
    """A skill that spells out a name, text or number of the code that taught it stays in its repository, whoever accepted it."""
    skill = replace(
        both(derived(TEACHERS, Verdicts(teachers={"e1": (7, 8)}))), before=before, after=after, imports=imports
    )
    assert usable([skill], "o/one") == (skill,)
    assert (usable([skill], "o/three") == (skill,)) is public


def test_signals_and_their_undoing_are_felt_at_once(store: Store, learner: Learner) -> None:
    """A merge makes a skill active, taking it back makes it what it was, and forgetting the experience ends it."""
    state = State(kind=TaskKind.REPAIR, repository="o/one", label="AssertionError", family="assertion")
    decision = learner.decide("t1", state, ("operators",), arm=Arm.LEARNED, prior={"operators": 0.5})
    store.experiences.add(replace(TEACHERS[0], id=decision.id), "text")
    before = current(store)
    assert [skill.state for skill in before] == [SkillState.CANDIDATE]
    learner.record_signal(decision.id, SignalKind.FIX_MERGED, Actor(id=7, login="maya"), Permission.MAINTAIN, "pull:1")
    (merged,) = current(store)
    assert (merged.state, merged.teachers) == (SkillState.ACTIVE, (7,))
    learner.retract(decision.id, SignalKind.FIX_MERGED, "pull:1")
    assert current(store) == before == tuple(store.skills.all())
    learner.record_signal(decision.id, SignalKind.REJECTED, Actor(id=7, login="maya"), Permission.MAINTAIN, "comment:1")
    assert current(store) == ()
    store.experiences.delete(decision.id)
    assert current(store) == () == tuple(store.skills.all())
