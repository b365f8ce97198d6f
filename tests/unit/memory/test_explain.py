from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from memory.explain import ExplainedOption, Explanation, ReceivedFeedback, TableRow, ValueUpdate, environments, explain
from memory.forget import forget, learned_from
from memory.model import (
    Action,
    Actor,
    Arm,
    AttemptOutcome,
    Decision,
    Experience,
    Family,
    Finding,
    Outcome,
    Permission,
    Plan,
    PlanOutcome,
    Severity,
    Sighting,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.policy.q_table import values
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.rewards import SIGNALS_ON_ONE_LABEL
from memory.store import Store, open_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATE = State(kind=TaskKind.REPAIR, repository="o/r", label="KeyError", family="lookup")
ADA = Actor(id=1, login="ada")
FINDING = Finding(
    fingerprint="abc123", path="a.py", line=3, end_line=3, tool="ruff", rule="B006", category="style",
    severity=Severity.MINOR, message="m", anchor="def f(x=[]):",
)  # fmt: skip


def explained(store: Store, learner: Learner, reference: str, *, repository: str = "", pull: int = 0) -> Explanation:
    found = explain(store, learner, reference, repository, pull)
    assert found is not None
    return found


def repair(learner: Learner, task: str = "t1", arm: Arm = Arm.LEARNED) -> Decision:
    return learner.decide(task, STATE, ("swap", "guard"), arm=arm, prior={})


def experience(id_: str, repository: str) -> Experience:
    return Experience(
        id=id_, repository=repository, task_id=f"t-{id_}", error_type="KeyError", family=Family.LOOKUP,
        signature="'unit_price' in total", path="cart.py", strategy="guard", outcome=AttemptOutcome.PROVEN,
        reflection="a missing key", patch="", shape=None, created_at=NOW,
    )  # fmt: skip


def test_unknown_reference_explains_nothing(store: Store, learner: Learner) -> None:
    """Neither an id nor a fingerprint that is known: None; so is an empty reference."""
    assert explain(store, learner, "nope") is None
    assert explain(store, learner, "") is None


def test_a_repair_is_explained_whole(store: Store, learner: Learner) -> None:
    """The explanation holds the odds, the rows of all levels, what the tests said, and who said what with which weight."""
    decision = repair(learner)
    learner.conclude(decision, {"suite_green": 1.0, "tests_fixed": 1.0})
    learner.record_signal(decision.id, SignalKind.FIX_MERGED, ADA, Permission.MAINTAIN, "pull:1")
    learner.record_signal(
        decision.id, SignalKind.REACTION_DOWN, Actor(id=2, login="eve"), Permission.NONE, "reaction:1"
    )
    why = explained(store, learner, decision.id)
    assert {option.name: option.probability for option in why.options} == dict(
        zip(decision.available, decision.probabilities, strict=True)
    )
    assert [(row.scope, row.factor) for row in why.table] == [
        (scope, factor) for scope in ("repository", "label", "family", "global") for factor in ("acceptance", "proof")
    ]
    assert why.outcome is not None
    assert why.outcome.target == pytest.approx(0.75)
    assert [(s.signal.actor.login, s.signal.permission, s.signal.weight) for s in why.signals] == [
        ("ada", "maintain", 1.0),
        ("eve", "none", 0.0),
    ]
    text = why.text()
    for words in (f"Chose {decision.chosen}", "ada (maintain): fix merged, weight 1.0", "eve (none)", "target 0.75"):
        assert words in text


def test_a_retracted_signal_is_shown_as_retracted(store: Store, learner: Learner) -> None:
    """What somebody took back is still told, with a note, and only once."""
    decision = repair(learner)
    learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.WRITE, "comment:1")
    learner.retract(decision.id, SignalKind.REJECTED, "comment:1")
    why = explained(store, learner, decision.id)
    assert [signal.retracted for signal in why.signals] == [True]
    assert why.table == ()
    assert "retracted" in why.text()


