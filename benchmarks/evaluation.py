"""Off-policy estimates and roll-back, in simulated logs whose truth is known.

A world of error types in families and strategies is repaired in episodes by the levelled table with a given floor of
exploration, and a share of control tasks. What each policy would have been worth at the logged choices is computed from
the world, and compared with what the ledger's estimates say of it, their intervals and their refusals.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import show
from memory import policy
from memory.evaluation import Target, estimate, per_decision, per_episode, targets
from memory.evaluation.estimators import Estimates, Figure
from memory.evaluation.replay import Replay, Table, replay
from memory.evaluation.targets import Situation
from memory.model import (
    Actor,
    Arm,
    Decision,
    Logged,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
)
from memory.rewards import contributions_of_outcome, contributions_of_signal
from memory.versions import FORMER, PRESENT, Levelled

START = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES = tuple(f"s{n}" for n in range(6))
LABELS = {f"E{n}": f"F{n % 4}" for n in range(12)}
REPOSITORIES = ("r0", "r1", "r2")
ATTEMPTS = 3
JUDGED = 0.4
CONTROL_SHARE = 0.1
FLOORS = (0.02, 0.1)
MAINTAINER = Actor(id=1, login="m")
Numbers = NDArray[np.float64]


class World:
    """True chances of proof and acceptance: mostly the family's, a little the error type's and the repository's."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shape = (len(STRATEGIES),)
        self._family: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape) ** 2)
        self._label: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape))
        self._local: defaultdict[str, Numbers] = defaultdict(lambda: rng.random(shape))
        self._liked = 0.2 + 0.7 * rng.random(shape)

    def proof(self, state: State, name: str) -> float:
        """How likely a strategy is to be proven."""
        local = self._local[state.repository + state.label]
        mixed = 0.6 * self._family[state.family] + 0.25 * self._label[state.label] + 0.15 * local
        return float(mixed[STRATEGIES.index(name)])

    def acceptance(self, name: str) -> float:
        """How likely a proven one is to be accepted."""
        return float(self._liked[STRATEGIES.index(name)])


