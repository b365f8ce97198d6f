"""Whether a new issue in words is answered with its likely places. One step, no next state: a bandit."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.model import Arm, Cell, Decision, Factor, State, TaskKind
from memory.policy import q_table
from memory.rewards import expectation

if TYPE_CHECKING:
    from memory.policy.learner import Learner

ANSWER, SILENT = "answer", "silent"

PRIOR = 0.5
"""Acceptance expected of an answer before any evidence: in histories two of three answers named a right file, and a right
file is not yet a useful answer."""

ANSWER_ABOVE = 0.4
"""The cost of attention: acceptance from which an answer is worth the notification that it sends."""

PSEUDO_COUNTS = MappingProxyType({"repository": 4.0, "label": 24.0, "family": 48.0, "global": 96.0})
"""Pseudo-counts by level: a repository's own reactions soon lead, and those of others hardly move it."""

FLOOR = 0.1
"""Share of the probability that is spread evenly without evidence, so that silence never ends all evidence."""


def state_of(repository: str, clue: str) -> State:
    """What the policy sees of an issue: what speaks for its first file."""
    return State(kind=TaskKind.ISSUE, repository=repository, label=clue, family="issue")


def belief(state: State, cells: q_table.Cells) -> q_table.Belief:
    return q_table.believe(state, ANSWER, cells, prior=PRIOR, pseudo_counts=PSEUDO_COUNTS)


def decide_answer(learner: Learner, task_id: str, state: State, *, arm: Arm) -> Decision:
    """Decide, and record, whether to answer. The control arm decides from the prior alone, with the same floor."""
    believed = belief(state, {} if arm is Arm.CONTROL else learner.cells(state))
    answering = float((q_table.draw([believed], learner.rng) >= ANSWER_ABOVE).mean())
    shares = {ANSWER: answering, SILENT: 1.0 - answering}
    features = {} if arm is Arm.CONTROL else expectation(value=believed.mean)
    chances = q_table.with_floor(shares, believed.strength, floor=FLOOR)
    return learner.settle(task_id, state, chances, arm=arm, features=features)


def asked_answer(learner: Learner, task_id: str, state: State, *, arm: Arm) -> Decision:
    """Record an answer that a user asked for: there was no choice, and the reaction to it teaches all the same."""
    return learner.settle(task_id, state, {ANSWER: 1.0}, arm=arm)


def reason(decision: Decision, cells: q_table.Cells) -> str:
    """One line for users: the feedback here, and what is expected."""
    if len(decision.available) == 1:
        return "a user asked for the answer"
    here = cells.get((decision.state.here, ANSWER, Factor.ACCEPTANCE), Cell(weight=0.0, mean=0.0))
    believed = belief(decision.state, cells)
    expected = f"acceptance {believed.mean:.2f} ± {believed.deviation:.2f}, answered from {ANSWER_ABOVE} on"
    if decision.arm is Arm.CONTROL:
        return f"control arm, nothing learned was used; learning expects {expected}"
    if here.weight <= 0.0:
        return f"no verdict on such answers here yet; {expected}"
    return f"feedback worth {here.weight:.1f} verdicts here, {here.mean:.2f} of it in favour; {expected}"
