"""How well skills do, which fit a failure, where they may be used, and that all of it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.model import (
    Actor,
    Arm,
    AttemptOutcome,
    EditShape,
    Experience,
    Family,
    Permission,
    Recollection,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.rewards import WEIGHTS_VERSION
from memory.skills import (
    GOOD_RATE,
    MAX_TOKENS,
    PRIOR_RATE,
    Skill,
    SkillState,
    composed,
    current,
    derived,
    fitting,
    is_public,
    name_of,
    parts_of,
    teaches,
    tried_as,
    usable,
    written_out,
)
from memory.store import Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOUND = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
WRAPPED = EditShape(template="wrap_call", before="$0", after="int ( $0 )")


def experience(number: int, shape: EditShape | None = None, **more: object) -> Experience:
    """A repair that a shape proves, or a failed one."""
    made = Experience(
        id=f"e{number}",
        repository="o/one",
        task_id=f"t{number}",
        error_type="AssertionError",
        family=Family.ASSERTION,
        signature="",
        path="a.py",
        strategy="operators",
        outcome=AttemptOutcome.PROVEN if shape else AttemptOutcome.NOTHING_PLAUSIBLE,
        reflection="",
        patch="",
        shape=shape,
        created_at=NOW + timedelta(hours=number),
    )
    return replace(made, **more)  # type: ignore[arg-type]  # names checked by Experience


TEACHERS = (experience(1, BOUND), experience(2, BOUND, repository="o/two"))


def signal(decision: str, account: int, kind: SignalKind = SignalKind.FIX_MERGED) -> Signal:
    """A maintainer's verdict on a fix."""
    return Signal(
        id=f"{decision} {account}",
        decision_id=decision,
        kind=kind,
        actor=Actor(id=account, login=f"m{account}"),
        permission=Permission.MAINTAIN,
        source=f"pull:{account}",
        created_at=NOW,
        weights_version=WEIGHTS_VERSION,
        weight=1.0,
    )


def only(skills: Sequence[Skill]) -> Skill:
    (found,) = skills
    return found


def used(numbers: Sequence[int], *, won: bool) -> list[Experience]:
    """Repairs in which the skill was tried."""
    tried = {tried_as(name_of(BOUND)): 2, "swap_operator": 5}
    return [experience(number, BOUND if won else None, tried=tried) for number in numbers]


def test_a_skill_knows_who_taught_it() -> None:
    """It names experiences, repositories and the accounts that accepted; before anybody did, it is a candidate."""
    skill = only(derived(TEACHERS, ()))
    assert (skill.taught_by, skill.repositories, skill.families) == (("e1", "e2"), ("o/one", "o/two"), ("assertion",))
    assert (skill.state, skill.teachers) == (SkillState.CANDIDATE, ())
    accepted = only(derived(TEACHERS, (signal("e1", 7), signal("e2", 8), signal("e2", 7))))
    assert (accepted.state, accepted.teachers) == (SkillState.ACTIVE, (7, 8))
    assert accepted.rate > skill.rate > PRIOR_RATE


def test_names_tell_skills_apart() -> None:
    """A name begins with the template; equal edits have equal names, others do not."""
    assert name_of(BOUND).startswith("comparison_operator-")
    assert name_of(BOUND) == name_of(replace(BOUND)) == only(derived(TEACHERS, ())).name
    assert name_of(BOUND) != name_of(replace(BOUND, after="$0 > $1"))


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ("$0", "$0 . strip ( )", "$0 → $0.strip()"),
        ("", "if not $0 : return [ ]", "nothing → if not $0: return []"),
        ("$0 [ $1 ] ( $2 , $3 )", "len ( $0 ) and ( $1 or - 1 )", "$0[$1]($2, $3) → len($0) and ($1 or - 1)"),
    ],
)
def test_an_edit_is_written_out_for_readers(before: str, after: str, written: str) -> None:
    """Both sides have the spaces that people write, and an empty side is named."""
    assert written_out(EditShape(template="t", before=before, after=after)) == written


