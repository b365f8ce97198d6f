"""A planted secret of each kind is found nowhere, whatever goes wrong: real processes, real git, a real database."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from bot.model_server.script import Script, ScriptedError, Turn
from bot.model_server.server import ModelServer
from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from tests.playground import Maintainer, Playground, fail
from tests.stories.modelled import ISSUE, TEST, mend
from tests.stories.pantry import FILES
from tests.stories.town import REPOSITORY, Town
from workers.redaction import own_secrets
from workers.settings import environment_with

WEBHOOK, MODEL, DATABASE = 'planted/web"hook+1 sécret', "planted-model-key-2", "planted/database+3"
PATIENCE_SECONDS = 900.0
QUIET_SECONDS = 6.0
NO_REDACTION = "import workers.redaction\nworkers.redaction.redact = lambda text: text\n"


def shapes(secret: str) -> frozenset[bytes]:
    """A secret as programs write it."""
    raw = secret.encode()
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")}
    texts |= {repr(secret)[1:-1], quote(secret), raw.hex()}
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + raw)
        inner = encoded[4 if before else 0 : len(encoded) - 4]
        texts |= {inner.decode(), inner.decode().replace("+", "-").replace("/", "_")}
    return frozenset(text.encode() for text in texts)


def echo(status: int) -> Callable[[PlaygroundRequest], PlaygroundResponse | None]:
    """An answer that repeats the token of the request, as careless servers and proxies do."""

    def hook(request: PlaygroundRequest) -> PlaygroundResponse | None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = base64.b64decode(given).decode().partition(":")[2] if scheme == "Basic" else given
        if not token.startswith("ghs_"):
            return None
        return fail(status, f"refused {scheme} {given} {token} {base64.b64encode(token.encode()).decode()}")(request)

    return hook


@dataclass
class Seen:
    """What of the running system can be read from outside, by place."""

    places: dict[str, bytes] = field(default_factory=dict)

    def add(self, place: str, text: bytes) -> None:
        self.places[place] = self.places.get(place, b"") + b"\n" + text

    def leaks(self, secrets: Mapping[str, str], allowed: Callable[[str, str], bool]) -> list[str]:
        """Where which secret is found, but for the places where it belongs."""
        wanted = {kind: shapes(secret) for kind, secret in secrets.items()}
        return sorted(
            f"{kind} in {place}: {next(shape for shape in forms if shape in text)!r}"
            for place, text in self.places.items()
            for kind, forms in wanted.items()
            if not allowed(kind, place) and any(shape in text for shape in forms)
        )


def belongs(kind: str, place: str) -> bool:
    """The process that needs a secret has it in its environment; no other place has one, and no argument list."""
    name, _, what = place.partition(" ")
    database = ("up", "serve", "storing_process", "worker", "sweep")
    holders = {"webhook": ("up", "serve"), "model": ("up", "worker"), "database": database}
    return what == "environ" and name in holders.get(kind, ())


def role(arguments: list[bytes]) -> str:
    """The command of one of our processes, the module of another Python, or a program's name."""
    if b"-m" in arguments[1:3]:
        module, command = arguments[arguments.index(b"-m") + 1 :][:2]
        return (command if module == b"bot.cli" else module.rpartition(b".")[2]).decode()
    return Path(arguments[0].decode(errors="replace")).name or "?"


@contextmanager
def watched(root: int, seen: Seen) -> Iterator[set[str]]:
    """Read arguments and environment of a process and all its descendants again and again; the names of those seen."""
    ended, names, known = threading.Event(), set[str](), set[tuple[int, bytes]]()

    def look() -> None:
        while not ended.wait(0.01):
            for pid in descendants(root):
                with suppress(OSError):
                    line = Path(f"/proc/{pid}/cmdline").read_bytes()
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                    if (pid, line) in known or not line:
                        continue
                    known.add((pid, line))
                    name = role(line.split(b"\0"))
                    names.add(name)
                    seen.add(f"{name} cmdline", line)
                    seen.add(f"{name} environ", environment)

    thread = threading.Thread(target=look, name="watch", daemon=True)
    thread.start()
    try:
        yield names
    finally:
        ended.set()
        thread.join()


def descendants(root: int) -> list[int]:
    found = [root]
    for pid in found:
        with suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def dump(url: str) -> bytes:
    """Every row of every table as text; bytes as hexadecimal digits and as they are."""
    pieces: list[bytes] = []
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'.encode()).fetchall():
                pieces += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    assert len(tables) >= 5
    return b"\n".join(pieces)


def settled(url: str) -> bool:
    """Whether no job is ready or at work."""
    with psycopg.connect(url) as connection:
        waiting = connection.execute("SELECT count(*) FROM jobs WHERE state IN ('ready', 'leased')").fetchone()
        done = connection.execute("SELECT count(*) FROM jobs").fetchone()
    return waiting == (0,) and done is not None and done[0] > 0


def wait_for(condition: Callable[[], bool], what: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what}:\n{log.read_text()[-3000:]}"
        time.sleep(0.1)