class Fixed:
    """A policy that never learns: it prefers strategies in a fixed order, so that its episodes' worth can be computed."""

    def chances(self, situation: Situation) -> Sequence[float]:
        """Less for each place in the order."""
        weights = [0.7 ** STRATEGIES.index(name) for name in situation.available]
        return [weight / sum(weights) for weight in weights]

    def learn(self, state: State, chosen: str, reward: float, following: Sequence[str]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A log, and the world it came from."""

    world: World
    log: tuple[Logged, ...]


class _Author:
    """Writes one log: an episode after the other, with the table that they fill."""

    def __init__(self, world: World, seed: int, version: Levelled) -> None:
        self._world, self._version = world, version
        self._rng = random.Random(seed)
        self._table = Table()
        self._clock = (START + timedelta(minutes=n) for n in count())
        self.log: list[Logged] = []

    def episode(self, number: int) -> None:
        rng, label = self._rng, self._rng.choice(list(LABELS))
        state = State(kind=TaskKind.REPAIR, repository=rng.choice(REPOSITORIES), label=label, family=LABELS[label])
        arm = Arm.CONTROL if rng.random() < CONTROL_SHARE else Arm.LEARNED
        for _ in range(ATTEMPTS):
            entry = self._decided(number, state, arm)
            self.log.append(entry)
            if entry.outcome is not None and entry.outcome.target == 1.0:
                return
            state = replace(state, tried=(*state.tried, entry.decision.chosen))

    def _decided(self, number: int, state: State, arm: Arm) -> Logged:
        names, rng = policy.remaining(state, STRATEGIES), self._rng
        chances = (
            policy.uniform(names)
            if arm is Arm.CONTROL
            else self._version.chances(state, names, self._table.cells, {}, (), rng)
        )
        decision = Decision(
            id=f"d{len(self.log)}",
            task_id=f"t{number}",
            state=state,
            available=names,
            probabilities=tuple(chances.values()),
            chosen=policy.pick(chances, rng),
            arm=arm,
            policy_version=self._version.version,
            created_at=next(self._clock),
        )
        proven = rng.random() < self._world.proof(state, decision.chosen)
        outcome = Outcome(
            decision_id=decision.id,
            components={"suite_green": float(proven)},
            target=float(proven),
            weights_version="1",
            created_at=next(self._clock),
        )
        self._table.add(contributions_of_outcome(decision, outcome))
        signals = (self._said(decision),) if proven and rng.random() < JUDGED else ()
        for signal in signals:
            self._table.add(contributions_of_signal(decision, signal))
        return Logged(decision=decision, outcome=outcome, signals=signals)

    def _said(self, decision: Decision) -> Signal:
        accepted = self._rng.random() < self._world.acceptance(decision.chosen)
        return Signal(
            id=f"g{decision.id}",
            decision_id=decision.id,
            kind=SignalKind.ACCEPTED if accepted else SignalKind.REJECTED,
            actor=MAINTAINER,
            permission=Permission.WRITE,
            source="s",
            created_at=next(self._clock),
            weights_version="1",
            weight=1.0,
        )


def simulate(seed: int, tasks: int, floor: float) -> Simulated:
    """The log of `tasks` repairs in a world of their own."""
    world = World(seed)
    author = _Author(world, seed, replace(PRESENT, floor=floor))
    for number in range(tasks):
        author.episode(number)
    return Simulated(world=world, log=tuple(author.log))


def truth_by_decision(made: Simulated, walked: Replay, name: str) -> tuple[float, float]:
    """The mean worth of a policy at the logged choices: the chance of a proof, and of a proof that is accepted."""
    proofs, values = [], []
    for entry, odds in zip(made.log, walked.chances[name], strict=True):
        state, names = entry.decision.state, entry.decision.available
        proof = np.array([made.world.proof(state, each) for each in names])
        liked = np.array([made.world.acceptance(each) for each in names])
        proofs.append(float(odds @ proof))
        values.append(float(odds @ (proof * liked)))
    return float(np.mean(proofs)), float(np.mean(values))


def truth_by_episode(made: Simulated, target: Target) -> float:
    """The mean chance, over the logged tasks, that an episode of a policy that never learns ends with a proof."""
    known: dict[tuple[str, str], float] = {}
    found = []
    for entry in made.log:
        state = entry.decision.state
        if not state.tried:
            key = (state.repository, state.label)
            if key not in known:
                known[key] = _chance(made.world, target, state)
            found.append(known[key])
    return float(np.mean(found))


def _chance(world: World, target: Target, state: State) -> float:
    if len(state.tried) == ATTEMPTS:
        return 0.0
    names = policy.remaining(state, STRATEGIES)
    situation = Situation(state=state, available=names, cells={}, version="", recorded=None, rng=random.Random(0))
    total = 0.0
    for name, odds in zip(names, target.chances(situation), strict=True):
        proof = world.proof(state, name)
        after = replace(state, tried=(*state.tried, name))
        total += odds * (proof + (1.0 - proof) * _chance(world, target, after))
    return total


@dataclass(slots=True)
class Score:
    """How one estimator did over the replications that it was not refused in."""

    errors: list[float]
    covered: list[bool]
    widths: list[float]

    def add(self, figure: Figure | None, truth: float) -> None:
        """One more replication; None is a refusal, which is counted elsewhere."""
        if figure is not None:
            self.errors.append(figure.value - truth)
            self.covered.append(figure.low <= truth <= figure.high)
            self.widths.append(figure.high - figure.low)

    def shown(self) -> str:
        """Root mean squared error, bias, coverage of the 95 % interval, and its mean width."""
        if not self.errors:
            return "refused"
        errors = np.array(self.errors)
        return (
            f"{np.sqrt((errors**2).mean()):.3f} {errors.mean():+.3f} "
            f"{np.mean(self.covered):4.0%} {np.mean(self.widths):.2f}"
        )


ESTIMATORS = ("ips", "snips", "dr", "value")


@dataclass(slots=True)
class Judged:
    """What was found for one policy in one unit."""

    scores: Mapping[str, Score]
    truths: list[float]
    shares: list[float]
    clipped: list[float]
    refused: int = 0

    def add(self, found: Estimates, proof: float, value: float | None) -> None:
        """One replication."""
        self.truths.append(proof)
        self.shares.append(found.effective / max(found.n, 1))
        self.clipped.append(found.clipped)
        self.refused += bool(found.refused)
        for name in ("ips", "snips", "dr"):
            self.scores[name].add(getattr(found, name), proof)
        if value is not None:
            self.scores["value"].add(found.value, value)


def _nothing() -> Judged:
    return Judged({name: Score([], [], []) for name in ESTIMATORS}, [], [], [])


def estimates(runs: int, tasks: int, floor: float) -> dict[str, Judged]:
    """Every policy's estimates over `runs` worlds of `tasks` repairs each."""
    found: defaultdict[str, Judged] = defaultdict(_nothing)
    for seed in range(runs):
        made = simulate(seed, tasks, floor)
        policies: dict[str, Target] = {"fixed": Fixed()}
        for name, make in targets(PRESENT.version).items():
            if name in ("present", "control", "greedy", FORMER.version):
                policies[name] = make()
        walked = replay(made.log, policies)
        for name, target in policies.items():
            odds = walked.chances[name]
            proof, value = truth_by_decision(made, walked, name)
            found[f"{name}, decision"].add(estimate(per_decision(walked.steps, odds)), proof, value)
            if name in ("fixed", "control"):
                whole = truth_by_episode(made, target)
                found[f"{name}, episode"].add(estimate(per_episode(walked.steps, odds)), whole, None)
    return dict(found)


def _rows(found: Mapping[str, Judged]) -> list[tuple[str, str]]:
    rows = [
        ("policy", f"{'truth':>6} {'ESS':>5} {'cut':>5} {'refused':>8}  " + "".join(f"{n:<24}" for n in ESTIMATORS))
    ]
    for name, judged in found.items():
        heads = (
            f"{np.mean(judged.truths):6.2f} {np.median(judged.shares):5.0%} {np.mean(judged.clipped):5.1%} "
            f"{judged.refused / len(judged.truths):8.0%}  "
        )
        rows.append((name, heads + "".join(f"{judged.scores[each].shown():<24}" for each in ESTIMATORS)))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="replications of each setting")
    parser.add_argument("--tasks", type=int, default=600, help="repairs in a log")
    arguments = parser.parse_args()
    for floor in FLOORS:
        show(
            f"off-policy estimates, floor of exploration {floor}: {arguments.runs} logs of {arguments.tasks} repairs",
            _rows(estimates(arguments.runs, arguments.tasks, floor)),
            ("figures are: root mean squared error, bias, coverage of the 95 % interval, its mean width",),
        )


if __name__ == "__main__":
    main()
