"""Signed webhooks per second: the real web process on SQLite, against the same server that answers 202 and stores nothing.

Each run measures both, one after the other, in processes of their own; the ratio is taken within the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import uvicorn

from benchmarks.report import ROOT, show, spread
from bot.web.app import create_app
from bot.web.signature import HEADER, sign
from memory.model.jobs import Delivery
from memory.store import open_store
from memory.store.jobs import Inbox
from workers.settings import WebSettings, environment_with, load

SECRET = "benchmark"
PAYLOAD_BYTES = 25_000
CONNECTIONS = 32
WARM_UP = 200
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One server under load."""

    per_second: float
    latencies_ms: tuple[float, ...]


class _NothingKept(Inbox):
    """An inbox that says yes and forgets."""

    def record_deliveries(self, batch: Sequence[Delivery]) -> list[bool]:
        return [True for _ in batch]


def serve_nothing() -> None:
    """The web application as it is, with nothing behind it: no transaction, no queue."""
    settings = load(WebSettings)
    with open_store(settings.database()) as store:
        store.inbox = _NothingKept(store.database)
        app = create_app(settings, store, lambda _ids: None, lambda: datetime.now(UTC))
        uvicorn.run(app, host=settings.host, port=settings.port, log_config=None, access_log=False)


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


def requests(count: int) -> list[bytes]:
    """Whole HTTP requests, each a delivery of its own with its own body."""
    template = payload()
    return [_request(number, template.replace(b'"number": 7', b'"number": %d' % number, 1)) for number in range(count)]


def _request(number: int, body: bytes) -> bytes:
    head = (
        f"POST /webhook HTTP/1.1\r\nHost: benchmark\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nX-GitHub-Event: pull_request\r\nX-GitHub-Delivery: d-{number}\r\n"
        f"{HEADER}: {sign(SECRET.encode(), body)}\r\n\r\n"
    )
    return head.encode() + body


async def post_all(port: int, todo: list[bytes]) -> list[float]:
    """Send every request over a few kept connections; the seconds each answer took."""
    latencies: list[float] = []
    waiting = iter(todo)

    async def sender() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in waiting:
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 202"), head
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
            latencies.append(time.perf_counter() - begun)
        writer.close()

    await asyncio.gather(*(sender() for _ in range(CONNECTIONS)))
    return latencies


@contextmanager
def serving(command: Sequence[str], port: int, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A web process of its own, until the end of the context."""
    environment = environment_with(home=home, port=port, webhook_secret=SECRET)
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=environment)
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


def measure(command: Sequence[str], count: int) -> Measured:
    """One server, warmed up, under load until `count` deliveries are answered."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    todo = requests(WARM_UP + count)
    with tempfile.TemporaryDirectory(prefix="apprentice-ingest-") as home, serving(command, port, Path(home)):
        asyncio.run(post_all(port, todo[:WARM_UP]))
        begun = time.perf_counter()
        latencies = asyncio.run(post_all(port, todo[WARM_UP:]))
        seconds = time.perf_counter() - begun
    return Measured(per_second=count / seconds, latencies_ms=tuple(1000 * each for each in latencies))


REAL = ("bot.cli", "serve")
NOTHING = ("benchmarks.ingest", "--serve-nothing")


def run(runs: int, count: int) -> None:
    """Measure and print."""
    real: list[Measured] = []
    nothing: list[Measured] = []
    for number in range(runs):
        order = ((REAL, real), (NOTHING, nothing))
        for command, found in order if number % 2 else reversed(order):  # neither is always the first
            found.append(measure(command, count))
    ratios = [one.per_second / other.per_second for one, other in zip(real, nothing, strict=True)]
    slowest = [float(np.percentile(one.latencies_ms, 99)) for one in real]
    show(
        f"ingest: {count} signed deliveries of {PAYLOAD_BYTES // 1000} KB over {CONNECTIONS} connections, {runs} runs",
        [
            ("stored on SQLite, jobs queued, per second", spread([one.per_second for one in real], 0)),
            ("answered without storing, per second", spread([one.per_second for one in nothing], 0)),
            ("ratio within a run", spread(ratios)),
            ("99th percentile of the answer, ms", spread(slowest, 0)),
        ],
        [
            f"client and server share {os.cpu_count()} cores; synchronous=FULL, {CONNECTIONS} deliveries under way at a time"
        ],
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--deliveries", type=int, default=3000, help="for each server in each run")
    parser.add_argument("--serve-nothing", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve_nothing:
        serve_nothing()
    else:
        run(given.runs, given.deliveries)


if __name__ == "__main__":
    main()
