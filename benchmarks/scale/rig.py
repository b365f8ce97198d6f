"""A stand-in for GitHub with issues and pull requests, the servers, and the App's processes whose workers note what jobs cost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path

import msgspec

from benchmarks.chaos.github import ChaoticGitHub, FaultShares
from benchmarks.chaos.servers import KillablePostgres, spawn
from benchmarks.scale.worker import JobNote
from bot.playground.models import App
from memory.model.jobs import JobState
from memory.store import Store, open_store
from tests.conftest import RedisServer
from workers.jobs import Job
from workers.queue.broker import make_celery, send
from workers.queue.enqueue import enqueue, rows
from workers.settings import Settings, environment_with

USER = "maya"
PATIENCE = 1800.0
WORKER = "from benchmarks.scale.worker import main; main()"
AT_ONCE = 500
NO_FAULTS = FaultShares(failing=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """Everything that runs. `notes` is where the workers write."""

    home: Path
    github: ChaoticGitHub
    store: Store
    notes: Path
    send: Callable[[Sequence[str]], None]
    environment: Mapping[str, str]

    def add(self, jobs: Sequence[Job]) -> None:
        """Store jobs, and wake the workers as the web process does: it has no more messages wait."""
        ids = []
        for start in range(0, len(jobs), AT_ONCE):
            new = rows("scale", jobs[start : start + AT_ONCE])
            self.store.jobs.enqueue(new)
            ids += [row.id for row in new]
        enqueue(self.store, self.send, ids[:AT_ONCE], datetime.now(UTC))

    def await_done(self, look: Callable[[], None] = lambda: None) -> None:
        """Wait until no job is left to do; `look` is called now and then."""
        deadline = time.monotonic() + PATIENCE
        while any(self.store.jobs.counts()[state] for state in (JobState.READY, JobState.LEASED)):
            if time.monotonic() > deadline:
                raise SystemExit(f"jobs were not done in {PATIENCE:.0f} s; see the log:\n{self.log()[-3000:]}")
            time.sleep(0.5)
            look()
        if dead := self.store.jobs.counts()[JobState.DEAD]:
            raise SystemExit(f"{dead} jobs failed; the log:\n{self.log()[-3000:]}")

    def log(self) -> str:
        """What the processes printed."""
        return (self.home / "log").read_text(errors="replace")

    @contextmanager
    def processes(self, *, workers: int, no_op: bool = False, sweeper: bool = False) -> Iterator[list[int]]:
        """The minting process and so many workers, by number of their processes; stopped at the end."""
        worker = ["-c", WORKER, str(self.notes), *(["--no-op"] if no_op else [])]
        commands = [["-m", "bot.cli", "mint"], *([["-m", "bot.cli", "sweep"]] if sweeper else []), *[worker] * workers]
        started: list[subprocess.Popen[bytes]] = []
        try:
            for command in commands:
                process = spawn([sys.executable, *command], self.home / "log", environment=self.environment)
                started.append(process)
            yield [each.pid for each in started[-workers:]]
        finally:
            for process in started:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def notes_by_process(self) -> dict[str, list[JobNote]]:
        """What each process noted, in order."""
        decode = msgspec.json.Decoder(JobNote).decode
        return {
            path.name: [decode(line) for line in path.read_bytes().splitlines()]
            for path in sorted(self.notes.iterdir())
        }


@contextmanager
def rig(kind: str, repositories: Mapping[str, Mapping[str, str]], *, poll_seconds: int = 3600) -> Iterator[Rig]:
    """Servers of a kind, embedded or servers, with these repositories and their files."""
    with tempfile.TemporaryDirectory(prefix="apprentice-scale-") as place, ExitStack() as stack:
        root = Path(place)
        root.chmod(0o755)  # PostgreSQL runs as another user
        home, notes = root / "home", root / "notes"
        home.mkdir(mode=0o700)
        notes.mkdir()
        url = broker = ""
        if kind == "servers":
            postgres, redis = KillablePostgres(root / "postgresql"), RedisServer(root)
            for server in (postgres, redis):
                server.start()
                stack.callback(server.stop)
            url, broker = postgres.url, redis.url
        github = stack.enter_context(ChaoticGitHub([], NO_FAULTS, random.Random(1)))
        app = _peopled(github, repositories)
        servers = {"database_url": url, "broker_url": broker, "poll_seconds": poll_seconds}
        settings = _settings(home, github.url, app) | servers
        celery = make_celery(Settings(home=home, broker_url=broker))
        yield Rig(
            home=home,
            github=github,
            store=stack.enter_context(open_store(url or f"sqlite:///{home / 'apprentice.db'}")),
            notes=notes,
            send=partial(send, celery),
            environment=environment_with(**settings),
        )


def _peopled(github: ChaoticGitHub, repositories: Mapping[str, Mapping[str, str]]) -> App:
    github.add_user(USER)
    for owner in dict.fromkeys(name.split("/")[0] for name in repositories):
        github.add_user(owner)
    for name, files in repositories.items():
        github.add_repository(name, files)
        github.grant(name, USER, "admin")
    app = github.add_app("apprentice", owner=USER)
    for _, names in groupby(repositories, lambda name: name.split("/")[0]):
        github.install(app, *names)
    return app


def _settings(home: Path, github_url: str, app: App) -> dict[str, object]:
    key = home / "app.pem"
    key.touch(mode=0o600)
    key.write_text(app.private_key)
    return {
        "home": home,
        "github_url": github_url,
        "app_id": app.id,
        "private_key_file": key,
        "embedder": "words",
        "python": sys.executable,
        "workers": 1,
        "seed": 1,
    }
