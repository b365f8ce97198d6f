"""What a policy would have been worth: off-policy estimates by decision, from the ledger, or a refusal with its reason.

IPS is the mean of weighted rewards (Horvitz and Thompson 1952), SNIPS divides by the weights instead of the count
(Swaminathan and Joachims 2015), DR weights only what a model of the reward got wrong (Dudík, Langford and Li 2011). A weight
is the target's probability of what was chosen over the logged one.

The reward has two factors. Proof is estimated on every decision with a test result; acceptance given proof, self-normalised,
on the proven ones with feedback, as if silence did not depend on the verdict; the value is their product.

The ledger is replayed in the order of time: each decision sees the table as it was just before, as far as it reached its
repository, so that nothing is predicted from itself. What was retracted since is left out.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from memory.evaluation.baseline_policies import epsilon_greedy, hierarchical, q_learning, softmax
from memory.intervals import Numbers, effective
from memory.model import (
    EMBEDDED,
    Arm,
    Cell,
    Contribution,
    Decision,
    Factor,
    Level,
    LoggedDecision,
    Outcome,
    Signal,
    State,
)
from memory.policy import q_table as policy
from memory.reflections import is_retry_mode
from memory.rewards import contributions_of_outcome, contributions_of_signal, proven, verdict
from memory.store.evidence import (
    QUORUM,
    Contributor,
    EvidenceKey,
    Pool,
    Sum,
    cell_for,
    cell_of,
    decayed,
    pool_of_all,
    pools_of_each,
    sums_for,
)

CLIP = 20.0
"""Larger weights count as this: a little bias for much less variance. Their share is reported."""

MIN_EFFECTIVE = 80.0
"""The effective sample size below which there is no estimate: intervals would be too narrow (docs/learning.md)."""

MIN_JUDGED = 20.0
"""The same for acceptance."""

RESAMPLES = 1000
_CELLS = 5_000_000


# ── Policies ───────────────────────────────────────────────────────────────────────────────────────────────────────


EvaluatedPolicy = Callable[[Decision, policy.Cells], Sequence[float]]
"""A policy to estimate: its probabilities in the order of what is available; they sum to 1.

