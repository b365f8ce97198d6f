"""What outcomes and signals are worth: one versioned table, and the contributions to the table that follow from it.

How much the feedback of an account weighs, and how much of it a day. All is recorded; not all has weight.

Nothing here is stored alone: a reward is recomputed from the ledger whenever it is needed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from memory.model import (
    STOP,
    Actor,
    Contribution,
    Decision,
    Factor,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)

WEIGHTS_VERSION = "4"
"""Names the two tables below and what outcomes aim at; it changes whenever one of them does."""

COMPONENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "failure_moved": 0.05,
        "tests_fixed": 0.30,
        "suite_green": 0.45,
        "small_patch": 0.08,
        "few_candidates": 0.12,
        "step_cost": 0.05,
        "wasted": 0.05,
    }
)
"""How much each part of a repair's reward counts. Those that reward sum to 1; the last two only cost."""

MILLIONTHS = 1_000_000

PATTERN = "finding"
"""The strategy under which review keeps acceptance: a pattern's worth does not depend on the action."""

EXPECTED, EXPECTED_PROOF = "expected", "expected_proof"
"""Features of a decision under which the table's expectation of it is kept."""

MIN_WEIGHT = 0.3
"""Weight of feedback from which on a decision counts as judged: a resolved thread alone is no verdict."""

SMALL_PATCH_LINES = 20
MANY_CANDIDATES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalWorth:
    """What one signal says about acceptance: a mean in [0, 1], and how much of an observation it is."""

    value: float
    weight: float


SIGNAL_WORTH: Mapping[SignalKind, SignalWorth] = MappingProxyType(
    {
        SignalKind.SUGGESTION_APPLIED: SignalWorth(value=1.0, weight=1.0),
        SignalKind.FIX_MERGED: SignalWorth(value=1.0, weight=1.0),
        SignalKind.ACCEPTED: SignalWorth(value=1.0, weight=1.0),
        SignalKind.REACTION_UP: SignalWorth(value=0.9, weight=0.6),
        # People resolve what they fixed, and what they are tired of: hardly evidence, and neutral.
        SignalKind.THREAD_RESOLVED: SignalWorth(value=0.5, weight=0.1),
        SignalKind.REACTION_DOWN: SignalWorth(value=0.0, weight=0.6),
        # A fix is also closed because it came too late or another user made it.
        SignalKind.FIX_CLOSED: SignalWorth(value=0.0, weight=0.8),
        # The failure was worth a fix, but not this edit.
        SignalKind.FIX_EDITED: SignalWorth(value=0.2, weight=0.8),
        SignalKind.FIX_REVERTED: SignalWorth(value=0.0, weight=1.0),
        SignalKind.REJECTED: SignalWorth(value=0.0, weight=1.0),
        SignalKind.FINDING_FIXED: SignalWorth(value=1.0, weight=0.7),
        # Most of these were fixed incidentally.
        SignalKind.FINDING_FIXED_ELSEWHERE: SignalWorth(value=1.0, weight=0.2),
        SignalKind.FINDING_SILENCED: SignalWorth(value=0.0, weight=0.8),
        # What went with its lines says nothing about the finding; what was left is silence, which is censored data.
        SignalKind.FINDING_REWRITTEN: SignalWorth(value=0.5, weight=0.0),
        SignalKind.FINDING_GONE: SignalWorth(value=0.5, weight=0.0),
        SignalKind.FINDING_LEFT: SignalWorth(value=0.5, weight=0.0),
    }
)
"""Silence and the merge of a human's pull request weigh nothing."""

TEACHING = frozenset(kind for kind, worth in SIGNAL_WORTH.items() if worth.weight > 0.0)
"""The kinds that weigh anything."""


# ── Whose feedback weighs how much ─────────────────────────────────────────────────────────────────────────────────

WINDOW = timedelta(days=1)

SIGNALS_A_DAY = 200
"""From the next one within a day on, an account's signals are recorded without weight: no person judges that much by hand."""

SIGNALS_ON_ONE_LABEL = 20
"""The same for one rule or error type: more in one day adds no information."""

