"""Attempts to poison what is learned, with the real learner and store: what each changes in another repository, and its undo.

The victim has taught nothing itself, so whatever it believes has come from elsewhere: the worst case.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.report import show
from memory.forget import forget, learned_in
from memory.model import Actor, Arm, Decision, Factor, Permission, SignalKind, State, TaskKind
from memory.policy import q_table
from memory.policy.learner import Learner, opaque_id
from memory.store import Store, open_store

GOOD, BAD = "good", "bad"
STRATEGIES = (GOOD, BAD, "other-1", "other-2")
VICTIM = "victim/repository"
EVIL = "evil/repository"
MALLORY = Actor(id=666, login="mallory")
PROVEN = {"suite_green": 1.0, "tests_fixed": 1.0, "few_candidates": 1.0, "small_patch": 1.0}

Odds = Mapping[str, float]


@dataclass
class Clock:
    """A time that passes on command: an attacker has all the patience in the world."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, days: float) -> None:
        """Let time pass."""
        self.now += timedelta(days=days)


@dataclass(frozen=True, slots=True)
class View:
    """What the victim chooses, and the values that it expects of the good and the bad strategy."""

    odds: Odds
    good: float
    bad: float


@dataclass
class Town:
    """Repositories that share one memory."""

    store: Store
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.learner = Learner(self.store, random.Random(1), self.clock, control_share=0.0)

    def decide(self, repository: str, chosen: str) -> Decision:
        """A decision in a repository that chose this."""
        return self.learner.settle("t", state(repository), {chosen: 1.0}, arm=Arm.LEARNED)

    def teach(self, repository: str, chosen: str, actor: Actor, *, proven: bool, accepted: bool) -> None:
        """One repair, with what the tests and a maintainer say of it."""
        decision = self.decide(repository, chosen)
        self.learner.conclude(decision, PROVEN if proven else {})
        kind = SignalKind.ACCEPTED if accepted else SignalKind.REJECTED
        self.learner.record_signal(decision.id, kind, actor, Permission.WRITE, "comment:1")

    def odds(self, repository: str = VICTIM) -> Odds:
        """With which probability each strategy would be chosen now; the same table gives the same numbers."""
        here = state(repository)
        return q_table.choose(here, STRATEGIES, self.learner.cells(here), {}, random.Random(0), arm=Arm.LEARNED)[0]

    def without_quota(self) -> float:
        """Proof times acceptance of the good strategy as plain sums over everyone would have it."""
        level = state(VICTIM).levels()[1]
        found = self.store.ledger.totals([level])
        parts = [found.get((level, GOOD, factor)) for factor in Factor]
        return float(parts[0].mean * parts[1].mean) if parts[0] and parts[1] else 0.0

    def value(self, strategy: str = GOOD) -> float:
        """What the victim expects of a strategy."""
        here = state(VICTIM)
        return q_table.values(here, (strategy,), self.learner.cells(here), {})[strategy].q

    def view(self) -> View:
        """All that the victim believes."""
        return View(self.odds(), self.value(), self.value(BAD))


def state(repository: str) -> State:
    """The one kind of failure of this town."""
    return State(kind=TaskKind.REPAIR, repository=repository, label="KeyError", family="lookup")


@contextmanager
def town() -> Iterator[Town]:
    """A fresh town."""
    with (
        tempfile.TemporaryDirectory(prefix="apprentice-town-") as home,
        open_store(f"sqlite:///{Path(home) / 'town.db'}") as store,
    ):
        yield Town(store)


def live_honestly(here: Town, repositories: int, rounds: int) -> None:
    """Repositories with a maintainer each, where the good strategy works and is welcome, and the bad one neither."""
    for number in range(repositories):
        maintainer = Actor(id=number + 1, login=f"maintainer-{number}")
        for turn in range(rounds):
            chosen = GOOD if turn % 2 else BAD
            here.teach(
                f"honest-{number}/repository", chosen, maintainer, proven=chosen == GOOD, accepted=chosen == GOOD
            )
            here.clock.wait(0.2)


def sybils(here: Town, accounts: int, each: int) -> None:
    """Accounts without rights on the repositories where they judge."""
    decisions = [here.decide(EVIL, GOOD) for _ in range(each)]
    for number in range(accounts):
        actor = Actor(id=1000 + number, login=f"sybil-{number}")
        permission = Permission.READ if number % 2 else Permission.NONE
        for decision in decisions:
            here.learner.record_signal(decision.id, SignalKind.REJECTED, actor, permission, f"comment:{number}")