It gets a decision, of which it may not use what was chosen, and the table as it was just before.
"""


def of_version(parameters: policy.Parameters) -> EvaluatedPolicy:
    """A version of the policy. Where it decided itself, its odds are the recorded ones; elsewhere they are computed
    without the priors and neighbours of then, which the ledger does not hold.
    """

    def chances(made: Decision, cells: policy.Cells) -> Sequence[float]:
        if made.arm is Arm.LEARNED and made.policy_version == parameters.version:
            return made.probabilities
        return _computed(made, cells, parameters)

    return chances


def _computed(made: Decision, cells: policy.Cells, parameters: policy.Parameters) -> Sequence[float]:
    rng = random.Random(made.id)  # noqa: S311  makes an estimate repeatable, guards nothing
    found, _ = policy.choose(made.state, made.available, cells, {}, rng, arm=Arm.LEARNED, parameters=parameters)
    return [found.get(name, 0.0) for name in made.available]


def _prior_only(made: Decision, _cells: policy.Cells) -> Sequence[float]:
    return _computed(made, {}, policy.PRESENT)


def _control(made: Decision, _cells: policy.Cells) -> Sequence[float]:
    chances = policy.uniform(made.available)
    return [chances.get(name, 0.0) for name in made.available]


def _greedy(made: Decision, cells: policy.Cells) -> Sequence[float]:
    worth = [estimate.q for estimate in policy.values(made.state, made.available, cells, {}).values()]
    share = worth.count(max(worth))
    return [(q == max(worth)) / share for q in worth]


def targets(active: str, log: Sequence[LoggedDecision]) -> dict[str, EvaluatedPolicy]:
    """Every policy that can be evaluated on a log; `present` is the version in use."""
    versions = {name: of_version(parameters) for name, parameters in policy.VERSIONS.items()}
    present = _control if active == policy.CONTROL else versions[active]
    ours = {"present": present, policy.CONTROL: _control, "greedy": _greedy, "prior-only": _prior_only, **versions}
    baselines = {"epsilon-greedy": epsilon_greedy, "softmax": softmax, "hierarchical": hierarchical}
    return ours | baselines | {"q-learning": q_learning(log)}


# ── Replay ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """A decision with a test result. `value` (s,) predicts the proof target of each available strategy.

    `acceptance` is None without feedback: that is censored, not zero.
    """

    id: str
    task: str
    chosen: int
    logged: float
    target: float
    proven: bool
    acceptance: float | None
    value: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReplay:
    """The steps in the order of time and, by policy, its probabilities at each."""

    steps: tuple[LoggedStep, ...]
    chances: Mapping[str, tuple[Numbers, ...]]


class _PooledCell(NamedTuple):
    """One cell as it counts in a period: its rows by contributor, and the pools of all and of each repository."""

    period: int
    rows: Mapping[Contributor, Sum]
    every: Pool
    own: Mapping[str, Pool]

    def reaching(self, repository: str, factor: Factor, quorum: int) -> Cell | None:
        """What a choice in this repository reads of it."""
        own = self.own.get(repository, Pool())
        known = sums_for(quorum, factor is Factor.ACCEPTANCE, *self.every, *own)
        return cell_for(self.rows, repository, factor, quorum) if known is None else cell_of(*known)


@dataclass(slots=True)
class RunningTable:
    """The table after what was added so far."""

    _rows: defaultdict[Level, dict[tuple[str, Factor], dict[EvidenceKey, Sum]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _pooled: dict[tuple[Level, str, Factor], _PooledCell] = field(default_factory=dict)

    def add(self, contributions: Iterable[Contribution]) -> None:
        for part in contributions:
            rows = self._rows[part.level].setdefault((part.strategy, part.factor), {})
            entry = (part.repository, part.teacher, part.period)
            weight, value = rows.get(entry, (0, 0))
            rows[entry] = (weight + part.weight, value + part.value)
            self._pooled.pop((part.level, part.strategy, part.factor), None)

    def cells(self, state: State, period: int, quorum: int = QUORUM) -> policy.Cells:
        """What a choice in this state reads in a period: decayed, and of other repositories what may reach this one."""
        found: dict[tuple[Level, str, Factor], Cell] = {}
        for level in state.rows():
            for (strategy, factor), rows in self._rows.get(level, {}).items():
                key = (level, strategy, factor)
                pooled = self._pooled.get(key)
                if pooled is None or pooled.period != period:
                    now = decayed(rows, period)
                    pooled = self._pooled[key] = _PooledCell(period, now, pool_of_all(now), pools_of_each(now))
                if cell := pooled.reaching(state.repository, factor, quorum):
                    found[key] = cell
        return found


def replay(
    log: Sequence[LoggedDecision],
    policies: Mapping[str, EvaluatedPolicy],
    *,
    since: datetime | None = None,
    quorum: int = QUORUM,
) -> LogReplay:
    """Lead `policies` through the log. Decisions before `since` teach, and are not among the steps.

    A decision without an outcome is left out: the environment kept it from running, or it still runs.
    """
    table, steps = RunningTable(), list[LoggedStep]()
    chances: dict[str, list[Numbers]] = {name: [] for name in policies}
    for _, kind, _, entry, signal in sorted(_events(log), key=lambda event: event[:3]):
        decision, outcome = entry.decision, entry.outcome
        if signal is not None:
            table.add(contributions_of_signal(decision, signal))
        elif outcome is not None and kind == 1:
            table.add(contributions_of_outcome(decision, outcome))
        elif outcome is not None and (since is None or decision.created_at >= since):
            cells = table.cells(decision.state, decision.period, quorum)
            steps.append(_step(entry, outcome, cells))
            for name, target in policies.items():
                chances[name].append(np.asarray(target(decision, cells), dtype=np.float64))
    return LogReplay(steps=tuple(steps), chances={name: tuple(each) for name, each in chances.items()})


def _events(log: Sequence[LoggedDecision]) -> Iterator[tuple[datetime, int, str, LoggedDecision, Signal | None]]:
    """Decisions (0), their outcomes (1) and signals (2); at the same time a decision comes first, which did not know them.

    The retry decision shares its proof with the attempts of its task and is left out. So are the choices of the embedded
    engine where that was itself an option.
    """
    outer = {entry.decision.task_id for entry in log if EMBEDDED in entry.decision.available}
    for entry in log:
        decision = entry.decision
        chooses_engine = any(name == EMBEDDED or name.startswith("model:") for name in decision.available)
        if is_retry_mode(decision.chosen) or (decision.task_id in outer and not chooses_engine):
            continue
        if entry.outcome is not None:
            yield decision.created_at, 0, decision.id, entry, None
            yield entry.outcome.created_at, 1, decision.id, entry, None
        for signal in entry.signals:
            yield signal.created_at, 2, signal.id, entry, signal


def _step(entry: LoggedDecision, outcome: Outcome, cells: policy.Cells) -> LoggedStep:
    decision = entry.decision
    expected = policy.values(decision.state, decision.available, cells, {})
    return LoggedStep(
        id=decision.id,
        task=decision.task_id,
        chosen=decision.available.index(decision.chosen),
        logged=decision.probability,
        target=outcome.target,
        proven=proven(outcome),
        acceptance=verdict(entry.signals),
        value=np.array([expected[name].proof.mean for name in decision.available]),
    )


# ── Estimates ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedValue:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The mean proof target of one decision under a policy; `refused` says why there are no figures.

    `effective` is the effective sample size (Kish 1965), `clipped` the share of weights cut to `CLIP`; `ips` is None where
    any was cut, `acceptance` and `value` are None where too few proven decisions have feedback (`judged`, `judged_effective`).
    """

    n: int
    tasks: int
    effective: float
    clipped: float
    judged: int
    judged_effective: float
    ips: EstimatedValue | None = None
    snips: EstimatedValue | None = None
    dr: EstimatedValue | None = None
    acceptance: EstimatedValue | None = None
    value: EstimatedValue | None = None
    refused: str = ""


