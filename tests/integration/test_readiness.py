"""`/readyz`: what a job needs is looked for by trying it, and what is missing is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from bot.web.app import create_app
from memory.store import Store
from tests.databases import migrated_store
from workers.errors import Retryable
from workers.queue.broker import depth, make_celery
from workers.queue.heartbeats import ProcessKind, beat
from workers.settings import WebSettings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "apprentice.db") as store:
        yield store


def asked(store: Store, home: Path, ping: Callable[[], object] = lambda: None) -> httpx.Response:
    settings = WebSettings(home=home, webhook_secret="s3cret")
    with TestClient(create_app(settings, store, lambda _ids: None, store.clock, [], ping)) as client:
        return client.get("/readyz")


def alive(store: Store) -> None:
    for kind in ProcessKind:
        beat(store, kind)


def problem(answer: httpx.Response) -> tuple[str, str]:
    """The only one."""
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    ((name, line),) = answer.json()["problems"].items()
    return name, line


def test_ready(store: Store, tmp_path: Path) -> None:
    """With a worker, a sweeper and a broker that answers, it is ready."""
    alive(store)
    celery = make_celery(WebSettings(home=tmp_path))
    answer = asked(store, tmp_path, lambda: depth(celery))
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "problems": {}})


def test_nobody_there(store: Store, tmp_path: Path) -> None:
    """Web process, worker and sweeper are missed by name."""
    answer = asked(store, tmp_path)
    assert answer.status_code == 503
    assert answer.json()["problems"] == {
        "web": "no web has run since yesterday",
        "worker": "no worker has run since yesterday",
        "sweeper": "no sweeper has run since yesterday",
    }


@pytest.mark.parametrize("kind", ProcessKind)
def test_a_process_that_is_gone(store: Store, tmp_path: Path, kind: ProcessKind) -> None:
    """One whose heartbeats stop counts as gone, and the last one is named; another kind's do not count for it."""
    alive(store)
    long_ago = store.clock() - timedelta(minutes=5)
    with store.database.writing() as connection:
        connection.execute(text(f"DELETE FROM heartbeats WHERE kind = '{kind}'"))
    store.heartbeats.beat(kind, "w", now=long_ago, until=long_ago + timedelta(seconds=40))
    shown = long_ago.isoformat(timespec="seconds")
    assert problem(asked(store, tmp_path)) == (kind, f"no {kind} is alive; the last heartbeat was at {shown}")


def test_no_broker(store: Store, tmp_path: Path) -> None:
    """A broker that does not answer is named with its error."""
    alive(store)
    celery = make_celery(WebSettings(home=tmp_path, broker_url="redis://127.0.0.1:9/0"))
    name, line = problem(asked(store, tmp_path, lambda: depth(celery)))
    assert (name, line.partition(":")[0]) == ("broker", "the broker does not answer")


def test_a_broker_that_refuses(store: Store, tmp_path: Path) -> None:
    """Whatever it says."""

    def refuse() -> None:
        raise Retryable("the broker does not answer: it is on fire")

    alive(store)
    assert problem(asked(store, tmp_path, refuse)) == ("broker", "the broker does not answer: it is on fire")


def test_no_disk(store: Store) -> None:
    """A home without space is named with what is left: /proc has none."""
    alive(store)
    assert problem(asked(store, Path("/proc"))) == ("disk", "0 MB are free in /proc, less than 256")


def test_a_probe_writes_nothing(store: Store, tmp_path: Path) -> None:
    """The heartbeats of the processes themselves show that the database can be written."""
    alive(store)
    with store.database.writing() as connection:
        for change in ("INSERT", "UPDATE", "DELETE"):
            refuse = f"BEFORE {change} ON heartbeats BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            connection.execute(text(f"CREATE TRIGGER no_{change} {refuse}"))
    assert asked(store, tmp_path).status_code == 200


def test_no_database(store: Store, tmp_path: Path) -> None:
    """A database that does not answer is named with its error."""
    alive(store)
    with store.database.writing() as connection:
        connection.execute(text("DROP TABLE heartbeats"))
    name, line = problem(asked(store, tmp_path))
    assert (name, "heartbeats" in line) == ("database", True)