def test_what_was_expected_is_held_against_what_came(store: Store, learner: Learner) -> None:
    """An explanation says by how much the choice did better than the table expected, and from how many repositories it knows."""
    states = [replace(STATE, repository=f"other/{number}") for number in range(2)]
    for state in (*states, STATE):
        decision = learner.decide("t1", state, ("swap",), arm=Arm.LEARNED, prior={"swap": 0.5})
        learner.conclude(decision, {"suite_green": 1.0, "tests_fixed": 1.0})
    why = explained(store, learner, decision.id)
    assert why.decision.features["expected_proof"] == pytest.approx(0.5, abs=0.2)
    assert why.advantage == pytest.approx(0.75 - float(why.decision.features["expected_proof"]))
    assert {row.scope: row.witnesses for row in why.table}["label"] == 3
    assert "It did better than expected by" in why.text()
    assert "from 3 repositories" in why.text()


def test_the_update_is_what_the_result_changed(store: Store, learner: Learner) -> None:
    """The old value is the one from before the result, and the step leads from it to the new one; a withdrawn result has none."""
    for _ in range(5):
        learner.conclude(repair(learner), {"suite_green": 1.0, "tests_fixed": 1.0})
    decision = repair(learner)
    before = values(STATE, ("swap", "guard"), learner.cells(STATE), {})[decision.chosen]
    learner.conclude(decision, {"failure_moved": 1.0})
    after = values(STATE, ("swap", "guard"), learner.cells(STATE), {})[decision.chosen]
    update = explained(store, learner, decision.id).update
    assert update is not None
    assert (update.old, update.new) == (pytest.approx(before.q), pytest.approx(after.q))
    assert update.new < update.old
    stepped = before.proof.mean + update.step * (update.reward - before.proof.mean)
    assert stepped == pytest.approx(after.proof.mean)
    assert update.best_next == ({"swap", "guard"} - {decision.chosen}).pop()
    assert explained(store, learner, repair(learner).id).update is None


def test_a_choice_is_not_explained_by_its_own_result(store: Store, learner: Learner) -> None:
    """The reason is what other attempts showed: the result came after the choice."""
    first = repair(learner)
    learner.conclude(first, {"suite_green": 1.0, "tests_fixed": 1.0})
    assert explained(store, learner, first.id).reason == "no result on KeyError here before"
    again = next(each for each in (repair(learner) for _ in range(50)) if each.chosen == first.chosen)
    learner.conclude(again, {"failure_moved": 1.0})
    reason = explained(store, learner, again.id).reason
    assert reason == "tried 1 time on KeyError here, worth 0.75 on average"


def test_a_limit_is_told(store: Store, learner: Learner) -> None:
    """A signal beyond the day's limit is shown with its reason, and a withdrawn outcome as taken back."""
    made = [repair(learner) for _ in range(SIGNALS_ON_ONE_LABEL + 1)]
    for decision in made:
        learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.WRITE, "comment:1")
    assert "weight 0.0, over the daily limit" in explained(store, learner, made[-1].id).text()
    learner.conclude(made[0], {"suite_green": 1.0})
    forget(store, learned_from(store, made[0].id), now=NOW, new_id=lambda: "undo")
    why = explained(store, learner, made[0].id)
    assert why.withdrawn
    assert "retracted" in why.text()


def test_control_decisions_say_so(store: Store, learner: Learner) -> None:
    """The explanation of a control decision says that nothing learned was used."""
    text = explained(store, learner, repair(learner, arm=Arm.CONTROL).id).text()
    assert "control arm (nothing learned was used)" in text
    assert "silence teaches nothing" in text


def test_a_finding_is_explained_by_its_fingerprint(store: Store, learner: Learner) -> None:
    """A fingerprint, or its beginning once sighted, leads to the latest decision about it, with its verdicts."""
    decisions = [_posted(learner) for _ in range(4)]
    for i, decision in enumerate(decisions[:3]):
        learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.WRITE, f"comment:{i}")
    why = explained(store, learner, "abc123")
    assert why.decision.id == decisions[-1].id
    assert "3 of 3 rejected here; acceptance" in why.text()
    assert explain(store, learner, "abc") is None
    store.posts.add_sightings([_sighting(decisions[-1])])
    assert explained(store, learner, "abc").decision.id == decisions[-1].id


