"""What the processes of the App measure, by name. A process adds up in its memory, and stores its sums with its heartbeats.

Several processes of several users and hosts work together: what is stored is for all of them, and one page shows it.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

Labels = tuple[str, ...]

SUM = "sum"
"""What a histogram keeps beside its buckets, in the place of a bucket's bound."""

Additions = Mapping[tuple[str, Labels], float]
"""By measure and values of its labels; a histogram's have a last value, its bucket's bound or SUM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestValue:
    """A value that replaces the one before, and counts until a time; None: forever."""

    value: float
    until: datetime | None


@dataclass(slots=True)
class UnstoredMeasures:
    """What this process measured and did not store yet. Its threads share it; a child of a fork begins with nothing."""

    added: dict[tuple[str, Labels], float] = field(default_factory=dict)
    latest: dict[tuple[str, Labels], LatestValue] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, additions: Additions) -> None:
        with self.lock:
            for key, amount in additions.items():
                self.added[key] = self.added.get(key, 0.0) + amount

    def replace(self, key: tuple[str, Labels], value: LatestValue) -> None:
        with self.lock:
            self.latest[key] = value

    def take(self) -> tuple[Additions, Mapping[tuple[str, Labels], LatestValue]]:
        """All of it; it is the caller's now."""
        with self.lock:
            taken = self.added, self.latest
            self.added, self.latest = {}, {}
        return taken

    def give_back(self, added: Additions, latest: Mapping[tuple[str, Labels], LatestValue]) -> None:
        """Keep again what was taken and could not be stored; a value that was seen since is later."""
        self.add(added)
        with self.lock:
            self.latest = {**latest, **self.latest}

    def forget(self) -> None:
        self.added, self.latest, self.lock = {}, {}, threading.Lock()


unstored = UnstoredMeasures()
os.register_at_fork(after_in_child=unstored.forget)


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric. The values of its labels are from closed sets, or numbers of installations."""

    name: str
    meaning: str
    labels: Sequence[str] = ()

    def values(self, labels: Mapping[str, str]) -> Labels:
        return tuple(labels[name] for name in self.labels)


class CounterMeasure(Measure):
    """Something that is counted."""

    def add(self, amount: float = 1.0, **labels: str) -> None:
        unstored.add({(self.name, self.values(labels)): amount})


@dataclass(frozen=True, slots=True)
class DurationMeasure(Measure):
    """Durations in seconds, as a histogram."""

    bounds: Sequence[float] = ()

    def observe(self, seconds: float, **labels: str) -> None:
        values = self.values(labels)
        bound = next((str(each) for each in self.bounds if seconds <= each), "+Inf")
        unstored.add({(self.name, (*values, bound)): 1.0, (self.name, (*values, SUM)): seconds})

    @contextmanager
    def timed(self, **labels: str) -> Iterator[None]:
        """Observe how long the block takes, however it ends."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.observe(time.perf_counter() - begun, **labels)


class LatestMeasure(Measure):
    """A value as it was last seen."""

    def set(self, value: float, *, until: datetime | None = None, **labels: str) -> None:
        unstored.replace((self.name, self.values(labels)), LatestValue(value=value, until=until))


JOBS = DurationMeasure(
    "apprentice_job_seconds",
    "Duration of one attempt of a job, by kind and result.",
    ("kind", "result"),
    (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 120.0, 300.0, 900.0),
)
JOBS_ENDED = CounterMeasure("apprentice_jobs_ended_total", "Jobs that workers ended, by state.", ("state",))
SANDBOX = DurationMeasure(
    "apprentice_sandbox_seconds",
    "Duration of a run in the sandbox, by how it ended.",
    ("ending",),
    (0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 120.0, 300.0),
)
DATABASE = DurationMeasure(
    "apprentice_database_seconds",
    "Duration of a transaction, by kind.",
    ("kind",),
    (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0),
)
GITHUB_ANSWERS = CounterMeasure(
    "apprentice_github_answers_total", "Answers of GitHub, repeated reads included, by status.", ("status",)
)
GITHUB_REMAINING = LatestMeasure(
    "apprentice_github_remaining",
    "Requests, or points of GraphQL, that an installation has left until its limit begins anew.",
    ("installation", "resource"),
)
TOKENS_MINTED = CounterMeasure("apprentice_token_mints_total", "Requests for an installation token.", ("result",))
MODEL_CALLS = CounterMeasure("apprentice_model_calls_total", "Calls to a model that have ended.", ("tier", "state"))
MODEL_TOKENS = CounterMeasure(
    "apprentice_model_tokens_total", "Tokens that a model's endpoint counted.", ("tier", "kind")
)
MODEL_DOLLARS = CounterMeasure(
    "apprentice_model_dollars_total", "US dollars for a model, by the set prices.", ("tier",)
)
LAST_SWEEP = LatestMeasure("apprentice_last_sweep_timestamp_seconds", "When a sweep last ended without an error.")
TABLE_ROWS = LatestMeasure("apprentice_table_rows", "Rows of a table, counted once an hour.", ("table",))
DATABASE_BYTES = LatestMeasure("apprentice_database_bytes", "Size of the database, read once an hour.")

MEASURES = tuple(
    each for each in [*globals().values()] if isinstance(each, CounterMeasure | DurationMeasure | LatestMeasure)
)
"""All of them, in the order above."""
