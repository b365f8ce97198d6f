"""One run: start everything, let users work, attack, wait until nothing is left to do, and judge."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from pathlib import Path

from benchmarks.chaos.attacks import KILLS_A_WIPE, LATER, Killer, Watch, move_clock, planned, unfinished
from benchmarks.chaos.found import comments, effects, ends, wanted_deliveries
from benchmarks.chaos.github import ChaoticGitHub, FaultShares
from benchmarks.chaos.oracle import Bounds, ChaosVerdict, judge
from benchmarks.chaos.servers import AppProcess, Fleet, KillablePostgres
from benchmarks.chaos.traffic import FILES, REPOSITORIES, USER, Traffic
from benchmarks.report import free_port
from bot.playground.models import App
from memory.store import Store, open_store
from tests.conftest import RedisServer
from workers.settings import environment_with

SECRET = "a secret for chaos"
STEPS, STEP_SECONDS, MINUTES_A_STEP = 6, 8.0, 5
ACTS_A_STEP = 4
SECONDS_AN_ACT = 0.03
SETTLE_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """How much of what. Users stop after so many `seconds`, whatever is sent then. `lease_seconds` and `poll_seconds` are the product's settings."""

    deliveries: int
    kills: int
    seconds: float = inf
    embedded: bool = False
    webs: int = 2
    workers: int = 4
    slots: int = 2
    lease_seconds: float = 60.0
    poll_seconds: float = 60.0
    outages: bool = True
    most_waiting: int = 100
    faults: FaultShares = field(default_factory=FaultShares)
    deliveries_a_revocation: int = 200
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosResult:
    """What a run found, and its duration."""

    verdict: ChaosVerdict
    seconds: float
    jobs: int
    effects: int
    acts: Mapping[str, int]
    requests: Mapping[str, int]
    kills: Mapping[str, int]
    to_next: Mapping[str, list[float]]
    to_own: Mapping[str, list[float]]
    outages: list[tuple[str, float, float]]
    """Of each: what it was, seconds until nothing was left to do, and minutes by the moved clock."""
    log: str


@dataclass(kw_only=True)
class ChaosRun:
    """The parts of one run."""

    scenario: Scenario
    github: ChaoticGitHub
    store: Store
    fleet: Fleet
    traffic: Traffic
    watch: Watch
    killer: Killer
    rng: random.Random
    outages: list[tuple[str, float, float]] = field(default_factory=list)

    def play(self) -> None:
        """Everything that users do, and all attacks."""
        given = self.scenario
        kills = planned(given.kills, self.rng, embedded=given.embedded)
        revoked = killed = 0
        outages = [0.4, 0.7] if given.outages else []
        began = time.monotonic()
        while (done := self._done(began)) < 1:
            self._await_turn()
            self.traffic.act()
            if killed < len(kills) and done >= (killed + 1) / (len(kills) + 1):
                self.killer.order(kills[killed])
                killed += 1
                if killed % KILLS_A_WIPE == 0:
                    self.killer.order("wipe")
            if self.github.counts["by users"] >= given.deliveries_a_revocation * (revoked + 1):
                revoked += 1
                self.github.revoke_tokens()
            if outages and done >= outages[0]:
                self._outage(moved=len(outages) == 2)
                outages.pop(0)
        self.killer.finish()

    def _done(self, began: float) -> float:
        """The share of what users do that is done."""
        sent, seconds = self.github.counts["by users"], time.monotonic() - began
        return max(sent / self.scenario.deliveries, seconds / self.scenario.seconds)

    def _await_turn(self) -> None:
        """Users wait while much is undone, so that every process is busy until the end and no longer than needed."""
        time.sleep(SECONDS_AN_ACT)
        while self.watch.waiting > self.scenario.most_waiting:
            time.sleep(SECONDS_AN_ACT)

    def _outage(self, *, moved: bool) -> None:
        """GitHub's API is away while webhooks come in: half an hour on a moved clock, or for some seconds."""
        self.killer.finish()
        with self.killer.turn:
            self.github.await_late()
            self.github.on_time = True
            self._recover(moved=True)
            self.github.away = True
            for _ in range(STEPS):
                for _ in range(ACTS_A_STEP):
                    self.traffic.act()
                time.sleep(STEP_SECONDS)
                if moved:
                    move_clock(self.store, self.github, 60 * MINUTES_A_STEP)
            self.github.away = False
            name = "30 minutes on a moved clock" if moved else f"{STEPS * STEP_SECONDS:.0f} seconds"
            self.outages.append((name, *self._recover(moved=moved)))
            self.github.on_time = False

    def _recover(self, *, moved: bool) -> tuple[float, float]:
        """Wait until nothing is left to do; the seconds, and the minutes by the moved clock."""
        began, minutes = time.monotonic(), 0.0
        while unfinished(self.store, but=LATER) and time.monotonic() - began < SETTLE_SECONDS:
            time.sleep(1.0)
            if moved:
                move_clock(self.store, self.github, 30)
                minutes += 0.5
        return time.monotonic() - began, minutes

    def settle(self) -> None:
        """Wait until nothing is left to do, or for long. What waits for a time gets it by the moved clock."""
        self.github.await_late()
        self.github.on_time = True
        began = time.monotonic()
        while time.monotonic() - began < SETTLE_SECONDS and (unfinished(self.store) or self._missing()):
            time.sleep(1.0)
            move_clock(self.store, self.github, 10)
        self.outages.append(("all attacks", time.monotonic() - began, (time.monotonic() - began) / 6))
        self.fleet.retire("sweep")
        began = time.monotonic()
        while time.monotonic() - began < SETTLE_SECONDS / 10 and unfinished(self.store, but=()):
            time.sleep(1.0)
            move_clock(self.store, self.github, 60)

    def _missing(self) -> set[str]:
        guids = [name.removeprefix("delivery ") for name in wanted_deliveries(self.github)]
        return self.store.jobs.unknown_deliveries(guids)


