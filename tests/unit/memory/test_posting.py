from __future__ import annotations

import random
from dataclasses import replace
from itertools import count

import pytest
from inline_snapshot import snapshot

from memory.model import Action, Actor, Arm, Decision, Finding, Permission, Severity, SignalKind
from memory.policy import q_table, review_policy
from memory.policy.learner import Learner
from memory.store import Store

MAINTAINER = Actor(id=1, login="ada")
LOUD = (Action.INLINE, Action.INLINE_SUGGESTION)
sources = count()


def finding(
    severity: Severity = Severity.MINOR, *, rule: str = "B006", category: str = "style", tool: str = "ruff"
) -> Finding:
    return Finding(
        fingerprint=f"f-{rule}", path="a.py", line=3, end_line=3, tool=tool, rule=rule, category=category,
        severity=severity, message="m", anchor="def f(x=[]):",
    )  # fmt: skip


def post(
    learner: Learner, what: Finding, *, proven: bool = False, slots: int = 9, arm: Arm = Arm.LEARNED, repo: str = "o/r"
) -> Decision:
    return review_policy.decide_posting(
        learner, "t1", repo, what, arm=arm, suggestion_proven=proven, slots_left=slots
    ).decision


def chance(decision: Decision, *actions: Action) -> float:
    return sum(p for name, p in zip(decision.available, decision.probabilities, strict=True) if name in actions)


def say(learner: Learner, what: Finding, kind: SignalKind, times: int, *, permission: str = "write") -> None:
    for _ in range(times):
        decision = post(learner, what, proven=True)
        learner.record_signal(decision.id, kind, MAINTAINER, Permission(permission), f"comment:{next(sources)}")


def test_without_a_draw_the_likeliest_action_is_chosen(learner: Learner) -> None:
    """A local review hides nothing by chance: whatever the seed, the same finding is treated alike."""
    chosen = [
        review_policy.decide_posting(
            learner,
            f"t{number}",
            "o/r",
            finding(),
            arm=Arm.LEARNED,
            suggestion_proven=False,
            slots_left=9,
            sampled=False,
        ).decision
        for number in range(100)
    ]
    assert {(each.chosen, each.probabilities) for each in chosen} == {(Action.SUMMARY, (1.0,))}
    assert {post(learner, finding()).chosen for _ in range(300)} > {Action.SUMMARY}


def test_no_draw_makes_a_critical_finding_quieter(learner: Learner) -> None:
    """A key that leaks is beside the code, and in no list by chance; what was often rejected is still drawn."""
    leak = finding(Severity.CRITICAL, rule="SEC001", category="security")
    assert {post(learner, leak).chosen for _ in range(100)} == {Action.INLINE}
    say(learner, leak, SignalKind.REJECTED, 3)
    assert 0.0 < chance(post(learner, leak), *LOUD) < 0.2


@pytest.mark.parametrize("severity", list(Severity))
def test_a_proven_suggestion_is_posted_inline_from_the_first_day(learner: Learner, severity: Severity) -> None:
    """Without any data, a finding whose suggestion was tested is very likely said inline."""
    assert chance(post(learner, finding(severity), proven=True), Action.INLINE_SUGGESTION) > 0.8


@pytest.mark.parametrize(
    ("severity", "loud"),
    [(Severity.CRITICAL, True), (Severity.MAJOR, True), (Severity.MINOR, False), (Severity.INFO, False)],
)
def test_bare_findings_start_by_severity(learner: Learner, severity: Severity, loud: bool) -> None:
    """Without any data, major findings and worse go inline, lesser ones without a suggestion to the summary."""
    decision = post(learner, finding(severity))
    assert chance(decision, Action.INLINE if loud else Action.SUMMARY) > 0.7


@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("category", ["style", "security"])
def test_three_rejections_make_a_pattern_quiet_but_never_silent(
    learner: Learner, severity: Severity, category: str
) -> None:
    """After a maintainer rejected it three times, a pattern is rarely inline, yet never with probability 0."""
    what = finding(severity, category=category)
    say(learner, what, SignalKind.REJECTED, 3)
    assert 0.0 < chance(post(learner, what, proven=True), *LOUD) < 0.2
    assert 0.0 < chance(post(learner, what), *LOUD) < 0.2


def test_acceptance_brings_a_pattern_back(learner: Learner) -> None:
    """A muted pattern returns inline when people begin to accept it."""
    say(learner, finding(), SignalKind.REJECTED, 3)
    say(learner, finding(), SignalKind.SUGGESTION_APPLIED, 4)
    assert chance(post(learner, finding(), proven=True), *LOUD) > 0.6


def test_rejections_stay_where_they_were_made(learner: Learner) -> None:
    """Three rejections of one rule here hardly touch another rule, or another team with the same rule."""
    say(learner, finding(), SignalKind.REJECTED, 3)
    assert chance(post(learner, finding(rule="E711", category="bug"), proven=True), *LOUD) > 0.75
    assert chance(post(learner, finding(), proven=True, repo="other/repo"), *LOUD) > 0.6