def test_feedback_that_is_no_whole_number_is_a_share(store: Store, learner: Learner) -> None:
    """Triage counts half, and a resolved thread less: `0.1 of 1.6 rejected` is no English."""
    decision = _posted(learner)
    learner.record_signal(decision.id, SignalKind.REJECTED, ADA, Permission.TRIAGE, "comment:1")
    learner.record_signal(decision.id, SignalKind.ACCEPTED, Actor(id=2, login="eve"), Permission.WRITE, "comment:2")
    reason = explained(store, learner, decision.id).reason
    assert reason.startswith("33 % rejected here, of feedback worth 1.5 verdicts; acceptance")


def test_a_fingerprint_is_of_a_finding_in_one_repository(store: Store, learner: Learner) -> None:
    """Where a fork has the same finding, each repository is explained its own decision, and of these that of the pull request."""
    first, later, elsewhere = _posted(learner), _posted(learner), _posted(learner, "fork/r")
    sightings = [_sighting(first, number=1), _sighting(later, number=2), _sighting(elsewhere, "fork/r")]
    store.posts.add_sightings(sightings)
    for reference in ("abc123", "abc"):
        assert explained(store, learner, reference).decision == elsewhere
        assert explained(store, learner, reference, repository="fork/r", pull=7).decision == elsewhere
        assert explained(store, learner, reference, repository="o/r").decision == later
        assert explained(store, learner, reference, repository="o/r", pull=1).decision == first
        assert explain(store, learner, reference, "third/r") is None
    assert explain(store, learner, first.id, "fork/r") is None


def test_the_belief_shown_is_the_one_that_decides(store: Store, learner: Learner) -> None:
    """With the finding at hand, an explanation shows exactly the posterior that posting would use."""
    decision = _posted(learner)
    store.posts.add_sightings([_sighting(decision)])
    appraisal = review_policy.appraise(learner, "o/r", FINDING, arm=Arm.LEARNED, suggestion_proven=False)
    assert {option.acceptance for option in explained(store, learner, decision.id).options} == {appraisal.belief.mean}


def test_neighbours_of_other_repositories_are_not_told(store: Store, learner: Learner) -> None:
    """People are shown similar cases of their own repository only, and not the case itself."""
    decision = repair(learner)
    experiences = Experiences(store, HashedWords())
    for id_, repository in ((decision.id, "o/r"), ("mine", "o/r"), ("theirs", "secret/repo")):
        experiences.remember(experience(id_, repository))
    why = explained(store, learner, decision.id)
    assert [near.id for near in why.neighbours] == ["mine"]
    assert "secret" not in json.dumps(why.to_json())


def test_an_explanation_is_json(store: Store, learner: Learner) -> None:
    """to_json gives plain values."""
    decision = repair(learner)
    assert json.loads(json.dumps(explained(store, learner, decision.id).to_json()))["chosen"] == decision.chosen


def _posted(learner: Learner, repository: str = "o/r") -> Decision:
    return review_policy.decide_posting(
        learner, "t1", repository, FINDING, arm=Arm.LEARNED, suggestion_proven=False, slots_left=5
    ).decision


def _sighting(decision: Decision, repository: str = "o/r", number: int = 1) -> Sighting:
    return Sighting(
        repository=repository, number=number, sha="s", decision_id=decision.id, finding=FINDING, action=Action.SUMMARY,
        created_at=decision.created_at,
    )  # fmt: skip


def _explanation() -> Explanation:
    return Explanation(
        repository="o/r",
        decision=Decision(
            id="d1",
            task_id="t1",
            state=replace(STATE, tried=("swap",)),
            available=("wrap", "guard"),
            probabilities=(0.25, 0.75),
            chosen="guard",
            arm=Arm.LEARNED,
            policy_version="v1",
            created_at=NOW,
            seed=7,
        ),
        policy_now="v2",
        reason="tried 4 times on KeyError here, worth 0.75 on average",
        options=(_option("wrap", 0.25, 0.2), _option("guard", 0.75, 0.7)),
        table=(
            TableRow(
                scope="repository",
                key="repair|o/r|KeyError",
                strategy="guard",
                factor="proof",
                count=4,
                mean=0.75,
                witnesses=1,
            ),
            TableRow(
                scope="global", key="repair", strategy="guard", factor="acceptance", count=9, mean=0.5, witnesses=1
            ),
            TableRow(scope="global", key="repair", strategy="wrap", factor="proof", count=3, mean=0.1, witnesses=1),
        ),
        outcome=Outcome(
            decision_id="d1", components={"suite_green": 1.0}, target=0.75, weights_version="1", created_at=NOW
        ),
        withdrawn=False,
        advantage=0.25,
        signals=(_feedback(retracted=False), _feedback(retracted=True)),
        neighbours=(replace(experience("x", "o/r"), outcome=AttemptOutcome.NOTHING_PLAUSIBLE),),
        update=ValueUpdate(old=0.3, reward=0.75, step=0.1, new=0.35, best_next="wrap", following=0.12),
    )