_PERMISSION_WEIGHTS = {
    Permission.ADMIN: 1.0,
    Permission.MAINTAIN: 1.0,
    Permission.WRITE: 1.0,
    Permission.TRIAGE: 0.5,
    Permission.READ: 0.0,
    Permission.NONE: 0.0,
}


def trusted(permission: Permission, actor: Actor, *, is_author: bool = False) -> float:
    """How much of an observation what `actor` did counts as, within [0, 1].

    `permission` is the role on this repository at the time of processing, looked up by numeric id.
    `is_author` says that the actor wrote the pull request under review: without write access, they judge their own work.
    """
    weight = _PERMISSION_WEIGHTS[permission]
    return 0.0 if actor.is_bot or (is_author and weight < 1.0) else weight


def is_limited(signals: int, on_label: int) -> bool:
    """Whether an account's next signal weighs nothing, after so many with weight in the window, and so many on its label."""
    return signals >= SIGNALS_A_DAY or on_label >= SIGNALS_ON_ONE_LABEL


# ── Rewards ────────────────────────────────────────────────────────────────────────────────────────────────────────


def repair_components(
    *,
    failing_before: int,
    fixed: int,
    broken: int,
    moved: bool,
    proven: bool,
    patch_lines: int,
    candidates: int,
    wasted: int = 0,
) -> dict[str, float]:
    """The named parts of one attempt's reward, each within [-1, 1].

    `fixed` of `failing_before` failing tests pass with the best patch, `broken` others no longer do;
    `moved`: the failure became another one; `wasted` candidates looped without end or broke the run. Speed and
    size count only for a proven patch.
    An attempt that the environment cut short is no evidence: do not conclude it at all.
    """
    return {
        "failure_moved": 1.0 if moved and not proven else float(proven),
        "tests_fixed": min(fixed / failing_before, 1.0) if failing_before else 0.0,
        "suite_green": 1.0 if proven else (-1.0 if broken else 0.0),
        "small_patch": 1.0 - min(patch_lines / SMALL_PATCH_LINES, 2.0) if proven else 0.0,
        "few_candidates": 1.0 - min(candidates / MANY_CANDIDATES, 1.0) if proven else 0.0,
        "step_cost": -min(candidates / MANY_CANDIDATES, 1.0),
        "wasted": -min(wasted / candidates, 1.0) if candidates else 0.0,
    }


def shaped(components: Mapping[str, float]) -> float:
    """The weighted sum of the components, clipped to [0, 1].

    Raises ValueError for a component that is not in the table or lies outside [-1, 1].
    """
    for name, value in components.items():
        if name not in COMPONENT_WEIGHTS:
            raise ValueError(f"reward component {name!r} is not in weights version {WEIGHTS_VERSION}")
        if not -1.0 <= value <= 1.0:
            raise ValueError(f"reward component {name!r} is {value}, outside [-1, 1]")
    return clipped(sum(COMPONENT_WEIGHTS[name] * value for name, value in sorted(components.items())))


def clipped(value: float) -> float:
    """`value`, or the end of [0, 1] that it lies beyond."""
    return min(max(value, 0.0), 1.0)


def expectation(*, proof: float | None = None, value: float) -> dict[str, float]:
    """What the table expects of a choice, as features of the decision: of its proof, and of proof times acceptance.

    A finding has nothing to prove: its value is acceptance alone.
    """
    return {EXPECTED: value} if proof is None else {EXPECTED_PROOF: proof, EXPECTED: value}


def advantage(decision: Decision, target: float | None, acceptance: float | None) -> float | None:
    """By how much a decision did better than the table expected when it was made (Baird 1993); None where nothing is known.

    `target` is the outcome's, `acceptance` the mean of feedback within [0, 1]. Before any verdict a repair is
    held against the proof expected alone.
    """
    expected, proof = (decision.features.get(name) for name in (EXPECTED, EXPECTED_PROOF))
    if decision.state.kind is TaskKind.REPAIR:
        if target is None:
            return None
        if acceptance is None:
            return target - proof if isinstance(proof, float) else None
        acceptance *= target
    return acceptance - expected if acceptance is not None and isinstance(expected, float) else None


