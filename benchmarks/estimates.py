"""Estimates of what learning is worth against the truth, in simulated worlds: off-policy, pooled, and the number needed.

Off-policy: the real learner repairs in a world whose chances are known, and each named policy is estimated from its ledger.
The truth is what the policy's probabilities are worth by these chances, in the states of the same log.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import mean

import numpy as np

from benchmarks.report import show
from memory.evaluation.control_arm import arm_difference, needed
from memory.evaluation.off_policy import EstimatedValue, LogReplay, estimate, replay, targets
from memory.evaluation.pooling import ArmCount, FamilyCount, UpliftCounts, pooled
from memory.intervals import Numbers, confidence_sequence, wilson
from memory.model import Actor, Family, LoggedDecision, Permission, SignalKind, State, TaskKind
from memory.policy.learner import Learner
from memory.policy.q_table import PRESENT
from memory.rewards import shaped
from memory.stats import rate_difference
from memory.store import Store, open_store

PROVEN = {"suite_green": 1.0, "tests_fixed": 1.0, "few_candidates": 1.0, "small_patch": 1.0}
FAILED = {"failure_moved": 1.0, "step_cost": 1.0}
FAMILIES = (Family.LOOKUP, Family.VALUE, Family.TYPE, Family.ASSERTION)
STRATEGIES = tuple(f"strategy-{n}" for n in range(6))
MAINTAINER = Actor(id=1, login="maintainer")
ATTEMPTS = 3
FIGURES = ("ips", "snips", "dr", "acceptance", "value")


@dataclass
class Coverage:
    """How often intervals hold the truth, by how much estimates miss it, and how wide intervals are."""

    held: int = 0
    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, found: EstimatedValue, truth: float) -> None:
        """One estimate."""
        self.held += found.low <= truth <= found.high
        self.errors.append(found.value - truth)
        self.widths.append(found.high - found.low)

    def text(self) -> str:
        """As a line."""
        n = len(self.errors)
        if not n:
            return "no figure"
        return f"{_share(self.held, n)}, bias {mean(self.errors):+.3f}, width {mean(self.widths):.3f}"


def _share(held: int, of: int) -> str:
    low, high = wilson(held, of)
    return f"{held} of {of} ({held / of:.0%}; {low:.0%} to {high:.0%})"


# ── Off-policy ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Chances:
    """What each strategy is worth in a state: an effect of the strategy, its family and its repository."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def _draw(self, *names: str) -> float:
        return random.Random("|".join((str(self._seed), *names))).random()

    def proof(self, state: State, strategy: str) -> float:
        """The chance of a proof."""
        family = self._draw("proof", state.family, strategy)
        return 0.05 + 0.6 * family**2 + 0.15 * self._draw("proof", state.repository, state.label, strategy)

    def acceptance(self, state: State, strategy: str) -> float:
        """The chance that what is proven is accepted."""
        return 0.2 + 0.7 * self._draw("acceptance", state.family, strategy)


def lived(store: Store, world: Chances, seed: int, tasks: int) -> list[LoggedDecision]:
    """The ledger of a learner that repairs in a world; 40 % of the proofs get a verdict."""
    rng, now = random.Random(seed), datetime(2026, 1, 1, tzinfo=UTC)
    clock = iter(now + timedelta(minutes=n) for n in range(tasks * ATTEMPTS * 4))
    learner = Learner(store, rng, lambda: next(clock), control_share=0.1)
    for number in range(tasks):
        family = rng.choice(FAMILIES)
        label, repository = f"{family}-{rng.randrange(3)}", f"r{rng.randrange(3)}"
        tried: tuple[str, ...] = ()
        for left in range(ATTEMPTS, 0, -1):
            state = State(kind=TaskKind.REPAIR, repository=repository, label=label, family=family, tried=tried)
            arm = learner.arm(f"t{number}")
            made = learner.decide(f"t{number}", state, STRATEGIES, arm=arm, prior={}, attempts=left)
            tried = (*tried, made.chosen)
            proven = rng.random() < world.proof(state, made.chosen)
            learner.conclude(made, PROVEN if proven else FAILED)
            if proven and rng.random() < 0.4:
                liked = rng.random() < world.acceptance(state, made.chosen)
                kind = SignalKind.FIX_MERGED if liked else SignalKind.REJECTED
                learner.record_signal(made.id, kind, MAINTAINER, Permission.WRITE, f"pull:{number}")
            if proven:
                break
    return store.ledger.logged(TaskKind.REPAIR)


def truths(log: Sequence[LoggedDecision], walked: LogReplay, name: str, world: Chances) -> Mapping[str, float]:
    """What a policy is worth by the world's chances, in the states of the log."""
    made = {each.decision.id: each.decision for each in log}
    target, proof, liked = [], [], []
    for step, chances in zip(walked.steps, walked.chances[name], strict=True):
        decision = made[step.id]
        proofs = np.array([world.proof(decision.state, each) for each in decision.available])
        likes = np.array([world.acceptance(decision.state, each) for each in decision.available])
        target.append(float(chances @ (proofs * shaped(PROVEN) + (1.0 - proofs) * shaped(FAILED))))
        proof.append(float(chances @ proofs))
        liked.append(float(chances @ (proofs * likes)))
    worth, acceptance = mean(target), sum(liked) / sum(proof)
    return dict.fromkeys(("ips", "snips", "dr"), worth) | {"acceptance": acceptance, "value": worth * acceptance}


