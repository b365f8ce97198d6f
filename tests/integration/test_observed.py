"""What an operator sees of real processes: JSON in every line, traces from a delivery to its jobs, and metrics of all."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bot.playground.auth import make_key
from bot.web.signature import HEADER, sign
from tests.integration.command_line import ROOT, environment
from tests.integration.test_web_requests import ISSUE, SECRET, Desk
from tests.unit.workers.test_runner import NOW, REPOSITORY, Bench
from workers import traces
from workers.errors import Unavailable
from workers.jobs import Fix, Job, PollReactions, encode, job_id
from workers.settings import Settings, WorkerSettings

pytestmark = pytest.mark.extended

PATIENCE = 900.0


@dataclass(frozen=True)
class Span:
    name: str
    process: str
    trace: str
    id: str
    parent: str
    attributes: Mapping[str, Any]


@dataclass
class Receiver:
    """What an OTLP collector got."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            self.spans += [
                Span(
                    name=span.name,
                    process=named["service.name"],
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    attributes={each.key: each.value.string_value or each.value.int_value for each in span.attributes},
                )
                for scope in resource.scope_spans
                for span in scope.spans
            ]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """An OTLP/HTTP receiver on a loopback port."""
    got = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        got.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield got
        server.shutdown()
        thread.join()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


# ── Traces


def test_a_trace_goes_from_delivery_to_follow_up(tmp_path: Path, receiver: Receiver) -> None:
    """A delivery, each attempt of its job and the job that follows from it are one trace, each below its cause."""
    traces.configure(Settings(home=tmp_path, traces_url=receiver.url), "test")
    desk = Desk(tmp_path)
    try:
        assert desk.post().json()["jobs"] == 1
        (first,) = desk.sent
        poll, tries = PollReactions(repository=REPOSITORY), list[int]()

        def flow(job: Job, context: Bench) -> Sequence[Job]:
            tries.append(1)
            if len(tries) == 1:
                raise Unavailable("away")
            return [poll]

        flows = {Fix: flow, PollReactions: lambda job, context: ()}
        bench = Bench(store=desk.store, settings=WorkerSettings(home=tmp_path, lease_seconds=30), flows=flows)
        bench.run(job=first)
        later = replace(bench, now=[NOW.replace(hour=20)])
        later.run(job=first)
        later.run(job=job_id(first, encode(poll)))
    finally:
        traces.close()
        desk.store.close()
    (delivery,) = receiver.named("delivery")
    waited, done = receiver.named("job fix")
    (followed,) = receiver.named("job poll")
    assert {span.trace for span in receiver.spans} == {delivery.trace}
    assert (delivery.parent, waited.parent, done.parent) == ("", delivery.id, delivery.id)
    assert followed.parent == done.id
    assert [span.attributes["apprentice.result"] for span in (waited, done)] == ["waiting", "done"]
    assert {span.attributes["apprentice.delivery"] for span in receiver.spans} == {"d-1"}
    assert delivery.process == "apprentice-test"


