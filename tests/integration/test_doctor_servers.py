"""What `apprentice doctor` finds of the servers: each is tried, and what is wrong is one line that says what to do."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.background_server import BackgroundServer
from bot.doctor import (
    CheckState,
    MachineCheck,
    _app,
    _clock,
    _database,
    _disk,
    _interpreter,
    _queue,
    _secret,
)
from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.models import App
from bot.web.app import create_app
from memory.model.jobs import Delivery, NewJob
from memory.store import open_store
from tests.databases import ThreadStore, migrated, migrated_store
from tests.playground import Playground, minting_for
from workers.settings import MintSettings, WebSettings, WorkerSettings

OK, OPTIONAL, MISSING = CheckState.OK, CheckState.OPTIONAL, CheckState.MISSING


@pytest.fixture
def playground() -> Iterator[Playground]:
    with Playground() as running:
        running.add_user("ada")
        running.add_repository("ada/engine", {"README.md": "# engine\n"})
        yield running


@pytest.fixture
def app(playground: Playground) -> App:
    return playground.add_app("apprentice", owner="ada", webhook_secret="s" * 20)


def on_github(app: App, playground: Playground, home: Path, **given: object) -> dict[str, tuple[CheckState, str]]:
    key = home / "app.pem"
    key.write_text(app.private_key)
    values = {"home": home, "app_id": app.id, "private_key_file": key, "github_url": playground.url} | given
    found = _app(MintSettings(**values))
    return {
        each.name: (each.state, each.detail.replace(playground.url, "#").replace(str(app.id), "7")) for each in found
    }


def test_github(app: App, playground: Playground, tmp_path: Path) -> None:
    """The App's signature, its permissions and events, its clock, and a token that is minted and used."""
    playground.install(app, "ada/engine")
    found = on_github(app, playground, tmp_path)
    assert found.pop("clock of GitHub")[0] is OK
    assert found == snapshot(
        {
            "GitHub App": (OK, "apprentice, id 7: # accepts its signature"),
            "GitHub permissions": (OK, "all that tokens ask for"),
            "GitHub events": (OK, "all that are read"),
            "GitHub token": (OK, "minted for ada, where it reads 1 repositories"),
        }
    )


def test_by_the_minting_process(app: App, playground: Playground, tmp_path: Path) -> None:
    """Who has no key finds the same by the process that has it, and gets no token."""
    playground.install(app, "ada/engine")
    here = on_github(app, playground, tmp_path)
    with minting_for(app, playground, tmp_path):
        there = on_github(app, playground, tmp_path, app_id=0, private_key_file=None)
    assert here.pop("clock of GitHub")[0] is there.pop("clock of GitHub")[0] is OK
    assert there == here


def test_an_app_that_is_installed_nowhere(app: App, playground: Playground, tmp_path: Path) -> None:
    """It has no token to mint, and that is said."""
    assert on_github(app, playground, tmp_path)["GitHub token"] == snapshot(
        (OPTIONAL, "the App is installed nowhere: open its page and choose Install")
    )


def test_an_app_with_too_few_permissions(app: App, playground: Playground, tmp_path: Path) -> None:
    """What tokens ask for and the App was not given, and what it does not subscribe to, is named."""

    def little(_request: PlaygroundRequest) -> PlaygroundResponse:
        held = {"contents": "read", "metadata": "read", "issues": "write", "pull_requests": "write"}
        body = {"id": app.id, "slug": "apprentice", "permissions": held, "events": ["issues"]}
        return PlaygroundResponse(
            status=200, headers={"Content-Type": "application/json"}, body=json.dumps(body).encode()
        )

    playground.before("GET", "/app$", little)
    found = on_github(app, playground, tmp_path)
    assert (found["GitHub permissions"], found["GitHub events"]) == snapshot(
        (
            (
                MISSING,
                "the App lacks checks: write, contents: write: change it on the App's page, and accept it in each installation",
            ),
            (
                MISSING,
                "the App does not subscribe to check_run, issue_comment, pull_request, pull_request_review, pull_request_review_comment, pull_request_review_thread: change it on the App's page, and accept it in each installation",
            ),
        )
    )


