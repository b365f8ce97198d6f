"""The kills, the wipes and the moved clock; and how long it takes until work goes on."""

from __future__ import annotations

import os
import queue
import random
import shutil
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain, islice, repeat
from pathlib import Path

import redis

from benchmarks.chaos.github import ChaoticGitHub
from benchmarks.chaos.servers import Fleet, KillablePostgres, children
from memory.errors import StoreError
from memory.model.jobs import JobState
from memory.store import Store
from memory.store.documents import HookLogPosition
from tests.conftest import RedisServer

LOOK_SECONDS = 0.2
PROGRESS_SECONDS = 10.0
BUSY_SECONDS = 60.0
PERIODIC = ("poll", "reconcile", "judge")
LATER = (*PERIODIC, "duplicate")
"""Jobs whose time has not come."""
OF_THE_APP = (*["child"] * 7, *["serve"] * 3, *["store"] * 2, *["worker"] * 5, *["sweep"] * 3, "mint")
OF_SERVERS = (*["redis"] * 6, *["postgresql"] * 2, *["backend"] * 2)
KILLS_A_WIPE = 8


def planned(count: int, rng: random.Random, *, embedded: bool) -> list[str]:
    """What is killed, in this order: each kind has its share in every part of the run."""
    kinds = list(OF_THE_APP if embedded else OF_THE_APP + OF_SERVERS)
    rounds = (rng.sample(kinds, len(kinds)) for _ in repeat(None))
    return list(islice(chain.from_iterable(rounds), count))


def unfinished(store: Store, *, but: Sequence[str] = PERIODIC) -> Counter[str]:
    """How many jobs of each kind wait or run, but for some: by default those that the sweeper adds by the clock."""
    with store.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT kind FROM jobs WHERE state IN ('ready', 'leased')")
        return Counter(kind for (kind,) in rows if kind not in but)


def move_clock(store: Store, github: ChaoticGitHub, seconds: int) -> None:
    """Let this time pass for everything that waits: all times are so much longer ago.

    What runs goes on as if it had run in that time: its lease and its effects under way stay as they are.
    """
    with store.database.writing() as connection:
        sqlite = connection.dialect.name == "sqlite"

        def earlier(column: str) -> str:
            if sqlite:
                return f"{column} = strftime('%Y-%m-%d %H:%M:%f000', {column}, '-{seconds} seconds')"
            return f"{column} = {column} - interval '{seconds} seconds'"

        times = ("created_at", "run_after", "sent_at", "waiting_since", "ended_at")
        for table, columns, where in (
            ("jobs", times, "true"),
            ("holds", ("until",), "true"),
            ("deliveries", ("received_at",), "true"),
            ("effects", ("begun_at",), "job_id NOT IN (SELECT id FROM jobs WHERE state = 'leased')"),
        ):
            changed = ", ".join(earlier(column) for column in columns)
            connection.exec_driver_sql(f"UPDATE {table} SET {changed} WHERE {where}")
    position = store.hook_log.get("", HookLogPosition)
    if position is not None:
        past = timedelta(seconds=seconds)
        newest = position.newest and position.newest - past
        store.hook_log.put("", HookLogPosition(until=position.until - past, newest=newest, cursor=position.cursor))
    github.move_log(seconds)