def test_without_a_receiver_nothing_is_traced(tmp_path: Path) -> None:
    """By default no job has a trace, and OpenTelemetry is not loaded."""
    program = (
        "import sys; from pathlib import Path; from workers import traces; from workers.settings import Settings\n"
        "traces.configure(Settings(home=Path(sys.argv[1])), 'web')\n"
        "with traces.span('delivery'): assert traces.context() is None\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        cwd=ROOT,
        env=environment(tmp_path, {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_traces_need_their_extra(tmp_path: Path) -> None:
    """Where OpenTelemetry is not installed, the setting is refused with what to install."""
    hidden = (
        "import sys; from pathlib import Path\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'opentelemetry.sdk': raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from bot.cli.main import main\n"
        "sys.argv = ['apprentice', 'serve']; main()\n"
    )
    given = {"APPRENTICE_TRACES_URL": "http://127.0.0.1:9/v1/traces", "APPRENTICE_WEBHOOK_SECRET": "s3cret"}
    done = subprocess.run(
        [sys.executable, "-c", hidden],
        cwd=ROOT,
        env=environment(tmp_path, given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "apprentice: APPRENTICE_TRACES_URL is set, and OpenTelemetry is not installed: install Apprentice with the extra otel\n"
    )


# ── Processes


@dataclass
class Machine:
    port: int
    out: Path
    err: Path
    process: subprocess.Popen[bytes]

    def records(self) -> list[dict[str, Any]]:
        """The log. Each line is JSON, or this fails."""
        lines = self.err.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def has(self, **wanted: object) -> bool:
        return any(wanted.items() <= record.items() for record in self.records())


@contextmanager
def machine(home: Path, **given: str) -> Iterator[Machine]:
    """`apprentice up`, with a log for collectors. GitHub is away."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    key = home / "key.pem"
    key.write_text(make_key()[0])
    settings = {
        "APP_ID": "7",
        "PRIVATE_KEY_FILE": str(key),
        "WEBHOOK_SECRET": SECRET,
        "PORT": str(port),
        "LOG_FORMAT": "json",
        "GITHUB_URL": "http://127.0.0.1:9",
        "WORKERS": "1",
    }
    named = {f"APPRENTICE_{name}": value for name, value in (settings | given).items()}
    out, err = home / "out", home / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "up"], env=environment(home, named), stdout=stdout, stderr=stderr
        )
    try:
        yield Machine(port=port, out=out, err=err, process=process)
    finally:
        process.kill()
        process.wait()


def post(port: int) -> httpx.Response:
    headers = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "guid-1", "Content-Type": "application/json"}
    signature = {HEADER: sign(SECRET.encode(), ISSUE)}
    return httpx.post(f"http://127.0.0.1:{port}/webhook", content=ISSUE, headers=headers | signature)


def metric(port: int, line: str) -> bool:
    return any(each.startswith(line) for each in httpx.get(f"http://127.0.0.1:{port}/metrics").text.splitlines())


def test_every_line_is_json(tmp_path: Path, receiver: Receiver) -> None:
    """Web process, worker, sweeper, minting process and their supervisor write JSON alone, and nothing on standard output.

    A delivery is found in the web process's line, and in its job's lines of the worker; both are in one trace, which a
    child of the worker's process sends. The metrics of the worker are at the web process.
    """
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with machine(home, TRACES_URL=receiver.url) as up:
        wait_for(lambda: any(str(record["event"]).startswith("ready: ") for record in up.records()))
        assert post(up.port).status_code == 202
        with socket.create_connection(("127.0.0.1", up.port)) as stranger:  # uvicorn warns of it
            stranger.sendall(b"no HTTP\r\n\r\n")
            stranger.recv(1000)
        wait_for(lambda: up.has(event="delivery", delivery="guid-1", duplicate=False))
        wait_for(lambda: up.has(event="job started", delivery="guid-1", kind="fix"))
        wait_for(lambda: up.has(event="job ended", delivery="guid-1", kind="fix", result="waiting"))
        wait_for(lambda: metric(up.port, 'apprentice_job_seconds_count{kind="fix",result="waiting"} '))
        wait_for(lambda: metric(up.port, 'apprentice_processes{kind="worker"} 1.0'))
        wait_for(lambda: metric(up.port, "apprentice_last_sweep_timestamp_seconds 1"))
        os.kill(up.process.pid, 15)
        assert up.process.wait(PATIENCE) == 0
        records = up.records()
    assert up.out.read_text() == ""
    assert all({"event", "level", "timestamp"} <= record.keys() for record in records)
    (delivery,) = receiver.named("delivery")
    ran = receiver.named("job fix")
    assert ran
    assert {span.parent for span in ran} == {delivery.id}
    assert {span.process for span in (delivery, *ran)} == {"apprentice-web", "apprentice-worker"}
    assert {record["trace"] for record in records if record.get("delivery") == "guid-1"} == {delivery.trace}


def test_lines_of_celery_are_json(tmp_path: Path) -> None:
    """A worker whose broker is away says so in JSON, and ends on a signal without another word."""
    given = {"APPRENTICE_BROKER_URL": "redis://127.0.0.1:9/0", "APPRENTICE_LOG_FORMAT": "json"}
    out, err = tmp_path / "out", tmp_path / "err"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "worker"], env=environment(home, given), stdout=stdout, stderr=stderr
        )
    try:
        wait_for(lambda: "broker does not answer" in err.read_text())
        process.terminate()
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert all(json.loads(line)["level"] for line in err.read_text().splitlines())
    assert out.read_text() == ""


@pytest.mark.parametrize(("given", "code"), [({}, 2), ({"APPRENTICE_LEASE_SECONDS": "none"}, 2)])
def test_the_last_line_of_a_start_is_json(tmp_path: Path, given: dict[str, str], code: int) -> None:
    """A process that cannot start says why in one line of JSON too."""
    command = "worker" if given else "serve"
    done = subprocess.run(
        [sys.executable, "-m", "bot.cli", command],
        env=environment(tmp_path, given | {"APPRENTICE_LOG_FORMAT": "json"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["level"] == "critical"
    assert "APPRENTICE_" in json.loads(line)["event"]