def run(scenario: Scenario) -> ChaosResult:
    """Everything from the first process to the verdict."""
    with tempfile.TemporaryDirectory(prefix="apprentice-chaos-") as place, _started(scenario, Path(place)) as this:
        began = time.monotonic()
        with this.watch.looking(), this.killer.working():  # what the killer started again ends with it
            this.play()
            seconds = time.monotonic() - began
            this.settle()
            return _judged(this, seconds)


def _judged(this: ChaosRun, seconds: float) -> ChaosResult:
    log = this.fleet.log.read_text(errors="replace")
    expected = this.traffic.expected | dict.fromkeys(wanted_deliveries(this.github), Bounds())
    found = effects(this.github, this.store, this.traffic.bot)
    known = Counter({name: count for name, count in found.items() if name in expected or not _is_own(name)})
    jobs = ends(this.store, log)
    verdict = judge(expected, known, jobs)
    return ChaosResult(
        verdict=verdict,
        seconds=seconds,
        jobs=len(jobs),
        effects=len(expected),
        acts=dict(this.traffic.acts),
        requests=dict(this.github.counts),
        kills=dict(this.killer.counts),
        to_next=dict(this.watch.to_next),
        to_own=dict(this.watch.to_own),
        outages=this.outages,
        log=log + comments(this.github, [*verdict.lost, *verdict.doubled]),
    )


def _is_own(name: str) -> bool:
    """A delivery of no consequence, and a signal that no user gave, may be there."""
    return name.startswith(("delivery ", "signal "))


@contextmanager
def _started(scenario: Scenario, place: Path) -> Iterator[ChaosRun]:
    """All servers and processes, until the end of the context."""
    place.chmod(0o755)  # PostgreSQL runs as another user
    redis_server = None if scenario.embedded else RedisServer(place)
    postgres = None if scenario.embedded else KillablePostgres(place / "postgresql")
    servers = [each for each in (redis_server, postgres) if each is not None]
    try:
        for server in servers:
            server.start()
        with _processes(scenario, place, redis_server, postgres) as made:
            yield made
    finally:
        for server in servers:
            server.stop()


@contextmanager
def _processes(
    scenario: Scenario, place: Path, redis_server: RedisServer | None, postgres: KillablePostgres | None
) -> Iterator[ChaosRun]:
    rng, home = random.Random(scenario.seed), place / "home"
    home.mkdir(mode=0o700)
    ports = [free_port() for _ in range(scenario.webs)]
    with ChaoticGitHub([f"http://127.0.0.1:{port}/webhook" for port in ports], scenario.faults, rng) as github:
        app = _peopled(github)
        url, broker = postgres.url if postgres else "", redis_server.url if redis_server else ""
        settings = _settings(scenario, home, github.url, app) | {"database_url": url, "broker_url": broker}
        fleet = Fleet(log=place / "log", members=_members(settings, ports, scenario.workers))
        with open_store(url or f"sqlite:///{home / 'apprentice.db'}") as store, fleet:
            fleet.await_all(ports)
            github.set_webhook(app, "balanced")
            for _, names in groupby(REPOSITORIES, lambda name: name.split("/")[0]):
                github.install(app, *names)
            watch = Watch(store=store)
            yield ChaosRun(
                scenario=scenario,
                github=github,
                store=store,
                fleet=fleet,
                traffic=Traffic(github=github, bot=app.bot.login, rng=rng),
                watch=watch,
                killer=Killer(
                    fleet=fleet,
                    store=store,
                    watch=watch,
                    rng=random.Random(scenario.seed + 1),
                    slots=scenario.workers * scenario.slots,
                    home=home,
                    redis_server=redis_server,
                    postgres=postgres,
                ),
                rng=rng,
            )


def _peopled(github: ChaoticGitHub) -> App:
    """Accounts, repositories, and the App."""
    github.add_user(USER)
    for owner in dict.fromkeys(name.split("/")[0] for name in REPOSITORIES):
        github.add_user(owner)
    for repository in REPOSITORIES:
        github.add_repository(repository, FILES)
        github.grant(repository, USER, "admin")
    return github.add_app("apprentice", owner=USER, webhook_secret=SECRET)


def _settings(scenario: Scenario, home: Path, github_url: str, app: App) -> dict[str, object]:
    key = home / "app.pem"
    key.touch(mode=0o600)
    key.write_text(app.private_key)
    return {
        "home": home,
        "github_url": github_url,
        "webhook_secret": SECRET,
        "app_id": app.id,
        "private_key_file": key,
        "embedder": "words",
        "python": sys.executable,
        "lease_seconds": scenario.lease_seconds,
        "poll_seconds": scenario.poll_seconds,
        "workers": scenario.slots,
        "start_seconds": 60,
        "seed": scenario.seed,
    }


def _members(settings: Mapping[str, object], ports: list[int], workers: int) -> list[AppProcess]:
    webs = [AppProcess(command="serve", environment=environment_with(**settings, port=port)) for port in ports]
    others = ["mint", "sweep", *["worker"] * workers]
    return webs + [AppProcess(command=each, environment=environment_with(**settings)) for each in others]