def evaluate(
    log: Sequence[LoggedDecision],
    policies: Mapping[str, EvaluatedPolicy],
    *,
    since: datetime | None = None,
    quorum: int = QUORUM,
) -> dict[str, Estimates]:
    """Estimate each policy on repair decisions from `since` on. The same log gives the same figures."""
    walked = replay(log, policies, since=since, quorum=quorum)
    return {name: estimate(walked.steps, walked.chances[name]) for name in policies}


def estimate(steps: Sequence[LoggedStep], chances: Sequence[Numbers], *, least: float = MIN_EFFECTIVE) -> Estimates:
    """Estimates with intervals, or a refusal where the steps are worth less than `least`."""
    numbers: dict[str, int] = {}
    task = np.array([numbers.setdefault(step.task, len(numbers)) for step in steps], dtype=np.intp)
    raw = np.array([each[step.chosen] / step.logged for step, each in zip(steps, chances, strict=True)])
    weight, reward = np.minimum(raw, CLIP), np.array([step.target for step in steps])
    expected = np.array([float(each @ step.value) for step, each in zip(steps, chances, strict=True)])
    robust = expected + weight * (reward - np.array([step.value[step.chosen] for step in steps]))
    judged = np.array([step.proven and step.acceptance is not None for step in steps], dtype=np.bool_)
    accepted = np.where(judged, [step.acceptance or 0.0 for step in steps], 0.0)
    columns = (np.ones(len(steps)), weight * reward, weight, robust, weight * judged, weight * accepted)
    by_task = [np.bincount(task, weights=each, minlength=len(numbers)) for each in columns]
    sums = np.column_stack(by_task).astype(np.float64)
    size = min(effective(weight), effective(sums[:, 2]))
    refused = f"{len(numbers)} tasks are worth {int(size)} of this policy, and {least:.0f} are needed"
    found = Estimates(
        n=len(steps),
        tasks=len(numbers),
        effective=size,
        clipped=float((raw > CLIP).mean()) if len(raw) else 0.0,
        judged=int(judged.sum()),
        judged_effective=effective(weight[judged]),
        refused=refused if size < least else "",
    )
    return found if found.refused else _with_figures(found, sums)


def _with_figures(found: Estimates, sums: Numbers) -> Estimates:
    """All figures from sums by task, so that one bootstrap over tasks serves them all."""
    ends = np.percentile(_statistics(_resampled(sums)), [2.5, 97.5], axis=0)
    point = _statistics(sums.sum(axis=0, keepdims=True))[0]
    figures = [
        EstimatedValue(value=float(v), low=float(a), high=float(b)) for v, a, b in zip(point, *ends, strict=True)
    ]
    # Cut weights bias plain IPS alone: its intervals held the truth in 68 to 80 % of cases then (docs/learning.md).
    found = replace(found, ips=None if found.clipped else figures[0], snips=figures[1], dr=figures[2])
    return replace(found, acceptance=figures[3], value=figures[4]) if found.judged_effective >= MIN_JUDGED else found


def _statistics(sums: Numbers) -> Numbers:
    """IPS, SNIPS, DR, acceptance given proof, and the value; sums (rows, 6) to figures (rows, 5)."""
    n, rewarded, weight, robust, judged, accepted = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        acceptance = accepted / judged
        return np.column_stack(
            (rewarded / n, rewarded / weight, robust / n, acceptance, np.clip(robust / n, 0.0, 1.0) * acceptance)
        )


def _resampled(sums: Numbers) -> Numbers:
    """Sums of `RESAMPLES` draws of as many tasks with replacement (Efron 1979): decisions of one task are dependent."""
    tasks, generator = len(sums), np.random.default_rng(0)
    rows = max(1, _CELLS // tasks)
    sizes = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    even = np.full(tasks, 1.0 / tasks)
    return np.concatenate([generator.multinomial(tasks, even, size=size) @ sums for size in sizes])
