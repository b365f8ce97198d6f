"""How each process of the App ends where it cannot start: one line that says what to do, and an exit code for its supervisor."""

from __future__ import annotations

import errno
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import typer
from inline_snapshot import snapshot

from bot.cli.operate import starting
from bot.playground.auth import make_key
from memory.store import HEAD
from tests.databases import migrated
from tests.integration.command_line import ROOT, Ran, apprentice_process, environment

pytestmark = pytest.mark.extended

NOBODY = "postgresql://us:s3cret@127.0.0.1:9/apprentice"
PROCESSES = ("serve", "worker", "sweep", "up")
WRONG, TEMPORARY = 2, 75


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def app(tmp_path: Path) -> dict[str, str]:
    """The settings of an App with a good key."""
    key = tmp_path / "key.pem"
    key.write_text(make_key()[0])
    return {"APP_ID": "7", "PRIVATE_KEY_FILE": str(key), "WEBHOOK_SECRET": "s3cret", "PORT": "0"}


@pytest.fixture
def port() -> Iterator[str]:
    """One on which another program listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield str(taken.getsockname()[1])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def start(home: Path, command: str, **given: str) -> Ran:
    named = {f"APPRENTICE_{name}": value for name, value in given.items()}
    return apprentice_process(home, command, **{"APPRENTICE_START_SECONDS": "0", **named})


def line(ran: Ran, *places: Path | str) -> tuple[int, str]:
    """The exit code, and the one line on standard error without what differs from run to run."""
    said = ran.complaint()
    for place in places:
        said = said.replace(str(place), "#")
    return ran.code, said


def test_no_secret(home: Path, app: dict[str, str]) -> None:
    """Without a webhook secret neither `up` nor `serve` starts."""
    given = app | {"WEBHOOK_SECRET": ""}
    found = line(start(home, "up", **given))
    assert found == snapshot(
        (2, "there is no webhook secret; set APPRENTICE_WEBHOOK_SECRET to the secret of your GitHub App")
    )
    assert line(start(home, "serve", **given)) == found


@pytest.mark.parametrize("command", ["up", "mint"])
def test_no_app(home: Path, command: str) -> None:
    """Without an App there is nothing to run, and `up` ends before it starts anything."""
    found = line(start(home, command, WEBHOOK_SECRET="s3cret", PORT="0"))
    assert found == snapshot(
        (2, "set APPRENTICE_APP_ID and APPRENTICE_PRIVATE_KEY_FILE to act on GitHub; see docs/install.md")
    )
    assert not (home / "apprentice.db").exists()


def remove(key: Path) -> None:
    key.unlink()


def replace_by_directory(key: Path) -> None:
    key.unlink()
    key.mkdir()


def cut(key: Path) -> None:
    key.write_text(key.read_text()[:400])


KEYS = {
    remove: "cannot be read: No such file or directory",
    replace_by_directory: "cannot be read: Is a directory",
    cut: "is no private key in PEM",
}


@pytest.mark.parametrize("spoil", KEYS)
@pytest.mark.parametrize("command", ["up", "mint"])
def test_unreadable_key(home: Path, app: dict[str, str], command: str, spoil: Callable[[Path], None]) -> None:
    """A key that GitHub would not accept is named, with what is wrong with it."""
    key = Path(app["PRIVATE_KEY_FILE"])
    spoil(key)
    advice = "generate a key on the App's page and download it"
    assert line(start(home, command, **app), key) == (WRONG, f"the private key # {KEYS[spoil]}; {advice}")


@pytest.mark.parametrize("command", ["up", "serve"])
def test_used_port(home: Path, app: dict[str, str], port: str, command: str) -> None:
    """Where another program listens neither starts."""
    assert line(start(home, command, **app | {"PORT": port}), port) == snapshot(
        (
            2,
            "cannot listen on 127.0.0.1 port #: Address already in use; set APPRENTICE_HOST and APPRENTICE_PORT to an address that is free",
        )
    )


def test_foreign_address(home: Path, app: dict[str, str]) -> None:
    """Nor where the address is not this machine's."""
    code, said = line(start(home, "serve", **app | {"HOST": "192.0.2.1", "PORT": "8321"}))
    assert (code, said.partition(";")[0]) == snapshot(
        (2, "cannot listen on 192.0.2.1 port 8321: Cannot assign requested address")
    )