@dataclass(kw_only=True)
class Watch:
    """Looks at the jobs all the time, and notes when work goes on after an attack."""

    store: Store
    ended: int = 0
    leased: int = 0
    waiting: int = 0
    to_next: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    to_own: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _next: list[tuple[str, float, int]] = field(default_factory=list)
    _own: list[tuple[str, float, str]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def looking(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look_on, name="watch")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def attacked(self, kind: str, jobs: list[str]) -> None:
        """Just now, while these jobs were in its work."""
        now = time.monotonic()
        self._next.append((kind, now, self.ended))
        self._own += [(kind, now, each) for each in jobs]

    def _look_on(self) -> None:
        printed = 0.0
        while not self._stop.wait(LOOK_SECONDS):
            with suppress(StoreError):
                self.look()
                if time.monotonic() - printed > PROGRESS_SECONDS:
                    printed, kinds = time.monotonic(), unfinished(self.store, but=())
                    print(f"{self.ended} jobs ended, {self.leased} run; not ended: {dict(kinds)}", file=sys.stderr)

    def look(self) -> None:
        counts, now = self.store.jobs.counts(), time.monotonic()
        self.leased, self.waiting = counts[JobState.LEASED], unfinished(self.store, but=LATER).total()
        self.ended = counts[JobState.DONE] + counts[JobState.FAILED] + counts[JobState.DEAD]
        for each in [each for each in self._next if self.ended > each[2]]:
            self._next.remove(each)
            self.to_next[each[0]].append(now - each[1])
        for own in tuple(self._own):
            job = self.store.jobs.job(own[2])
            if job is not None and job.state not in (JobState.READY, JobState.LEASED):
                self._own.remove(own)
                self.to_own[own[0]].append(now - own[1])


@dataclass(kw_only=True)
class Killer:
    """Kills what it is given, one after the other, in a thread of its own: meanwhile deliveries come in."""

    fleet: Fleet
    store: Store
    watch: Watch
    rng: random.Random
    slots: int
    home: Path
    redis_server: RedisServer | None
    postgres: KillablePostgres | None
    counts: Counter[str] = field(default_factory=Counter)
    turn: threading.Lock = field(default_factory=threading.Lock)
    _orders: queue.Queue[str] = field(default_factory=queue.Queue)

    @contextmanager
    def working(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name="killer")
        thread.start()
        try:
            yield
        finally:
            self._orders.put("")
            thread.join()

    def order(self, kind: str) -> None:
        """To be killed next; waits while an earlier order is not done."""
        while self._orders.qsize():
            time.sleep(0.1)
        self._orders.put(kind)

    def finish(self) -> None:
        """Wait for the orders so far."""
        self._orders.join()

    def _work(self) -> None:
        ways: dict[str, Callable[[], bool]] = {
            "redis": self._kill_redis,
            "postgresql": self._kill_postgres,
            "backend": self._kill_backend,
            "child": self._kill_child,
            "store": self._kill_storing,
            "wipe": self._wipe,
        }
        while kind := self._orders.get():
            with self.turn:
                killed = ways[kind]() if kind in ways else self._kill_process(kind)
            self.counts[kind if killed else f"{kind}: none to kill"] += 1
            self._orders.task_done()

    def _leased_by(self, pids: list[int]) -> list[str]:
        """The jobs of these processes. Empty where the database does not answer."""
        with suppress(StoreError), self.store.database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT id, worker FROM jobs WHERE state = 'leased'")
            return [row.id for row in rows if int(row.worker.rpartition(":")[2]) in pids]
        return []

    def _shoot(self, kind: str, pid: int, workers: list[int]) -> bool:
        jobs = self._leased_by(workers)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.watch.attacked(kind, jobs)
        return True

    def _kill_process(self, command: str) -> bool:
        there = self.fleet.of(command)
        if not there:
            return False
        pid = self.rng.choice(there).pid
        return self._shoot(command, pid, children(pid) if command == "worker" else [])

    def _children(self) -> tuple[list[int], list[int]]:
        """The processes that run jobs, and those of them that are in the middle of one."""
        pids = [pid for worker in self.fleet.of("worker") for pid in children(worker.pid)]
        return pids, [pid for pid in pids if self._leased_by([pid])]

    def _kill_child(self) -> bool:
        """One in the middle of a job, where there is one."""
        pids, busy = self._children()
        if not pids:
            return False
        pid = self.rng.choice(busy or pids)
        return self._shoot("child", pid, [pid])

    def _kill_storing(self) -> bool:
        """A process that stores deliveries, of a web process that goes on."""
        pids = [pid for web in self.fleet.of("serve") for pid in children(web.pid)]
        return bool(pids) and self._shoot("store", self.rng.choice(pids), [])

    def _await_busy(self) -> bool:
        deadline = time.monotonic() + BUSY_SECONDS
        while not (busy := len(self._children()[1]) >= self.slots) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS / 4)
        return busy

    def _kill_redis(self) -> bool:
        assert self.redis_server is not None, "it is part of the plan"
        self.counts["redis while all workers were busy"] += self._await_busy()
        self.watch.attacked("redis", [])
        self.redis_server.kill()
        time.sleep(self.rng.uniform(1.0, 8.0))
        self.redis_server.start()
        return True

    def _kill_postgres(self) -> bool:
        assert self.postgres is not None, "it is part of the plan"
        self.watch.attacked("postgresql", [])
        self.postgres.kill()
        time.sleep(self.rng.uniform(0.5, 4.0))
        self.postgres.start()
        return True

    def _kill_backend(self) -> bool:
        """PostgreSQL ends all others then, and recovers by itself."""
        assert self.postgres is not None, "it is part of the plan"
        serving = self.postgres.backends()
        return bool(serving) and self._shoot("backend", self.rng.choice(serving), [])

    def _wipe(self) -> bool:
        if self.redis_server is None:
            folder = self.home / "broker" / "messages"
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        else:
            with redis.Redis.from_url(self.redis_server.url) as client:
                client.flushall()
        self.watch.attacked("wipe", [])
        return True
