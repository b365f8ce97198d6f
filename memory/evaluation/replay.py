"""The ledger walked through in the order of time: before each decision, what the table knew and what policies would do.

Nothing is predicted from itself: a decision is met with the table as it stood before it (cross-fitting over time, as in
progressive validation), so that policies that learn are judged by what they would have known then.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory import policy
from memory.evaluation.targets import Situation, Target
from memory.model import EMBEDDED, Arm, Cell, Contribution, Decision, Factor, Level, Logged, Outcome, Signal
from memory.reflections import is_mode
from memory.rewards import MILLIONTHS, acceptance, contributions_of_outcome, contributions_of_signal

Numbers = NDArray[np.float64]

LEAST_WEIGHT = 0.3
"""Weight of verdicts from which on a decision counts as judged: a thread that was resolved says nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A decision that the tests have judged, as arrays over what was available (s,).

    `value` predicts the proof target of each strategy, `proves` the chance of a proof. `acceptance` is None where nobody
    judged: that is censored, not zero.
    """

    id: str
    task: str
    chosen: int
    logged: float
    target: float
    proven: bool
    acceptance: float | None
    value: Numbers
    proves: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The steps in the order of time and, by policy, its probabilities at each."""

    steps: tuple[Step, ...]
    chances: Mapping[str, tuple[Numbers, ...]]


@dataclass(slots=True)
class Table:
    """The table as it stands after what was added so far."""

    cells: dict[tuple[Level, str, Factor], Cell] = field(default_factory=dict)
    _sums: defaultdict[tuple[Level, str, Factor], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )

    def add(self, contributions: Iterable[Contribution]) -> None:
        """Add to the sums."""
        for part in contributions:
            key = (part.level, part.strategy, part.factor)
            total = self._sums[key]
            total[0] += part.weight
            total[1] += part.value
            if total[0] > 0:
                self.cells[key] = Cell(weight=total[0] / MILLIONTHS, mean=total[1] / total[0])


def proven(outcome: Outcome) -> bool:
    """Whether the tests proved what a decision led to."""
    return outcome.components.get("suite_green", 0.0) >= 1.0


def verdict(signals: Iterable[Signal]) -> float | None:
    """What people made of a decision, the weighted mean of their verdicts; None where nobody with a say judged it."""
    return acceptance(signals, least=LEAST_WEIGHT)


def replay(log: Sequence[Logged], targets: Mapping[str, Target], *, since: datetime | None = None) -> Replay:
    """Lead `targets` through the log. What was decided before `since` teaches, and is not among the steps.

    A decision without an outcome is left out: the environment kept it from being tried, or it is still under way.
    """
    walk = _Walk(targets)
    for _, _, _, entry, signal in sorted(_events(log), key=lambda event: event[:3]):
        if signal is not None:
            walk.heard(entry.decision, signal)
        elif isinstance(entry, _Concluded):
            walk.concluded(entry.decision, entry.outcome)
        elif since is None or entry.decision.created_at >= since:
            walk.met(entry)
    return Replay(steps=tuple(walk.steps), chances={name: tuple(each) for name, each in walk.chances.items()})


@dataclass(frozen=True, slots=True)
class _Concluded:
    decision: Decision
    outcome: Outcome


_Event = tuple[datetime, int, str, "Logged | _Concluded", Signal | None]


def _events(log: Sequence[Logged]) -> Iterable[_Event]:
    """At the same time decisions come first: what was recorded then was not known to them.

    How to retry is decided beside the steps of an episode, and shares their proof: it is left out. So are the choices of
    the embedded engine where it was itself one of an episode's choices.
    """
    outer = {entry.decision.task_id for entry in log if EMBEDDED in entry.decision.available}
    for entry in log:
        if is_mode(entry.decision.chosen) or (entry.decision.task_id in outer and not _is_outer(entry.decision)):
            continue
        if entry.outcome is not None:
            yield entry.decision.created_at, 0, entry.decision.id, entry, None
            concluded = _Concluded(entry.decision, entry.outcome)
            yield entry.outcome.created_at, 1, entry.decision.id, concluded, None
        for signal in entry.signals:
            yield signal.created_at, 2, signal.id, entry, signal


def _is_outer(decision: Decision) -> bool:
    """Whether engines were chosen among, not what one of them does."""
    return any(name == EMBEDDED or name.startswith("model:") for name in decision.available)


class _Walk:
    """The tables while they fill, and what was seen on the way."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._targets = targets
        self._table, self._proofs = Table(), Table()
        self.steps: list[Step] = []
        self.chances: dict[str, list[Numbers]] = {name: [] for name in targets}

    def met(self, entry: Logged) -> None:
        decision, outcome = entry.decision, entry.outcome
        assert outcome is not None, "decisions without an outcome are no events"
        for name, target in self._targets.items():
            self.chances[name].append(np.asarray(target.chances(_situation(decision, self._table)), dtype=np.float64))
        self.steps.append(
            Step(
                id=decision.id,
                task=decision.task_id,
                chosen=decision.available.index(decision.chosen),
                logged=decision.probability,
                target=outcome.target,
                proven=proven(outcome),
                acceptance=verdict(entry.signals),
                value=_expected(decision, self._table),
                proves=_expected(decision, self._proofs),
            )
        )

    def concluded(self, decision: Decision, outcome: Outcome) -> None:
        parts = contributions_of_outcome(decision, outcome)
        self._table.add(parts)
        reward = float(proven(outcome))
        # The same cells with the chance of a proof in them, for what an episode is worth.
        proof = Outcome(
            decision_id=decision.id,
            components={},
            target=reward,
            weights_version=outcome.weights_version,
            created_at=outcome.created_at,
        )
        self._proofs.add(contributions_of_outcome(decision, proof))
        following = () if reward else tuple(name for name in decision.available if name != decision.chosen)
        for target in self._targets.values():
            target.learn(decision.state, decision.chosen, reward, following)

    def heard(self, decision: Decision, signal: Signal) -> None:
        self._table.add(contributions_of_signal(decision, signal))


def _situation(decision: Decision, table: Table) -> Situation:
    return Situation(
        state=decision.state,
        available=decision.available,
        cells=table.cells,
        version=decision.policy_version,
        recorded=None if decision.arm is Arm.CONTROL else decision.probabilities,
        rng=random.Random(decision.id),  # noqa: S311  makes an estimate repeatable, guards nothing
    )


def _expected(decision: Decision, table: Table) -> Numbers:
    """The levelled means of proof, one a strategy."""
    beliefs = [
        policy.believe(decision.state, name, Factor.PROOF, table.cells, prior=policy.PROOF_PRIOR)
        for name in decision.available
    ]
    return np.array([belief.mean for belief in beliefs])