@pytest.mark.parametrize("command", [*PROCESSES, "mint"])
@pytest.mark.sandbox
def test_read_only_home(home: Path, app: dict[str, str], command: str) -> None:
    """On a disk that cannot be written no process starts."""
    read_only = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind", str(home), str(home)]
    assert shutil.which("bwrap")
    given = environment(home, {f"APPRENTICE_{name}": value for name, value in app.items()})
    done = subprocess.run(
        [*read_only, sys.executable, "-m", "bot.cli", command], env=given, cwd=ROOT, capture_output=True, text=True
    )
    ran = Ran(command=command, code=done.returncode, out=done.stdout, err=done.stderr)
    assert line(ran, home) == snapshot(
        (2, "# cannot be used: nothing can be written there; set APPRENTICE_HOME to a directory of yours")
    )


@pytest.mark.parametrize("command", PROCESSES)
def test_database_not_there_yet(home: Path, app: dict[str, str], command: str) -> None:
    """A server that does not answer is temporary: the process waits as long as it may, and a supervisor starts it again."""
    ran = start(home, command, **app, DATABASE_URL=NOBODY)
    assert line(ran) == snapshot(
        (
            75,
            'the database does not answer: connection failed: connection to server at "127.0.0.1", port 9 failed: Connection refused',
        )
    )


@pytest.mark.parametrize("command", PROCESSES)
def test_wrong_database(home: Path, app: dict[str, str], command: str) -> None:
    """A URL that cannot work is final."""
    ran = start(home, command, **app, DATABASE_URL="mysql://db/apprentice")
    assert line(ran) == snapshot(
        (
            2,
            "databases of kind mysql are not supported; use sqlite:////absolute/path.db or postgresql://host/name, with user:password@ before the host",
        )
    )


@pytest.mark.parametrize("command", PROCESSES)
def test_sqlite_file_that_is_a_directory(home: Path, app: dict[str, str], command: str) -> None:
    """So is a file that SQLite cannot open."""
    ran = start(home, command, **app, DATABASE_URL=f"sqlite:///{home}")
    assert line(ran) == snapshot(
        (
            2,
            "the database does not answer: unable to open database file; check APPRENTICE_DATABASE_URL: use sqlite:////absolute/path.db or postgresql://host/name, with user:password@ before the host",
        )
    )


@pytest.mark.parametrize(("role", "name"), [("stranger", "postgres"), ("postgres", "nowhere")])
def test_postgresql_that_refuses(home: Path, postgresql_server: str, role: str, name: str) -> None:
    """A server that answers and does not know the user or the database is told from one that is not there yet."""
    code, said = line(start(home, "sweep", DATABASE_URL=f"postgresql://{role}@/{name}?host={postgresql_server}"))
    assert code == WRONG
    assert f'"{role if name == "postgres" else name}" does not exist; check APPRENTICE_DATABASE_URL' in said


@pytest.fixture
def reader(migrated_postgresql_url: str) -> Iterator[str]:
    """The URL for a user who reads the database, and does not own it, as after a dump was restored by another."""
    role = f"reader_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(migrated_postgresql_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN IN ROLE pg_read_all_data".encode())
        yield migrated_postgresql_url.replace("postgres@", f"{role}@")
        admin.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize("command", PROCESSES)
def test_database_that_can_only_be_read(home: Path, app: dict[str, str], reader: str, command: str) -> None:
    """No process starts where its user may not write, and the line says what the user lacks."""
    assert line(start(home, command, **app, DATABASE_URL=reader)) == snapshot(
        (
            2,
            "the database refused: permission denied for table heartbeats; its user must own the database and the tables",
        )
    )