def _option(name: str, probability: float, proof: float) -> ExplainedOption:
    return ExplainedOption(
        name=name,
        probability=probability,
        proof=proof,
        proof_deviation=0.1,
        acceptance=0.6,
        acceptance_deviation=0.2,
        value=proof * 0.6,
    )


def _feedback(*, retracted: bool) -> ReceivedFeedback:
    signal = Signal(
        id="s1", decision_id="d1", kind=SignalKind.FIX_MERGED, actor=ADA, permission=Permission.WRITE, source="pull:1",
        created_at=NOW, weights_version="1", weight=1.0,
    )  # fmt: skip
    return ReceivedFeedback(signal=signal, retracted=retracted)


def test_the_text_of_an_explanation() -> None:
    """The choice, the odds with the chosen one marked, the table's rows, the similar cases, and the results."""
    assert _explanation().text() == snapshot("""\
Decision d1: repair in o/r, KeyError (lookup), after swap.
Chose guard with probability 0.75, learned arm (what was learned was used), policy v1 (in use now: v2).
In short: tried 4 times on KeyError here, worth 0.75 on average.
Options, with the odds then and the beliefs now:
› guard: probability 0.750; proof 0.70 ± 0.10, acceptance 0.60 ± 0.20
  wrap: probability 0.250; proof 0.20 ± 0.10, acceptance 0.60 ± 0.20
Evidence in the table now, most specific level first:
  repository: guard, proof 0.75 over 4.0
  global: guard, acceptance 0.50 over 9.0
  global: wrap, proof 0.10 over 3.0
  remembered: KeyError, guard: nothing plausible
Test results: suite_green 1.00; target 0.75.
Update: guard was worth 0.30 and is worth 0.35 now: reward 0.75, step 0.10; a failure leads to wrap, worth 0.12.
ada (write): fix merged, weight 1.0.
ada (write): fix merged, weight 1.0, retracted.
It did better than expected by 0.25.\
""")


def test_the_environments_of_a_repository() -> None:
    """The text names each plan with its result, what was changed in it and what could not be followed; JSON the same."""
    plan = Plan(source="tox", mends=("added PyYAML: no module yaml",), notes=("CI starts postgres",))
    good = PlanOutcome(read=plan, plan=plan, built=True, python="3.11.7", passed=9, failed=1, seconds=12.4, at=NOW)
    bad = PlanOutcome(read=plan, plan=Plan(source="CI"), built=False, trouble="no wheel of x", at=NOW)
    explained = replace(_explanation(), environments=(good, bad))
    assert explained.text().endswith("""\
Environments that were tried, by their plans:
  tox: Python 3.11.7, 9 tests passed, 1 failed, 0 files not collected, in 12 s
    added PyYAML: no module yaml
    CI starts postgres
  CI: not built (no wheel of x)""")
    shown = explained.to_json()["environments"]
    assert isinstance(shown, list) and [(each["source"], each["worth"]) for each in shown] == [
        ("tox", 0.9),
        ("CI", 0.0),
    ]


def test_environments_are_those_of_the_repository_best_first(tmp_path: Path) -> None:
    """And they go with it when it is forgotten."""
    with open_store(f"sqlite:///{tmp_path / 'a.db'}") as store:
        for number, owner in enumerate(("7", "7", "8")):
            plan = Plan(source=f"plan {number}")
            store.plans.put(
                str(number), PlanOutcome(read=plan, plan=plan, built=True, passed=number, failed=1, at=NOW), owner=owner
            )
        assert [each.plan.source for each in environments(store, "7")] == ["plan 1", "plan 0"]
        store.plans.remove_of("7")
        assert (environments(store, "7"), len(environments(store, "8"))) == ((), 1)
