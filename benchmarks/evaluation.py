"""Off-policy estimates and roll-back, in simulated logs whose truth is known.

A world of error types in families and strategies is repaired in episodes by the levelled table with a given floor of
exploration, and a share of control tasks. What each policy would have been worth at the logged choices is computed from
the world, and compared with what the ledger's estimates say of it, their intervals and their refusals. The rule that goes
back to a former version is asked after every so many tasks, where nothing is worse and where something is.
"""

from __future__ import annotations

import argparse
import random
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.report import show
from benchmarks.simulated import (
    CONTROL_SHARE,
    JUDGED,
    START,
    STRATEGIES,
    Fixed,
    Flat,
    Tilted,
    World,
    simulate,
    states,
    truth_by_decision,
    truth_by_episode,
)
from memory.evaluation import OfVersion, Target, estimate, per_decision, per_episode, targets
from memory.evaluation.estimators import Estimates, Figure
from memory.evaluation.replay import replay
from memory.intervals import wilson
from memory.model import Arm
from memory.rollback import COMPARISONS, FALSE_ALARMS, NEEDED, gains, worse_than_control
from memory.sequences import arm_difference, sides
from memory.uplift import TaskResult, accepted, fixed
from memory.versions import FORMER, PRESENT, Levelled

FLOORS = (0.02, 0.1)
SIZES = (40, 80, 120, 160)
"""Where the effective sample sizes of episodes are cut, to tell from which one on intervals can be trusted."""

SHARE = FALSE_ALARMS / COMPARISONS
PARTS = ("estimates", "episodes", "roll-backs")
EVERY = 50
"""After so many tasks the rule looks again."""


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


def estimates(seeds: Iterable[int], tasks: int, floor: float) -> dict[str, Judged]:
    """Every policy's estimates over a world of `tasks` repairs for each seed."""
    found: defaultdict[str, Judged] = defaultdict(_nothing)
    for seed in seeds:
        made = simulate(World(seed), seed, tasks, Levelled(replace(PRESENT.parameters, floor=floor)))
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


def episodes(seeds: Iterable[int], tasks: int) -> list[tuple[str, str]]:
    """Estimates by episode of policies that never learn, from logs of another one, without refusals: by effective size."""
    found: defaultdict[int, Judged] = defaultdict(_nothing)
    logging = Tilted(version="logging", weights={name: 0.8**place for place, name in enumerate(STRATEGIES)})
    for seed in seeds:
        made = simulate(World(seed), seed, tasks, logging)
        policies = {str(tilt): Fixed(tilt) for tilt in (0.5, 0.6, 1.1, 1.4)}
        walked = replay(made.log, policies)
        for name, target in policies.items():
            told = estimate(per_episode(walked.steps, walked.chances[name]), least=1.0)
            found[bisect(SIZES, told.effective)].add(told, truth_by_episode(made, target), None)
    return _rows({_size(place): found[place] for place in sorted(found)})


def _size(place: int) -> str:
    low, high = (0, *SIZES)[place], (*SIZES, 0)[place]
    return f"worth {low} to {high} tasks" if high else f"worth {low} tasks and more"


def looks(length: int) -> range:
    """After how many tasks the rule looks."""
    return range(EVERY, length + 1, EVERY)


def alarm_by_arms(seed: int, tasks: int, harm: float) -> int | None:
    """The task at which the version in use is first found worse than control; None: never.

    Control fixes 40 %, the version in use `harm` less; people judge some of what was proven, and accept 60 %.
    """
    rng = random.Random(seed)
    done = []
    for number in range(tasks):
        arm = Arm.CONTROL if rng.random() < CONTROL_SHARE else Arm.LEARNED
        proven = rng.random() < (0.4 if arm is Arm.CONTROL else 0.4 - harm)
        verdict = float(rng.random() < 0.6) if proven and rng.random() < JUDGED else None
        done.append(
            TaskResult(task=str(number), arm=arm, version="v", started=START, proven=proven, acceptance=verdict)
        )
    learned = np.array([each.arm is Arm.LEARNED for each in done])
    for n in looks(tasks):
        outcomes = (fixed(done[:n]), accepted(done[:n]))
        if worse_than_control(*(sides(arm_difference(learned[:n], each), alpha=SHARE) for each in outcomes)):
            return n
    return None


