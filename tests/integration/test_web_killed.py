"""A real web process, a real worker: deliveries that arrive twice, out of order, and while the web process is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from bot.web.signature import HEADER, sign
from memory.model.jobs import JobState
from memory.store import Store
from tests.databases import migrated_store
from workers.queue.broker import make_celery, send
from workers.queue.sweeper import sweep
from workers.settings import Settings

pytestmark = pytest.mark.extended

SECRET = b"correct horse"
SERVE = "from bot.web.app import serve; from workers.settings import WebSettings; serve(WebSettings())"
SERVE_UNTIL_IT_SENDS = """
import os, signal
from datetime import UTC, datetime
import uvicorn
from bot.web.app import create_app
from bot.web.storing_process import StoringProcess
from memory.store import open_store
from workers.settings import WebSettings
settings = WebSettings()
def die(ids):
    os.kill(os.getpid(), signal.SIGKILL)
processes = [StoringProcess(settings)]
app = create_app(settings, open_store(settings.database()), die, lambda: datetime.now(UTC), processes)
uvicorn.run(app, port=settings.port, log_config=None)
"""
TOY_WORKER = Path(__file__).with_name("toy_worker.py")
PATIENCE = 900.0


@contextmanager
def started(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, *command], env={**os.environ, **environment}, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Web:
    """A web process on a port of its own that can be killed and started again."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.home = home
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def life(self, program: str = SERVE) -> Iterator[subprocess.Popen[bytes]]:
        variables = {"HOME": str(self.home), "PORT": str(self.port), "WEBHOOK_SECRET": SECRET.decode()}
        named = {f"APPRENTICE_{name}": value for name, value in variables.items()}
        with started("-c", program, **named) as process:
            wait_for(self.answers)
            yield process

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz").status_code == 200
        except httpx.TransportError:
            return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def delivery(number: int) -> tuple[bytes, dict[str, str]]:
    body = json.dumps(
        {
            "action": "opened",
            "pull_request": {
                "number": number,
                "head": {"sha": f"{number:040x}", "ref": "x", "repo": {"id": 77}},
                "base": {"sha": "b" * 40, "ref": "main", "repo": {"id": 77}},
            },
            "repository": {"id": 77, "full_name": "acme/scales"},
            "sender": {"id": 501, "login": "mara"},
            "installation": {"id": 3003},
        }
    ).encode()
    names = {"X-GitHub-Event": "pull_request", "X-GitHub-Delivery": f"delivery-{number}"}
    names |= {"Content-Type": "application/json"}
    return body, names | {HEADER: sign(SECRET, body)}


def post(client: httpx.Client, number: int) -> bool:
    """Whether the delivery was acknowledged."""
    body, headers = delivery(number)
    try:
        return client.post("/webhook", content=body, headers=headers).status_code == 202
    except httpx.TransportError:
        return False


def send_until_killed(web: Web, process: subprocess.Popen[bytes], todo: list[int], kill_at: int | None) -> None:
    """Post from the end of `todo`, taking away what is acknowledged; have the process killed when `kill_at` are left."""
    with httpx.Client(base_url=web.url) as client:
        while todo:
            if len(todo) == kill_at:
                threading.Timer(0.03, process.kill).start()  # somewhere within one of the next requests
            if not post(client, todo[-1]):
                return
            todo.pop()


def test_five_hundred_deliveries(tmp_path: Path) -> None:
    """500 deliveries, 100 of them twice, in random order, the web process killed twice: 500 stored, each job run once."""
    web, settings = Web(tmp_path), Settings(home=tmp_path)
    todo = [*range(500), *range(0, 500, 5)]
    random.Random(7).shuffle(todo)
    with migrated_store(tmp_path / "apprentice.db") as store, started(str(TOY_WORKER), str(tmp_path)):
        for kill_at in (450, 200, None):
            with web.life() as process:
                send_until_killed(web, process, todo, kill_at)
                if kill_at is not None:
                    assert process.wait(PATIENCE) == -signal.SIGKILL
        assert todo == []
        finish(store, settings)
        assert store.jobs.delivery_count() == 500
        assert store.jobs.counts()[JobState.DONE] == 500
    runs = Counter((tmp_path / "done").read_text().split())
    assert len(runs) == 500
    assert set(runs.values()) == {1}


def finish(store: Store, settings: Settings) -> None:
    """Sweep until no job is under way."""
    celery = make_celery(settings)

    def ended() -> bool:
        sweep(store, partial(send, celery), datetime.now(UTC), resend_after=5.0)
        counts = store.jobs.counts()
        return counts[JobState.READY] + counts[JobState.LEASED] == 0

    wait_for(ended)


def test_the_process_that_stores_is_killed(tmp_path: Path) -> None:
    """Another one takes its place; a delivery is refused at most while nobody knows of its death."""
    web = Web(tmp_path)
    with web.life() as process, httpx.Client(base_url=web.url, timeout=600) as client:
        assert post(client, 1)
        for number in range(2, 7):
            (storing,) = children(process.pid)
            os.kill(storing, signal.SIGKILL)
            if number % 2:
                wait_for(partial(is_gone, storing))  # the web process noticed
                assert post(client, number)
            else:
                wait_for(partial(post, client, number))
    with migrated_store(tmp_path / "apprentice.db") as store:
        assert store.jobs.delivery_count() == 6


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_killed_between_commit_and_send(tmp_path: Path) -> None:
    """A job whose message was never sent is run by a worker that looks into the database itself."""
    with migrated_store(tmp_path / "apprentice.db") as store, started(str(TOY_WORKER), str(tmp_path)):
        web = Web(tmp_path)
        with web.life(SERVE_UNTIL_IT_SENDS) as process, httpx.Client(base_url=web.url) as client:
            post(client, 1)
            assert process.wait(PATIENCE) == -signal.SIGKILL
        assert store.jobs.delivery_count() == 1
        wait_for(lambda: store.jobs.counts()[JobState.DONE] == 1)


def test_thirty_megabytes(tmp_path: Path) -> None:
    """30 MB over a real connection are refused with a line that the sender gets to read, and the next one is taken."""
    web = Web(tmp_path)
    headers = delivery(1)[1]
    large = b" " * (30 * 1024 * 1024)
    with web.life(), httpx.Client(base_url=web.url, timeout=600) as client:
        answer = client.post("/webhook", content=large, headers=headers | {HEADER: sign(SECRET, large)})
        assert answer.status_code == 413
        assert answer.json() == {"error": "the body is over 25 MB; GitHub sends no more than 25 MB"}
        assert post(client, 1)


def test_ends_when_asked(tmp_path: Path) -> None:
    """SIGTERM ends the web process in good order."""
    with Web(tmp_path).life() as process:
        process.terminate()
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("secret", ["", None])
def test_no_secret_no_start(secret: str | None, tmp_path: Path) -> None:
    """Without a secret the process ends before it listens, and says which setting is missing."""
    environment = {**os.environ, "APPRENTICE_HOME": str(tmp_path)} | (
        {} if secret is None else {"APPRENTICE_WEBHOOK_SECRET": secret}
    )
    ended = subprocess.run([sys.executable, "-c", SERVE], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "set APPRENTICE_WEBHOOK_SECRET" in ended.stderr