def test_tries_and_wins_are_those_of_repairs() -> None:
    """Two attempts of one repair are one try; a win that people rejected is none."""
    twice = [replace(each, task_id="t9") for each in used((9, 10), won=False)]
    known = (*TEACHERS, *twice, *used((11, 12), won=True))
    judged = only(derived(known, ()))
    assert (judged.tries, judged.wins) == (3, 2)
    rejected = only(derived(known, (signal("e11", 7, SignalKind.REJECTED),)))
    assert (rejected.tries, rejected.wins) == (3, 1)
    assert rejected.rate < judged.rate


def test_a_win_of_another_edit_is_none() -> None:
    """What was tried in a repair that another edit proved has lost there."""
    other = replace(used((9,), won=True)[0], shape=WRAPPED)
    judged = {skill.shape: skill for skill in derived((*TEACHERS, other), ())}
    assert (judged[BOUND].tries, judged[BOUND].wins) == (1, 0)
    assert (judged[WRAPPED].tries, judged[WRAPPED].taught_by) == (0, ("e9",))


def test_two_edits_in_one_patch_teach_both() -> None:
    """A composed edit is no skill, its parts are; where both are tried and prove it together, both win."""
    pair = composed(BOUND, WRAPPED)
    assert parts_of(pair) == (BOUND, WRAPPED)
    assert parts_of(BOUND) == (BOUND,)
    tried = {tried_as(name_of(shape)): 1 for shape in (BOUND, WRAPPED)}
    skills = derived((*TEACHERS, experience(3, WRAPPED), experience(4, pair, tried=tried)), ())
    assert {skill.shape: (skill.tries, skill.wins) for skill in skills} == {BOUND: (1, 1), WRAPPED: (1, 1)}


def test_what_stops_working_is_retired_until_it_is_taught_again() -> None:
    """Once even the upper bound of its rate is below what any skill starts with; a new fix of its kind brings it back."""
    failures = used(range(10, 80), won=False)
    retired = only(derived((*TEACHERS, *failures), ()))
    assert retired.state is SkillState.RETIRED
    assert usable([retired], "o/one") == ()
    again = [experience(100 + n, BOUND) for n in range(12)]
    assert only(derived((*again, *TEACHERS, *failures), ())).state is not SkillState.RETIRED


def test_a_rejected_fix_teaches_nothing() -> None:
    """What people were against is no example of anything."""
    assert only(derived(TEACHERS, (signal("e2", 7, SignalKind.REJECTED),))).taught_by == ("e1",)


def test_what_the_tests_did_not_decide_on_is_learned_once_it_is_accepted() -> None:
    """An edit among others that behave otherwise teaches and wins by a maintainer's word only."""
    asked = experience(3, BOUND, contested=True, tried={tried_as(name_of(BOUND)): 1})
    assert derived((asked,), ()) == ()
    assert only(derived((*TEACHERS, asked), ())).wins == 0
    assert only(derived((asked,), (signal("e3", 7),))).wins == 1


def test_a_quorum_carries_a_skill_beyond_its_repositories() -> None:
    """One maintainer's merge has effect where the fix was made; two people's everywhere."""
    for accounts, reaches in (((), False), ((7,), False), ((7, 8), True)):
        skill = only(derived(TEACHERS, [signal("e1", account) for account in accounts]))
        assert usable([skill], "o/one") == (skill,)
        assert (usable([skill], "o/three") == (skill,)) is reaches


@pytest.mark.parametrize(
    ("before", "after", "public"),
    [
        ("$0 < len ( $1 )", "$0 <= len ( $1 )", True),
        ("$0 . size", "$0 . size + 1", False),
        ("$0", "$0 or 'https://intern.example'", False),
        ("$0", "$0 or ''", True),
        ("$0", "f'$1' % b'$2'", True),
        ("$0", "$0 * 4711", False),
        ("$0", "$0 * 1.0", True),
        ("$0", "import $1 $1 ( $0 )", True),
        ("$0", "import acme acme ( $0 )", False),
    ],
)
def test_nobody_elses_code_is_shown(before: str, after: str, *, public: bool) -> None:
    """A skill that spells out a name, text or number of the code that taught it stays in its repository, whoever accepted it."""
    taught = only(derived(TEACHERS, (signal("e1", 7), signal("e1", 8))))
    skill = replace(taught, shape=replace(BOUND, before=before, after=after))
    assert is_public(skill.shape) is public
    assert usable([skill], "o/one") == (skill,)
    assert (usable([skill], "o/three") == (skill,)) is public