def alarm_by_former(seed: int, tasks: int, world: World) -> int | None:
    """The same against the former, on the decisions of the version in use: it prefers what the former avoids.

    In a flat world neither is worse; in any other, the version in use prefers what is proven least.
    """
    order = sorted(STRATEGIES, key=lambda name: float(np.mean([world.proof(state, name) for state in states()])))
    weights = {name: 0.85**place for place, name in enumerate(order)}
    ours = Tilted(version="ours", weights=weights)
    theirs = Tilted(version="theirs", weights=dict(zip(weights, reversed(weights.values()), strict=True)))
    made = simulate(world, seed, tasks, ours)
    walked = replay(made.log, {"ours": OfVersion(ours), "theirs": OfVersion(theirs)})
    learned = {entry.decision.id for entry in made.log if entry.decision.arm is Arm.LEARNED}
    steps = zip(walked.steps, walked.chances["ours"], walked.chances["theirs"], strict=True)
    rows = [row for row in steps if row[0].id in learned]
    began = [int(task[1:]) for task in dict.fromkeys(row[0].task for row in rows)]
    values, _ = gains(rows)
    for n in looks(tasks):
        _, size = gains(row for row in rows if int(row[0].task[1:]) < n)
        found = sides(values[: bisect(began, n - 1)], alpha=SHARE) if size >= NEEDED else None
        if found is not None and found.high < 0.0:
            return n
    return None


def _alarms(found: Sequence[int | None]) -> str:
    raised = [n for n in found if n is not None]
    low, high = wilson(len(raised), len(found))
    after = f", median after {np.median(raised):.0f} tasks" if raised else ""
    return f"{len(raised)} of {len(found)} ({len(raised) / len(found):.0%}; {low:.0%} to {high:.0%}){after}"


def roll_backs(runs: int, tasks: int) -> list[tuple[str, str]]:
    """How often, and after how many tasks, the rule goes back."""
    rows = []
    for harm in (0.0, 0.1, 0.2, 0.3):
        name = "control, which is no better" if not harm else f"control, which fixes {harm:.0%} more"
        rows.append((name, _alarms([alarm_by_arms(seed, tasks, harm) for seed in range(runs)])))
    fewer = tasks // 4
    flat = [alarm_by_former(seed, fewer, Flat(seed)) for seed in range(runs)]
    rows.append((f"a former that is no better, {fewer} tasks", _alarms(flat)))
    worse = [alarm_by_former(seed, fewer, World(seed)) for seed in range(runs)]
    rows.append((f"a former that prefers what is proven most, {fewer} tasks", _alarms(worse)))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=200, help="replications of each setting")
    parser.add_argument("--tasks", type=int, default=300, help="repairs in a log to estimate from")
    parser.add_argument("--monitored", type=int, default=2000, help="repairs that the rule is asked about")
    parser.add_argument("--floors", type=float, nargs="+", default=FLOORS, help="floors of exploration")
    arguments = parser.parse_args()
    if "estimates" in arguments.parts:
        for floor in arguments.floors:
            show(
                f"off-policy estimates, floor of exploration {floor}: {arguments.runs} logs of {arguments.tasks} repairs",
                _rows(estimates(range(arguments.runs), arguments.tasks, floor)),
                ("figures are: root mean squared error, bias, coverage of the 95 % interval, its mean width",),
            )
    if "episodes" in arguments.parts:
        show(
            f"off-policy estimates of whole episodes, none refused: {4 * arguments.runs} from logs of 260 repairs",
            episodes(range(arguments.runs), 260),
        )
    if "roll-backs" in arguments.parts:
        show(
            f"roll-backs, asked every {EVERY} of {arguments.monitored} tasks at an error of {SHARE:.1%} a comparison",
            roll_backs(arguments.runs, arguments.monitored),
        )


if __name__ == "__main__":
    main()
