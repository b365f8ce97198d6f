"""What to do with a finding: post it inline, list it in the summary, or hide it. One step, no next state: a bandit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.history.lessons import HistoryHint, path_class
from memory.model import Action, Arm, Cell, Decision, Factor, Finding, Severity, State, TaskKind
from memory.policy import q_table
from memory.rewards import PATTERN, expectation
from memory.sharing import Learnings, shifted

if TYPE_CHECKING:
    from memory.policy.learner import Learner

PROTECTED = frozenset({"security", "correctness"})
"""Categories that are never hidden, whatever feedback says; nor is anything critical."""

_LOUD = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})

PRIOR = MappingProxyType(
    {Severity.INFO: 0.15, Severity.MINOR: 0.2, Severity.MAJOR: 0.6, Severity.CRITICAL: 0.65},
)
"""Acceptance expected of a bare finding before any evidence."""

PROVEN_PRIOR = 0.65
"""Acceptance expected at least of a finding whose suggestion was applied and tested."""

OWN_LINTER_PRIOR = 0.05
"""Acceptance expected of what the repository's own linter reports anyway: it is listed until evidence says more.

Security and what is critical start as ever.
"""

TOOL_DISCOUNT = MappingProxyType({"bandit": 0.95})
"""Factor on the prior of tools known for false alarms."""

INLINE_ABOVE = MappingProxyType(
    {Severity.INFO: 0.4, Severity.MINOR: 0.35, Severity.MAJOR: 0.3, Severity.CRITICAL: 0.3},
)
"""The cost of attention: acceptance from which an inline comment is worth what it interrupts."""

HOLD_BELOW = 0.02
"""Acceptance below which even a line in the summary is noise."""

PSEUDO_COUNTS = MappingProxyType({"place": 2.0, "repository": 8.0, "label": 24.0, "family": 48.0, "global": 96.0})
"""Pseudo-counts by level. What one team rejects must not mute other rules, nor other teams: broad levels hardly move."""

FLOOR = 0.1
"""Share of the probability that is spread evenly over the actions without evidence: the audited sample."""

SHARPNESS = 5.0
"""Draws come from a posterior of this many times the strength: a wrong comment costs more than learning a little slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appraisal:
    """What is believed of a pattern's acceptance in a repository, the cell of that repository alone, the `sources` outside
    of it whose learnings moved the prior, what the repository's own past did to it, and whether its own linter reports it."""

    belief: q_table.Belief
    here: Cell
    sources: tuple[str, ...] = ()
    past: HistoryHint | None = None
    own_linter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingDecision:
    """A recorded decision about a finding, with its reason in one line for users."""

    decision: Decision
    why: str

    @property
    def action(self) -> Action:
        """The decision in the words of review."""
        return Action(self.decision.chosen)


def state_of(repository: str, finding: Finding) -> State:
    """What the policy sees of a finding: its rule, its category as the family, and what its file is for."""
    return State(
        kind=TaskKind.REVIEW,
        repository=repository,
        label=finding.rule,
        family=finding.category,
        place=path_class(finding.path),
    )


def prior_of(finding: Finding, *, suggestion_proven: bool) -> float:
    """The mean acceptance expected of a finding before any evidence."""
    if finding.own_linter and finding.severity is not Severity.CRITICAL and finding.category != "security":
        return OWN_LINTER_PRIOR
    base = PRIOR[finding.severity] * TOOL_DISCOUNT.get(finding.tool, 1.0)
    return max(base, PROVEN_PRIOR) if suggestion_proven else base


def lifted(mean: float, lift: float) -> float:
    """A mean in (0, 1) with `lift` added to its log-odds."""
    return 1.0 / (1.0 + (1.0 - mean) / mean * exp(-lift))


def appraise(
    learner: Learner,
    repository: str,
    finding: Finding,
    *,
    arm: Arm,
    suggestion_proven: bool,
    learnings: Sequence[Learnings] = (),
    past: HistoryHint | None = None,
) -> Appraisal:
    """The levelled posterior of a finding's acceptance; the control arm reads no evidence, no `learnings` and no `past`."""
    state = state_of(repository, finding)
    cells = {} if arm is Arm.CONTROL else learner.cells(state)
    base = prior_of(finding, suggestion_proven=suggestion_proven)
    known, hint = ((), None) if arm is Arm.CONTROL else (learnings, past)
    mean, sources = shifted(base, known, (TaskKind.REVIEW, finding.rule, PATTERN))
    mean = lifted(mean, hint.lift) if hint else mean
    return Appraisal(
        belief=q_table.believe(state, PATTERN, cells, prior=mean, pseudo_counts=PSEUDO_COUNTS),
        sources=sources,
        past=hint,
        own_linter=finding.own_linter,
        here=cells.get((state.here, PATTERN, Factor.ACCEPTANCE), Cell(weight=0.0, mean=0.0)),
    )