def test_schema_that_the_user_may_not_make(home: Path, reader: str, postgresql_url: str) -> None:
    """Nor where the user may make no table."""
    role, _ = reader.split("@")
    ran = start(home, "sweep", DATABASE_URL=postgresql_url.replace("postgresql://postgres", role))
    assert line(ran) == snapshot(
        (2, "the database refused: permission denied for schema public; its user must own the database and the tables")
    )


def test_standby(home: Path, migrated_postgresql_url: str) -> None:
    """A server that takes no writes may be promoted in a moment: the process is started again."""
    with psycopg.connect(migrated_postgresql_url, autocommit=True) as admin:
        name = migrated_postgresql_url.partition("@/")[2].partition("?")[0]
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
    assert line(start(home, "sweep", DATABASE_URL=migrated_postgresql_url)) == snapshot(
        (75, "the database does not answer: cannot execute DELETE in a read-only transaction")
    )


def test_database_that_comes_later(home: Path, app: dict[str, str], tmp_path: Path, postgresql_url: str) -> None:
    """A process that waits goes on when the database answers, and says once that it waits."""
    server, late = postgresql_url.partition("?host=")[2], tmp_path / "late"
    url = postgresql_url.replace(server, str(late))
    given = app | {"DATABASE_URL": url, "START_SECONDS": "60"}
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "serve"],
            cwd=ROOT,
            env=environment(home, {f"APPRENTICE_{name}": value for name, value in given.items()}),
            stderr=output,
        )
    try:
        wait_for(lambda: b"waiting up to 60 s" in log.read_bytes())
        late.symlink_to(server)
        with closing(psycopg.connect(postgresql_url, autocommit=True)) as database:
            wait_for(lambda: database.execute("SELECT to_regclass('alembic_version')").fetchall() != [(None,)])
        process.terminate()
        assert process.wait(600) in (0, -signal.SIGTERM)
        assert log.read_text().count("waiting up to") == 1
    finally:
        process.kill()
        process.wait()


def test_a_full_disk(capfd: pytest.CaptureFixture[str]) -> None:
    """A supervisor starts the process again, for 2 would keep it down after there is room."""
    with pytest.raises(typer.Exit) as ended, starting():
        raise OSError(errno.ENOSPC, "No space left on device", "scratch/secret.txt")
    assert ended.value.exit_code == TEMPORARY
    assert "No space left on device: 'scratch/secret.txt'" in " ".join(capfd.readouterr().err.split())


def test_newer_schema(home: Path) -> None:
    """The worker looks at the schema before it takes a job."""
    with closing(sqlite3.connect(migrated(home / "apprentice.db").removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    code, said = line(start(home, "worker"))
    assert (code, said.replace(HEAD, "#")) == snapshot(
        (2, "the database's schema 9999 is newer than this Apprentice knows (#); upgrade Apprentice")
    )


@pytest.mark.parametrize("url", ["amqp://broker", "redis:/broker", "redis://broker:port/0", "redis://broker/jobs"])
def test_wrong_broker(home: Path, app: dict[str, str], url: str) -> None:
    """A broker that the client cannot read is refused in one line, before anything starts."""
    code, said = line(start(home, "up", **app, BROKER_URL=url))
    assert (code, said.startswith("APPRENTICE_BROKER_URL: ")) == (WRONG, True), said


@pytest.mark.parametrize(
    ("name", "value"),
    [("MODEL_BASE_URL", "http://127.0.0.1:9/v1"), ("WORKER", "3"), ("WORKERS", "no")],
)
def test_wrong_setting(home: Path, name: str, value: str) -> None:
    """The worker looks at its settings before it takes a job, and names the wrong one."""
    code, said = line(start(home, "worker", **{name: value}))
    assert (code, f"APPRENTICE_{name}" in said) == (WRONG, True), said