def test_a_key_of_another_app(app: App, playground: Playground, tmp_path: Path) -> None:
    """GitHub refuses its signature, and nothing else is claimed."""
    other = playground.add_app("other", owner="ada")
    found = on_github(other, playground, tmp_path, app_id=app.id)
    ((name, (state, detail)),) = found.items()
    assert (name, state) == ("GitHub App", MISSING)
    assert "while looking up the App; check the App's " in detail


def test_an_app_that_github_does_not_know(app: App, playground: Playground, tmp_path: Path) -> None:
    """A wrong id is named as such."""
    found = on_github(app, playground, tmp_path, app_id=app.id + 90)
    assert found == snapshot(
        {
            "GitHub App": (
                MISSING,
                "GitHub knows no App with our id while looking up the App; check APPRENTICE_APP_ID",
            )
        }
    )


def test_github_is_not_reached(app: App, playground: Playground, tmp_path: Path) -> None:
    """Nor where there is no network."""
    found = on_github(app, playground, tmp_path, github_url="http://127.0.0.1:9")
    ((name, (state, detail)),) = found.items()
    assert (name, state) == ("GitHub App", MISSING)
    assert "GitHub could not be reached while looking up the App" in detail


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebSettings]:
    """A web process, and its settings."""
    with migrated_store(tmp_path / "apprentice.db") as store:
        settings = WebSettings(home=tmp_path, webhook_secret="s3cret")
        with BackgroundServer(
            create_app(settings, store, lambda _ids: None, store.clock, [ThreadStore(store.jobs.record_deliveries)]),
            name="web process",
        ) as server:
            yield settings.model_copy(update={"port": int(server.root.rpartition(":")[2])})


def test_the_secret_that_runs(web: WebSettings, tmp_path: Path) -> None:
    """A signed ping goes round through the web process, and leaves one delivery however often it is sent."""
    for _ in range(2):
        check = _secret(web)
        assert (check.state, check.detail) == (OK, f"http://127.0.0.1:{web.port}/webhook accepts what it signs")
    with migrated_store(tmp_path / "apprentice.db") as store:
        assert store.jobs.delivery_count() == 1


def test_another_secret_runs(web: WebSettings) -> None:
    """A web process that was not restarted after a change of the secret is found."""
    check = _secret(WebSettings(home=web.home, port=web.port, webhook_secret="new"))
    assert (check.state, check.detail.partition("/webhook ")[2]) == snapshot(
        (MISSING, "runs with another one: restart the web process")
    )


def test_no_web_process(tmp_path: Path) -> None:
    """Where none runs the secret is not called good."""
    check = _secret(WebSettings(home=tmp_path, port=9, webhook_secret="s3cret"))
    assert (check.state, check.detail) == snapshot(
        (OK, "set, and not tried: no web process answers at http://127.0.0.1:9/webhook")
    )


def settings(home: Path, **given: object) -> WorkerSettings:
    return WorkerSettings(home=home, **given)


def only(checks: Iterator[MachineCheck]) -> tuple[CheckState, str]:
    (check,) = checks
    return check.state, check.detail


def test_redis(tmp_path: Path, redis_url: str) -> None:
    """It is asked, and its place is shown without the password."""
    check = _queue(settings(tmp_path, broker_url=redis_url.replace("://", "://:s3cret@")))
    assert "s3cret" not in check.detail
    check = _queue(settings(tmp_path, broker_url=redis_url))
    assert (check.state, check.detail) == (OK, f"{redis_url}, 0 messages wait")
    check = _queue(settings(tmp_path, broker_url="redis://:s3cret@127.0.0.1:9/0"))
    assert (check.state, check.detail.partition(": the broker")[0]) == (MISSING, "redis://127.0.0.1:9/0")
    assert "s3cret" not in check.detail


def test_embedded_broker(tmp_path: Path) -> None:
    """The embedded one is tried too."""
    check = _queue(settings(tmp_path))
    assert (check.state, check.detail) == snapshot((OK, "embedded, 0 messages wait"))