def permitted(finding: Finding, *, suggestion_proven: bool, slots_left: int) -> tuple[Action, ...]:
    """The actions open to a finding, loudest first. `slots_left` is how many inline comments the round still has."""
    loud = (Action.INLINE_SUGGESTION if suggestion_proven else Action.INLINE,) if slots_left > 0 else ()
    guarded = finding.category in PROTECTED or finding.severity is Severity.CRITICAL
    return (*loud, Action.SUMMARY) if guarded else (*loud, Action.SUMMARY, Action.HOLD)


def action_chances(
    belief: q_table.Belief, severity: Severity, actions: Sequence[Action], rng: random.Random
) -> dict[str, float]:
    """The share of draws of acceptance that fall into each action's band, over a floor.

    Inline from the severity's threshold upwards, held below `HOLD_BELOW`, else the summary; a band whose action is not
    permitted falls to the summary. The floor is the audited sample: now and then it posts what would be hidden.
    """
    draws = q_table.draw([q_table.Belief(mean=belief.mean, strength=SHARPNESS * belief.strength)], rng)
    inline = float((draws >= INLINE_ABOVE[severity]).mean())
    hold = float((draws < HOLD_BELOW).mean())
    shares = {Action.INLINE_SUGGESTION: inline, Action.INLINE: inline, Action.HOLD: hold}
    open_shares = {str(action): shares.get(action, 0.0) for action in actions}
    open_shares[Action.SUMMARY] = 1.0 - sum(open_shares.values())
    return q_table.with_floor(open_shares, belief.strength, floor=FLOOR)


def posting_chances(
    belief: q_table.Belief, finding: Finding, *, suggestion_proven: bool, slots_left: int, rng: random.Random
) -> dict[str, float]:
    """How likely each action is that is open to a finding of which this is believed."""
    actions = permitted(finding, suggestion_proven=suggestion_proven, slots_left=slots_left)
    return action_chances(belief, finding.severity, actions, rng)


def decide_posting(
    learner: Learner,
    task_id: str,
    repository: str,
    finding: Finding,
    *,
    arm: Arm,
    suggestion_proven: bool,
    slots_left: int,
    learnings: Sequence[Learnings] = (),
    past: HistoryHint | None = None,
    made: Decision | None = None,
    sampled: bool = True,
) -> PostingDecision:
    """Decide, and record, what to do with a finding. The chosen word is an `Action`.

    Where it is not `sampled` the likeliest action is chosen: a draw teaches only where people answer. So is that of a
    critical finding that most likely goes beside the code: no draw puts a leaked key into a list. A decision that an
    earlier worker already `made` is kept. The control arm is not uniform over the actions, which would annoy users: it
    decides as on the first day, from the prior alone, with the same floor.
    """
    appraisal = appraise(
        learner, repository, finding, arm=arm, suggestion_proven=suggestion_proven, learnings=learnings, past=past
    )
    if made is None:
        chances = posting_chances(
            appraisal.belief, finding, suggestion_proven=suggestion_proven, slots_left=slots_left, rng=learner.rng
        )
        likeliest = max(chances, key=chances.__getitem__)
        if not sampled or (finding.severity is Severity.CRITICAL and likeliest in _LOUD):
            chances = {likeliest: 1.0}
        features = {} if arm is Arm.CONTROL else expectation(value=appraisal.belief.mean)
        state = state_of(repository, finding)
        made = learner.settle(task_id, state, chances, arm=arm, subject=finding.fingerprint, features=features)
    return PostingDecision(decision=made, why=reason(made, appraisal))


def reason(decision: Decision, appraisal: Appraisal) -> str:
    """One line for users: the feedback here, and what is expected."""
    expected = f"acceptance {appraisal.belief.mean:.2f} ± {appraisal.belief.deviation:.2f}"
    if appraisal.sources:
        expected += f", with what {' and '.join(appraisal.sources[:3])} learned"
    if appraisal.own_linter:
        expected += ", and the repository's own linter reports it"
    if decision.arm is Arm.CONTROL:
        return f"control arm, nothing learned was used; learning expects {expected}"
    seen = appraisal.here.weight
    if seen <= 0.0 and appraisal.past and appraisal.past.of >= 1.0:
        hint = appraisal.past
        return f"developers fixed {hint.addressed:.0f} of {hint.of:.0f} past {decision.state.label} on their own; {expected}"
    if seen <= 0.0:
        return f"no verdict on {decision.state.label} here yet; {expected}"
    rejected = seen * (1.0 - appraisal.here.mean)
    if _is_whole(seen) and _is_whole(rejected):
        return f"{rejected:.0f} of {seen:.0f} rejected here; {expected}"
    share = round(100 * rejected / seen)
    return f"{share} % rejected here, of feedback worth {seen:.1f} verdicts; {expected}"


def _is_whole(weight: float) -> bool:
    return abs(weight - round(weight)) < 0.05