def test_what_is_too_long_or_fits_anything_is_no_skill() -> None:
    """One name for another says nothing elsewhere; a long edit fits one place only."""
    renamed = EditShape(template="variable_misuse", before="$0", after="$1")
    long = replace(BOUND, after=" ".join(["$0 <="] * MAX_TOKENS))
    assert not teaches(renamed)
    assert not teaches(long)
    assert derived((experience(1, renamed), experience(2, long)), ()) == ()


def recalled(shape: EditShape, score: float, outcome: AttemptOutcome = AttemptOutcome.PROVEN) -> Recollection:
    """A similar failure and what repaired it."""
    return Recollection(experience=experience(50, shape, outcome=outcome), score=score)


def test_edits_of_similar_failures_fit_by_how_similar_these_are() -> None:
    """What was proven, of any repository, the parts of a composed edit apart; not what failed, and not what is retired."""
    where = {"family": "assertion", "repository": "o/three"}
    assert fitting((), [recalled(BOUND, 0.9), recalled(BOUND, 0.3)], **where) == {BOUND: 0.9}
    assert fitting((), [recalled(composed(BOUND, WRAPPED), 0.4)], **where) == {BOUND: 0.4, WRAPPED: 0.4}
    assert fitting((), [recalled(BOUND, 0.9, AttemptOutcome.UNPROVEN), recalled(WRAPPED, 0.0)], **where) == {}
    named = replace(BOUND, after="$0 <= acme")
    assert fitting((), [recalled(named, 0.9)], **where) == {}
    assert fitting((), [recalled(named, 0.9)], family="assertion", repository="o/one") == {named: 0.9}
    retired = replace(only(derived(TEACHERS, ())), state=SkillState.RETIRED)
    assert fitting((retired,), [recalled(BOUND, 0.9)], **where) == {}


def test_skills_with_a_good_record_fit_failures_of_their_family() -> None:
    """As well as they do, where they may be used, whatever is recalled."""
    skill = replace(only(derived(TEACHERS, ())), rate=GOOD_RATE)
    assert fitting((skill,), (), family="assertion", repository="o/one") == {BOUND: GOOD_RATE}
    assert fitting((skill,), [recalled(BOUND, 0.1)], family="assertion", repository="o/one") == {BOUND: GOOD_RATE}
    assert fitting((skill,), (), family="lookup", repository="o/one") == {}
    assert fitting((skill,), (), family="assertion", repository="o/three") == {}
    assert fitting((replace(skill, rate=GOOD_RATE / 2),), (), family="assertion", repository="o/one") == {}


def test_signals_and_their_undoing_are_felt_at_once(store: Store, learner: Learner) -> None:
    """A merge makes a skill active, taking it back makes it what it was, and forgetting the experience ends it."""
    state = State(kind=TaskKind.REPAIR, repository="o/one", label="AssertionError", family="assertion")
    decision = learner.decide("t1", state, ("operators",), arm=Arm.LEARNED, prior={"operators": 0.5})
    store.experiences.add(replace(TEACHERS[0], id=decision.id), "text")
    before = current(store)
    assert [skill.state for skill in before] == [SkillState.CANDIDATE]
    learner.record_signal(decision.id, SignalKind.FIX_MERGED, Actor(id=7, login="maya"), Permission.MAINTAIN, "pull:1")
    merged = only(current(store))
    assert (merged.state, merged.teachers) == (SkillState.ACTIVE, (7,))
    learner.retract(decision.id, SignalKind.FIX_MERGED, "pull:1")
    assert current(store) == before
    learner.record_signal(decision.id, SignalKind.REJECTED, Actor(id=7, login="maya"), Permission.MAINTAIN, "comment:1")
    assert current(store) == ()
    store.experiences.delete(decision.id)
    assert current(store) == ()