def test_outsiders_mute_nothing(learner: Learner) -> None:
    """Any number of rejections without rights leaves the belief as it was."""
    before = review_policy.appraise(learner, "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=True)
    say(learner, finding(), SignalKind.REJECTED, 20, permission="read")
    assert review_policy.appraise(learner, "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=True) == before


@pytest.mark.parametrize(
    "what",
    [finding(category="security"), finding(category="correctness"), finding(Severity.CRITICAL)],
    ids=["security", "correctness", "critical"],
)
def test_grave_findings_are_never_held(learner: Learner, what: Finding) -> None:
    """No amount of rejection takes security, correctness or critical findings out of the summary."""
    say(learner, what, SignalKind.REJECTED, 40)
    assert Action.HOLD not in post(learner, what).available


@pytest.mark.parametrize("severity", list(Severity))
def test_fifty_rejections_leave_security_in_the_summary(learner: Learner, severity: Severity) -> None:
    """Whatever its severity: to hold it is not among the actions, for any draw, and the summary is by far the likeliest."""
    what = finding(severity, category="security")
    say(learner, what, SignalKind.REJECTED, 50)
    decision = post(learner, what)
    assert Action.HOLD not in decision.available
    assert chance(decision, Action.SUMMARY) > 0.8


def test_what_is_rejected_in_tests_is_quieter_there(learner: Learner) -> None:
    """Of one rule, code and tests are told apart; what is known of one is the prior of the other."""
    code, test = finding(), replace(finding(), path="tests/test_a.py")
    fresh = chance(post(learner, code, proven=True), *LOUD)
    say(learner, test, SignalKind.REJECTED, 2)
    here, there = (chance(post(learner, each, proven=True), *LOUD) for each in (code, test))
    assert there < here < fresh


def test_often_rejected_trifles_are_held_with_an_audited_sample(learner: Learner) -> None:
    """A trifle rejected again and again is mostly held, and still said now and then."""
    say(learner, finding(Severity.INFO), SignalKind.REJECTED, 20)
    decision = post(learner, finding(Severity.INFO))
    assert chance(decision, Action.HOLD) > 0.7
    assert chance(decision, Action.INLINE) > 0.005


@pytest.mark.parametrize("proven", [True, False])
def test_without_slots_nothing_is_inline(learner: Learner, proven: bool) -> None:
    """When the round's comments are used up, only the quiet actions are open."""
    decision = post(learner, finding(Severity.CRITICAL), proven=proven, slots=0)
    assert decision.available == (Action.SUMMARY,)
    assert decision.probabilities == (1.0,)


def test_control_arm_decides_as_on_the_first_day(learner: Learner) -> None:
    """The control arm posts from the prior alone, whatever was rejected."""
    say(learner, finding(), SignalKind.REJECTED, 20)
    decision = post(learner, finding(), proven=True, arm=Arm.CONTROL)
    assert chance(decision, *LOUD) > 0.8
    appraisal = review_policy.appraise(learner, "o/r", finding(), arm=Arm.CONTROL, suggestion_proven=True)
    assert review_policy.reason(decision, appraisal).startswith(
        "control arm, nothing learned was used; learning expects acceptance 0.65"
    )


def test_decision_is_recorded_about_the_fingerprint(learner: Learner, store: Store) -> None:
    """A posting decision is found again by the finding's fingerprint."""
    decision = post(learner, finding())
    assert store.ledger.decisions_about("f-B006") == [decision]


def test_reason_counts_the_verdicts(learner: Learner) -> None:
    """The reason tells how many verdicts there were here, and what is expected."""
    say(learner, finding(), SignalKind.REJECTED, 3)
    appraisal = review_policy.appraise(learner, "o/r", finding(), arm=Arm.LEARNED, suggestion_proven=True)
    assert review_policy.reason(post(learner, finding()), appraisal).startswith("3 of 3 rejected here; acceptance 0.1")
    fresh = review_policy.appraise(learner, "new/repo", finding(rule="E1"), arm=Arm.LEARNED, suggestion_proven=False)
    decision = post(learner, finding(rule="E1"), repo="new/repo")
    assert review_policy.reason(decision, fresh).startswith("no verdict on E1 here yet; acceptance")


def test_recorded_probability_is_the_share_of_the_band() -> None:
    """The bands partition [0, 1]: chances sum to 1, each above 0, for every severity and set of actions."""
    rng = random.Random(2)
    for severity in Severity:
        for proven in (True, False):
            for slots in (0, 1):
                actions = review_policy.permitted(finding(severity), suggestion_proven=proven, slots_left=slots)
                belief = q_table.Belief(mean=0.4, strength=3.0)
                chances = review_policy.action_chances(belief, severity, actions, rng)
                assert sum(chances.values()) == pytest.approx(1.0)
                assert min(chances.values()) > 0.0


def test_what_the_own_linter_reports_starts_in_the_summary(learner: Learner) -> None:
    """It is not posted on the first day, with a tested fix or without, but for security; maintainers' verdicts change that."""
    own = replace(finding(Severity.MAJOR, rule="F401"), own_linter=True)
    for proven in (False, True):
        assert chance(post(learner, own, proven=proven), *LOUD) < 0.1
    said = review_policy.decide_posting(
        learner, "t2", "o/r", own, arm=Arm.LEARNED, suggestion_proven=False, slots_left=9
    )
    assert said.why == snapshot(
        "no verdict on F401 here yet; acceptance 0.05 ± 0.13, and the repository's own linter reports it"
    )
    assert chance(post(learner, replace(own, category="security")), *LOUD) > 0.7
    assert chance(post(learner, replace(own, severity=Severity.CRITICAL)), *LOUD) > 0.7
    say(learner, own, SignalKind.SUGGESTION_APPLIED, 8)
    assert chance(post(learner, own, proven=True), *LOUD) > 0.7