def played(home: Path, database: str, *, customised: str = "") -> tuple[Seen, dict[str, str], set[str]]:
    """Run everything with faults, and collect what can be seen; the secrets, and the names of the processes."""
    seen, log, scratch, added = Seen(), home / "log", home / "scratch", home / "added"
    state = home / "state"
    for place in (scratch, added, state):
        place.mkdir()
    (added / "sitecustomize.py").write_text(customised)
    turns = (Turn(error=ScriptedError(status=400, message=f"Incorrect API key provided: {MODEL}"), times=2), *mend())
    with Playground() as playground, ModelServer(Script(key=MODEL, turns=turns)) as model:
        for login in ("kitchen", "maya"):
            playground.add_user(login)
        playground.add_repository(REPOSITORY, FILES)
        playground.grant(REPOSITORY, "maya", "admin")
        app = playground.add_app("apprentice", owner="kitchen", webhook_secret=WEBHOOK)
        key = home / "app.pem"
        key.touch(mode=0o600)
        key.write_text(app.private_key)
        playground.observe(lambda request, _: seen.add("requests", request.path.encode() + b" " + request.body))
        environment = environment_with(
            home=state,
            port=0,
            webhook_secret=WEBHOOK,
            github_url=playground.url,
            app_id=app.id,
            private_key_file=key,
            database_url=database,
            model_base_url=model.url,
            model_api_key=MODEL,
            model="scripted",
            model_strategies='["model:minimal"]',
            embedder="words",
            control_share=0.0,
            learn_changes=0,
            workers=1,
            sweep_seconds=0.5,
            poll_seconds=3600.0,
            lease_seconds=6.0,
            budget_seconds=20.0,
        )
        environment |= {"TMPDIR": str(scratch), "PYTHONPATH": f"{added}:{Path(__file__).parents[2]}"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "bot.cli", "up"], env=environment, stdout=output, stderr=output
            )
        try:
            with watched(process.pid, seen) as names:
                wait_for(lambda: "ready: " in log.read_text(), "the start", log)
                playground.set_webhook(app, log.read_text().partition("ready: ")[2].split()[0] + "/webhook")
                playground.install(app, REPOSITORY)
                work(playground, database, log, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        installed = {value for value, token in playground.world.tokens.items() if token.installation}
        assert installed
        for request in model.requests:
            seen.add("prompts", request.prompt.encode())
    seen.add("log", log.read_bytes())
    seen.add("database", dump(database))
    for path in (*state.rglob("*"), *scratch.rglob("*")):
        if path.is_file():
            seen.add(f"file {path.name}", path.read_bytes())
    secrets = {"webhook": WEBHOOK, "model": MODEL, "database": DATABASE}
    secrets |= {f"key, line {number}": line for number, line in enumerate(app.private_key.splitlines()[1:-1])}
    return seen, secrets | {f"token {number}": value for number, value in enumerate(installed)}, names


def work(playground: Playground, database: str, log: Path, up: int) -> None:
    """A repair, a review and a question, among faults that repeat what they were sent."""
    maya = Maintainer(playground, "maya")
    playground.before("POST", r"/issues/\d+/comments", echo(422), nth=1)
    playground.before("POST", r"/pulls$", echo(502), nth=1)
    playground.before("POST", r"/check-runs$", echo(422), nth=1)
    playground.before("GET", r"\.git/info/refs$", echo(403), nth=2)
    number = maya.open_issue(REPOSITORY, ISSUE, TEST, ())
    maya.comment(REPOSITORY, number, "@apprentice ask what is on the shelf?")
    maya.push(REPOSITORY, "empty", {"pantry/empty.py": 'import os\n\n\ndef f():\n    return f"empty"\n'}, "Add")
    maya.open_pull(REPOSITORY, head="empty", title="Add", draft=False)
    time.sleep(1)
    workers = [pid for pid in descendants(up) if b"\0worker\0" in cmdline(pid)]
    for pid in workers[:1]:
        os.kill(pid, signal.SIGKILL)
    maya.comment(REPOSITORY, number, "@apprentice why nothing\n@apprentice fix")
    quiet = time.monotonic()
    deadline = quiet + PATIENCE_SECONDS
    while time.monotonic() - quiet < QUIET_SECONDS:
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.2)
        if not settled(database):
            quiet = time.monotonic()


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def database(migrated_postgresql_url: str) -> str:
    """The database's address with a password, which the test server does not ask for."""
    return migrated_postgresql_url.replace("postgres@", f"postgres:{quote(DATABASE, safe='')}@")


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.slow
def test_no_secret_is_found_anywhere(tmp_path: Path, database: str) -> None:
    """Not in argv, children's environments, logs, tracebacks, the database, files, requests to GitHub, or prompts."""
    seen, secrets, names = played(tmp_path, database)
    assert {"up", "serve", "storing_process", "worker", "sweep", "mint", "git", "bwrap"} <= names
    assert b"refused" in seen.places["log"]
    assert b"[secret removed]" in seen.places["database"]
    assert seen.leaks(secrets, belongs) == []


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.slow
def test_without_redaction_it_is_found(tmp_path: Path, database: str) -> None:
    """The same run finds tokens in the log and in the database once redaction is taken out."""
    seen, secrets, _ = played(tmp_path, database, customised=NO_REDACTION)
    places = {leak.partition(" in ")[2].partition(":")[0] for leak in seen.leaks(secrets, belongs)}
    assert {"log", "database"} <= places


def test_an_error_that_repeats_the_token(town: Town) -> None:
    """What GitHub answers is told to the user and kept with the job, without the token that it repeats."""
    town.playground.before("GET", r"/collaborators/", echo(422), nth=0)
    number = town.issue("A question", "About the shelf")
    town.say(number, "@apprentice why nothing")
    tokens = [value for value, token in town.playground.world.tokens.items() if token.installation]
    with town.context.store.database.reading() as connection:
        kept = str(connection.exec_driver_sql("SELECT reason FROM jobs").fetchall())
    assert "refused" in kept
    assert "[secret removed]" in kept
    said = "".join(each.body for each in town.answers(number))
    assert not [token for token in tokens for shape in shapes(token) if shape.decode() in kept + said]
    assert tokens
    assert own_secrets.removed_from(tokens[0]) == "[secret removed]"