def acceptance(signals: Iterable[Signal], *, least: float = 0.0) -> float | None:
    """The weighted mean of feedback, within [0, 1]; None where it has no weight, or less than `least`."""
    given = [(weight_of(signal), SIGNAL_WORTH[signal.kind].value) for signal in signals]
    total = sum(weight for weight, _ in given)
    return sum(weight * value for weight, value in given) / total if total > 0.0 and total >= least else None


def weight_of(signal: Signal) -> float:
    """How much of an observation about acceptance a signal is, by its kind and by who gave it."""
    return signal.weight * SIGNAL_WORTH[signal.kind].weight


def proven(outcome: Outcome) -> bool:
    """Whether the tests proved the result of a decision."""
    return outcome.components.get("suite_green", 0.0) >= 1.0


def verdict(signals: Iterable[Signal]) -> float | None:
    """The weighted mean of the feedback on a decision; None without feedback that counts."""
    return acceptance(signals, least=MIN_WEIGHT)


def support(signal: Signal) -> float:
    """How far a signal supports the decision, within [-1, 1]: below 0 it opposes it, 0 without weight."""
    return weight_of(signal) * (2.0 * SIGNAL_WORTH[signal.kind].value - 1.0)


def rejected(signals: Iterable[Signal]) -> frozenset[str]:
    """The decisions that these signals oppose on the whole. Give signals that were not taken back."""
    sums: defaultdict[str, float] = defaultdict(float)
    for signal in signals:
        sums[signal.decision_id] += support(signal)
    return frozenset(decision for decision, total in sums.items() if total < 0.0)


def millionths(share: float) -> int:
    """A number within [0, 1] as the table counts it."""
    return round(share * MILLIONTHS)


def contributions_of_outcome(decision: Decision, outcome: Outcome) -> tuple[Contribution, ...]:
    """What a repair's outcome adds to the PROOF cells, one for each level of the decision's state.

    A control decision teaches like any other: being uniform, it is the least biased evidence there is. The strategy that is
    credited gets a proof for the credit.
    """
    credit = millionths(outcome.credit) if outcome.credited else 0
    return (
        *contributions_of_outcomes(
            decision.state, decision.chosen, decision.period, MILLIONTHS, millionths(outcome.target)
        ),
        *contributions_of_outcomes(decision.state, outcome.credited, decision.period, credit, credit),
    )


def contributions_of_signal(decision: Decision, signal: Signal) -> tuple[Contribution, ...]:
    """What a signal adds to the ACCEPTANCE cells; of a retraction, the exact negative of what it undoes."""
    count, weight = -1 if signal.retracts else 1, millionths(signal.weight)
    made = (decision.state, decision.chosen, decision.period)
    return contributions_of_feedback(*made, signal.actor.id, signal.kind, weight, count)


def contributions_of_outcomes(
    state: State, strategy: str, period: int, weight: int, value: int
) -> tuple[Contribution, ...]:
    """What outcomes of decisions of one period add together for a strategy, with these sums of weights and targets in
    millionths: exactly the sum of what each would add. Stopping teaches nothing."""
    if strategy == STOP:
        return ()
    return _spread(state, strategy, Factor.PROOF, period, weight=weight, value=value)


def contributions_of_feedback(
    state: State, chosen: str, period: int, teacher: int, kind: SignalKind, weight: int, count: int
) -> tuple[Contribution, ...]:
    """What `count` signals of one account, alike in kind and weight, add together: exactly the sum of what each would add.

    `period` is that of the decisions they are about.
    """
    weight = round(weight * SIGNAL_WORTH[kind].weight)
    value = round(weight * SIGNAL_WORTH[kind].value)
    sums = {"weight": count * weight, "value": count * value}
    return _spread(state, chosen, Factor.ACCEPTANCE, period, **sums, teacher=str(teacher))


def _spread(
    state: State, chosen: str, factor: Factor, period: int, *, weight: int, value: int, teacher: str = ""
) -> tuple[Contribution, ...]:
    if weight == value == 0:
        return ()
    strategy = PATTERN if state.kind is TaskKind.REVIEW else chosen
    return tuple(
        Contribution(
            level=level,
            strategy=strategy,
            factor=factor,
            weight=weight,
            value=value,
            repository=state.repository,
            teacher=teacher,
            period=period,
        )
        for level in state.rows()
    )
