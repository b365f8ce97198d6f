"""How often the audit names honest teachers, and how often it finds two accounts of one person, in simulated houses.

A house is a repository whose findings are judged by a few people: each judges some of them, and mostly sees how good a
finding is, so that honest teachers agree.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from benchmarks.report import show
from memory.evaluation.audit import one_sided, together
from memory.intervals import wilson
from memory.model import Actor, Arm, Decision, LoggedDecision, Permission, Signal, SignalKind, State, TaskKind

START = datetime(2026, 1, 1, tzinfo=UTC)
HONEST = tuple(Actor(id=10 + n, login=f"h{n}") for n in range(4))
PAIR = (Actor(id=1, login="p0"), Actor(id=2, login="p1"))
FINDINGS = 200
GOOD, SEES = 0.6, 0.9
JUDGES, PAIR_JUDGES = 0.3, 0.2


def house(seed: int, *, pair: bool = False, striking: float = 1.0) -> list[LoggedDecision]:
    """A house of four honest teachers; `pair`: and of two accounts that always accept the same findings.

    Every third finding draws `striking` times as many verdicts as the others: more than 1 is against what the audit's
    test of togetherness assumes.
    """
    rng, log = random.Random(seed), []
    for number in range(FINDINGS):
        good, draws = rng.random() < GOOD, JUDGES * (striking if number % 3 == 0 else 1.0)
        heard = [
            verdict(number, each, liked=good if rng.random() < SEES else not good)
            for each in HONEST
            if rng.random() < draws
        ]
        if pair and rng.random() < PAIR_JUDGES:
            heard += [verdict(number, each, liked=True) for each in PAIR]
        log.append(finding(number, heard))
    return log


def finding(number: int, heard: Sequence[Signal], *, repository: str = "o/r") -> LoggedDecision:
    """A finding that was said inline, five to a pull request, with what was said about it."""
    decision = Decision(
        id=f"d{number}",
        task_id=f"t{number // 5}",
        state=State(kind=TaskKind.REVIEW, repository=repository, label="KeyError", family="lookup"),
        available=("inline", "summary"),
        probabilities=(0.9, 0.1),
        chosen="inline",
        arm=Arm.LEARNED,
        policy_version="v",
        created_at=START + timedelta(minutes=number),
    )
    return LoggedDecision(decision=decision, signals=tuple(heard))


def verdict(number: int, actor: Actor, *, liked: bool) -> Signal:
    """What a maintainer said about a finding."""
    return Signal(
        id=f"s{number}-{actor.id}",
        decision_id=f"d{number}",
        kind=SignalKind.ACCEPTED if liked else SignalKind.REJECTED,
        actor=actor,
        permission=Permission.WRITE,
        source=f"comment:{number}-{actor.id}",
        created_at=START + timedelta(minutes=number, seconds=1),
        weights_version="1",
        weight=1.0,
    )


def _share(named: Sequence[bool]) -> str:
    low, high = wilson(sum(named), len(named))
    return f"{sum(named)} of {len(named)} ({sum(named) / len(named):.1%}; {low:.1%} to {high:.1%})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="houses of each kind")
    seeds = range(parser.parse_args().runs)
    honest = [house(seed) for seed in seeds]
    striking = [house(seed, striking=3.0) for seed in seeds]
    rows = [
        ("always together: honest ones", _share([any(together(each)) for each in honest])),
        ("always together: honest ones, some findings striking", _share([any(together(each)) for each in striking])),
        ("one-sided: honest ones", _share([any(one_sided(each)) for each in honest])),
        ("always together: two who always agree", _share([any(together(house(seed, pair=True))) for seed in seeds])),
    ]
    show(f"houses in which the audit names anybody, of {FINDINGS} findings and {len(HONEST)} teachers each", rows)


if __name__ == "__main__":
    main()