def test_postgresql(tmp_path: Path, migrated_postgresql_url: str) -> None:
    """Its version, its answer and its clock."""
    database, clock = _database(settings(tmp_path, database_url=migrated_postgresql_url))
    assert (database.state, database.detail.split()[0]) == (OK, "PostgreSQL")
    assert (clock.state, clock.name) == (OK, "clock of database")


def test_no_postgresql(tmp_path: Path) -> None:
    """One that does not answer is missing."""
    state, detail = only(_database(settings(tmp_path, database_url="postgresql://us@127.0.0.1:9/apprentice")))
    assert (state, detail.partition(":")[0]) == (MISSING, "the database does not answer")


def test_postgresql_that_takes_no_writes(tmp_path: Path, migrated_postgresql_url: str) -> None:
    """One that is read-only, as a standby, is missing."""
    given = settings(tmp_path, database_url=f"{migrated_postgresql_url}&options=-cdefault_transaction_read_only%3Don")
    state, detail = only(_database(given))
    assert (state, "read-only transaction" in detail) == (MISSING, True)


def test_damaged_sqlite(tmp_path: Path) -> None:
    """SQLite's own check finds an index that does not fit its table."""
    url = migrated(tmp_path / "apprentice.db")
    with open_store(url) as store:
        at = store.clock()
        store.jobs.record_deliveries([Delivery(id=f"d{each}", event="ping", received_at=at) for each in range(9)])
    assert only(_database(settings(tmp_path)))[0] is OK
    with closing(sqlite3.connect(tmp_path / "apprentice.db", isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")
        database.execute("DELETE FROM sqlite_master WHERE name = 'ix_deliveries_received_at'")
    state, detail = only(_database(settings(tmp_path)))
    assert state is MISSING
    assert "is damaged: " in detail
    assert detail.endswith("; restore a backup")


def test_dead_jobs(tmp_path: Path) -> None:
    """Jobs that ended the processes that ran them are counted, with the command that shows them."""
    with migrated_store(tmp_path / "apprentice.db") as store:
        assert len(list(_database(settings(tmp_path)))) == 1
        at = store.clock()
        store.jobs.enqueue([NewJob(id="poison", kind="fix", payload=b"")], now=at)
        for again in range(6):
            store.jobs.lease("poison", worker="w", now=at + timedelta(minutes=again), seconds=1)
        _, check = _database(settings(tmp_path))
    assert (check.state, check.detail) == snapshot(
        (OPTIONAL, "1 ended the processes that ran them: `apprentice jobs list --state dead` shows which")
    )


def test_disk(tmp_path: Path) -> None:
    """A home without space: /proc has none."""
    assert _disk(settings(tmp_path)).state is OK
    check = _disk(settings(Path("/proc")))
    assert (check.state, check.detail) == snapshot(
        (MISSING, "0 MB are free in /proc, less than 1024: make room, or move APPRENTICE_HOME")
    )


def test_interpreter(tmp_path: Path) -> None:
    """The one that is set for all repositories is run; none that is set is none to check."""
    assert list(_interpreter(settings(tmp_path))) == []
    state, detail = only(_interpreter(settings(tmp_path, python=Path(sys.executable))))
    assert (state, detail.partition(" is Python ")[0]) == (OK, f"{sys.executable} (APPRENTICE_PYTHON)")
    assert only(_interpreter(settings(tmp_path, python=Path("/bin/true")))) == snapshot(
        (MISSING, "/bin/true (APPRENTICE_PYTHON) is no CPython from 3.8 on that the sandbox can show")
    )


@pytest.mark.parametrize(
    ("seconds", "state", "detail"),
    [
        (0.3, OK, "this machine is 0.3 s ahead"),
        (-29.0, OK, "this machine is 29.0 s behind"),
        (31.0, MISSING, "this machine is 31.0 s ahead: set it by NTP on both machines"),
        (-90.0, MISSING, "this machine is 90.0 s behind: set it by NTP on both machines"),
    ],
)
def test_clocks(seconds: float, state: CheckState, detail: str) -> None:
    """GitHub refuses signatures that are a minute off: half of that is too much."""
    check = _clock("GitHub", timedelta(seconds=seconds))
    assert (check.name, check.state, check.detail) == ("clock of GitHub", state, detail)