def lie(here: Town, signals: int) -> None:
    """One malicious maintainer, in a repository of their own, as fast as the limits allow without losing weight."""
    for number in range(signals):
        decision = here.decide(EVIL, GOOD if number % 2 else BAD)
        kind = SignalKind.REJECTED if decision.chosen == GOOD else SignalKind.ACCEPTED
        here.learner.record_signal(decision.id, kind, MALLORY, Permission.ADMIN, "comment:1")
        here.clock.wait(0.06)


def flood(here: Town, signals: int) -> int:
    """The same within a minute; how many of them kept any weight."""
    weights = []
    for _ in range(signals):
        recorded = here.learner.record_signal(
            here.decide(EVIL, GOOD).id, SignalKind.REJECTED, MALLORY, Permission.ADMIN, "comment:1"
        )
        weights.append(recorded.weight if recorded else 0.0)
    return sum(1 for weight in weights if weight)


def accept_anything(here: Town, outcomes: int) -> None:
    """A repository whose tests pass whatever is done."""
    for _ in range(outcomes):
        here.learner.conclude(here.decide(EVIL, BAD), PROVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What an attack did to the victim and to the good strategy's value in plain sums, and whether undo was exact."""

    name: str
    before: View
    after: View
    plain_before: float
    plain_after: float
    table_moved: bool
    undone: bool

    def line(self) -> tuple[str, str]:
        """One row of the report."""
        before, after = self.before, self.after
        good = f"good {before.good:.3f} → {after.good:.3f}"
        bad = f"bad {before.bad:.3f} → {after.bad:.3f}"
        odds = f"odds {before.odds[GOOD]:.3f} → {after.odds[GOOD]:.3f}"
        plain = f"good in plain sums {self.plain_before:.3f} → {self.plain_after:.3f}"
        undo = f"undo {'exact' if self.undone else 'NOT EXACT'}"
        return self.name, "; ".join(("unmoved" if self.is_unmoved() else "moved", good, bad, odds, plain, undo))

    def is_unmoved(self) -> bool:
        """Whether the victim believes and chooses as before, to the bit."""
        return self.before == self.after


def attack(name: str, honest: int, rounds: int, act: Callable[[Town], object]) -> Attack:
    """Let honest repositories live, attack, look at the victim, undo everything that the attacker's repository taught."""
    with town() as here:
        live_honestly(here, honest, rounds)
        before, plain, digest = here.view(), here.without_quota(), here.store.ledger.cells_digest()
        act(here)
        after, plain_after, moved = here.view(), here.without_quota(), here.store.ledger.cells_digest() != digest
        forget(here.store, learned_in(here.store, EVIL), now=here.clock(), new_id=opaque_id)
        undone = here.store.ledger.cells_digest() == digest and here.odds() == before.odds
    return Attack(
        name=name,
        before=before,
        after=after,
        plain_before=plain,
        plain_after=plain_after,
        table_moved=moved,
        undone=undone,
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.poisoning", description=__doc__)
    parser.add_argument("--signals", type=int, default=2000, help="of the malicious maintainer")
    parser.add_argument("--honest", type=int, default=4, help="repositories, where there are any")
    parser.add_argument("--rounds", type=int, default=40, help="repairs of each honest repository")
    given = parser.parse_args()
    few = max(given.signals // 40, 1)
    attacks = [
        attack("50 sybils without rights", given.honest, given.rounds, lambda here: sybils(here, 50, few)),
        attack("a malicious maintainer, nobody else", 0, 0, lambda here: lie(here, given.signals)),
        attack("a malicious maintainer among honest", given.honest, given.rounds, lambda here: lie(here, given.signals)),
        attack("tests that accept anything, alone", 0, 0, lambda here: accept_anything(here, given.signals)),
        attack("tests that accept anything, among honest", given.honest, given.rounds, lambda here: accept_anything(here, given.signals)),
        attack("a flood within a minute", given.honest, given.rounds, lambda here: flood(here, few)),
    ]  # fmt: skip
    show(
        f"poisoning: the good strategy as a repository sees it that has taught nothing; {given.honest} honest ones",
        [each.line() for each in attacks],
        [f"{given.signals} signals or outcomes of the attacker; plain sums: proof times acceptance without quota"],
    )


if __name__ == "__main__":
    main()