def off_policy(worlds: int, tasks: int) -> None:
    """Coverage of each figure for each policy."""
    found: defaultdict[tuple[str, str], Coverage] = defaultdict(Coverage)
    refused: defaultdict[str, int] = defaultdict(int)
    for seed in range(worlds):
        world = Chances(seed)
        with tempfile.TemporaryDirectory() as home, open_store(f"sqlite:///{home}/apprentice.db") as store:
            log = lived(store, world, seed, tasks)
        named = targets(PRESENT.version, log)
        walked = replay(log, named)
        for name in named:
            estimates, truth = estimate(walked.steps, walked.chances[name]), truths(log, walked, name, world)
            refused[name] += bool(estimates.refused)
            for figure in FIGURES:
                if (value := getattr(estimates, figure)) is not None:
                    found[name, figure].add(value, truth[figure])
    rows = [
        (f"{name}: {figure}", found[name, figure].text()) for name in targets(PRESENT.version, []) for figure in FIGURES
    ]
    notes = [f"{name}: refused in {count} of {worlds} worlds" for name, count in refused.items() if count]
    show(f"Off-policy estimates: intervals that hold the truth, {worlds} worlds of {tasks} repairs", rows, notes)


# ── Pooling ────────────────────────────────────────────────────────────────────────────────────────────────────────


def installation(rng: np.random.Generator, number: int, effect: float) -> UpliftCounts:
    """Counts of one: 60 to 1,000 repairs, a tenth of them control, three families of unlike difficulty."""
    tasks = int(np.exp(rng.uniform(np.log(60), np.log(1000))))
    counts = []
    for family in FAMILIES[:3]:
        learned, control, rate = max(int(tasks * 0.3), 5), max(int(tasks / 30), 5), rng.uniform(0.25, 0.65)
        counts.append(
            FamilyCount(
                family=family,
                learned=ArmCount(tasks=learned, fixed=int(rng.binomial(learned, np.clip(rate + effect, 0, 1)))),
                control=ArmCount(tasks=control, fixed=int(rng.binomial(control, rate))),
            )
        )
    return UpliftCounts(product="1.0", installation=f"{number:016x}", counts=tuple(counts))


HOSTILE = UpliftCounts(
    product="1.0",
    installation="f" * 16,
    counts=(
        FamilyCount(
            family=Family.OTHER,
            learned=ArmCount(tasks=100_000, fixed=100_000),
            control=ArmCount(tasks=100_000, fixed=0),
        ),
    ),
)
"""The most that one file can claim."""


def pooling(runs: int) -> None:
    """Coverage, power, and what a hostile file does, by number of installations, effect and spread."""
    rows = []
    for number, effect, spread in (
        (3, 0.0, 0.0),
        (5, 0.0, 0.05),
        (10, 0.0, 0.05),
        (10, 0.0, 0.1),
        (10, 0.1, 0.05),
        (20, 0.1, 0.05),
    ):
        rng = np.random.default_rng([number, int(effect * 100), int(spread * 100)])
        coverage, seen, misled, moved = Coverage(), 0, 0, []
        for _ in range(runs):
            files = {f"{n}.yml": installation(rng, n, rng.normal(effect, spread)) for n in range(number)}
            honest, hostile = pooled([], [], files), pooled([], [], files | {"hostile.yml": HOSTILE})
            assert honest.difference is not None and honest.low is not None and honest.high is not None
            assert hostile.difference is not None
            coverage.add(EstimatedValue(value=honest.difference, low=honest.low, high=honest.high), effect)
            seen += "learning is better" in honest.verdict
            misled += "learning is better" in hostile.verdict and "learning is better" not in honest.verdict
            moved.append(hostile.difference - honest.difference)
        rows += [
            (f"{number} installations, difference {effect:+.2f} ± {spread:.2f}", coverage.text()),
            ("  verdict: learning is better", _share(seen, runs)),
            ("  the same only with a hostile file", f"{_share(misled, runs)}; it moves the mean by {mean(moved):+.2f}"),
        ]
    show(f"Pooled differences: intervals that hold the truth, {runs} runs", rows)


# ── The number needed ──────────────────────────────────────────────────────────────────────────────────────────────


def number_needed(runs: int) -> None:
    """How often a difference is seen after the number of repairs that `stats` names for it."""
    rows = []
    for learned, control, share in ((0.6, 0.5, 0.1), (0.5, 0.4, 0.3), (0.8, 0.6, 0.1)):
        rng = np.random.default_rng([int(learned * 100), int(control * 100)])
        deviation = (learned * (1 - learned) / (1 - share) + control * (1 - control) / share) ** 0.5
        n = needed(deviation, learned - control)
        once = always = 0
        for _ in range(runs):
            treated = rng.random(n) >= share
            fixed: Numbers = (rng.random(n) < np.where(treated, learned, control)).astype(np.float64)
            ours, theirs = fixed[treated], fixed[~treated]
            once += (rate_difference(int(ours.sum()), len(ours), int(theirs.sum()), len(theirs)).low or 0.0) > 0.0
            found = confidence_sequence(arm_difference(treated, fixed))
            always += found is not None and found.low > 0.0
        title = f"{learned:.0%} against {control:.0%}, control {share:.0%}: {n} repairs"
        rows += [(title, f"seen {_share(once, runs)}"), ("  by the interval valid at every look", _share(always, runs))]
    show(f"The number needed for a power of 80 %, {runs} runs", rows)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100, help="worlds for the off-policy estimates")
    parser.add_argument("--tasks", type=int, default=400, help="repairs in each of them")
    parser.add_argument("--runs", type=int, default=500, help="runs of the other two")
    arguments = parser.parse_args()
    off_policy(arguments.worlds, arguments.tasks)
    pooling(arguments.runs)
    number_needed(arguments.runs)


if __name__ == "__main__":
    main()
