"""`apprentice up`: web, worker, sweeper and minting process, supervised on one machine.

Each process gets only its own settings: the web process the webhook secret, the minting process the App's private key.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import structlog

from bot.web.app import bound_sockets, required_secret
from memory.store import await_store
from workers.errors import CannotRun
from workers.settings import (
    PREFIX,
    MintSettings,
    Settings,
    SweeperSettings,
    WebSettings,
    WorkerSettings,
    child_environment,
)

TICK_SECONDS = 0.2
GRACE_SECONDS = 20.0
STEADY_SECONDS = 60.0
LONGEST_DELAY = 30.0
MAX_RESTARTS = 10
BAD_INPUT, TEMPORARY = 2, 75
_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]


class SupervisedProcess:
    """One process, restarted when it dies. `restarts` counts deaths since it last ran for STEADY_SECONDS."""

    def __init__(self, part: ProcessSpec) -> None:
        self.part = part
        self.restarts = 0
        self._begun = time.monotonic()
        self._due = 0.0
        self._process: subprocess.Popen[bytes] | None = _spawn(part)

    def restart_if_due(self) -> int | None:
        """Restart a dead process after its delay; returns the exit code once, right after a death."""
        if self._process is None:
            if time.monotonic() >= self._due:
                self._begun, self._process = time.monotonic(), _spawn(self.part)
            return None
        code = self._process.poll()
        if code is None:
            return None
        self._process = None
        waited = code == TEMPORARY  # for a database: as often as it takes
        self.restarts = self.restarts + 1 if time.monotonic() - self._begun < STEADY_SECONDS and not waited else 1
        wait = min(0.25 * 2**self.restarts, LONGEST_DELAY)
        self._due = time.monotonic() + wait
        _log.error("process died", name=self.part.name, exit_code=code, restarts=self.restarts, restart_in=wait)
        return code

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def terminate(self) -> None:
        if self._process is not None and self.runs:
            self._process.terminate()

    def kill(self) -> None:
        """Kill it and its session, which holds only its own children, if it still runs."""
        if self._process is not None and self.runs:
            _log.warning("process killed", name=self.part.name, pid=self._process.pid)
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def up(web: WebSettings, mint: MintSettings, say: Callable[[str], None]) -> int:
    """Run everything until SIGTERM or SIGINT; returns the exit code.

    Raises BadInput or CannotRun, before anything starts, without a webhook secret, an App or a free port, and StoreError where
    the database does not answer for `start_seconds`.
    """
    required_secret(web)
    _require_app(mint)
    port = _free_port(web.host, web.port)
    await_store(web.database(), seconds=web.start_seconds, report=_log.warning).close()
    address = f"http://{web.host}:{port}"
    ready = threading.Event()

    def report_when_ready() -> None:
        if not ready.is_set() and _answers(web.url(port)):
            ready.set()
            say(f"ready: {address} (webhooks at {address}/webhook)")

    return supervise(process_specs(port, with_app=bool(mint.app_id)), report_when_ready)


def process_specs(port: int, *, with_app: bool) -> tuple[ProcessSpec, ...]:
    """The processes of one machine, each with its own settings; without an App none mints tokens."""
    wanted: Mapping[str, type[Settings]] = {
        "serve": WebSettings,
        "worker": WorkerSettings,
        "sweep": SweeperSettings,
        "mint": MintSettings,
    }
    return tuple(
        ProcessSpec(
            name={"serve": "web", "sweep": "sweeper"}.get(command, command),
            command=(sys.executable, "-P", "-m", "bot.cli", command),
            environment=child_environment(kind) | ({f"{PREFIX}PORT": str(port)} if kind is WebSettings else {}),
        )
        for command, kind in wanted.items()
        if with_app or command != "mint"
    )


def supervise(wanted: Sequence[ProcessSpec], on_tick: Callable[[], None]) -> int:
    """Keep `wanted` running until SIGTERM or SIGINT, then end them; a second signal does not wait for their work.

    Calls `on_tick` every TICK_SECONDS. Returns 0 after a signal, 2 when a process exits with code 2 (bad input), 1 when
    one keeps dying.
    """
    ended, hurry = threading.Event(), threading.Event()

    def on_signal(*_: object) -> None:
        (hurry if ended.is_set() else ended).set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    children = [SupervisedProcess(part) for part in wanted]
    try:
        return _keep_running(children, ended, on_tick)
    finally:
        _end(children, hurry)
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep_running(children: Sequence[SupervisedProcess], ended: threading.Event, on_tick: Callable[[], None]) -> int:
    while not ended.wait(TICK_SECONDS):
        on_tick()
        for child in children:
            code = child.restart_if_due()
            if code == BAD_INPUT:
                return BAD_INPUT
            if child.restarts > MAX_RESTARTS:
                _log.error("process keeps dying", name=child.part.name, restarts=child.restarts)
                return 1
    return 0


def _end(children: Sequence[SupervisedProcess], hurry: threading.Event) -> None:
    for child in children:
        child.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    while any(child.runs for child in children) and time.monotonic() < deadline and not hurry.is_set():
        hurry.wait(TICK_SECONDS / 2)
    for child in children:
        child.kill()


def _spawn(part: ProcessSpec) -> subprocess.Popen[bytes]:
    """Start a child in its own session, so that Ctrl-C reaches only us; it dies with this process."""
    libc = ctypes.CDLL(None)

    def die_with_parent() -> None:
        if sys.platform == "linux":
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    try:
        return subprocess.Popen(  # noqa: S603  # our own interpreter and module
            part.command, env=dict(part.environment), start_new_session=True, preexec_fn=die_with_parent
        )
    except OSError as error:
        raise CannotRun(f"cannot start {part.name}: {error.strerror}") from error


def _require_app(mint: MintSettings) -> None:
    """Raise CannotRun without an App whose key is good, unless a minting process of another user answers here."""
    from workers.github.auth import check_app  # loads PyGithub
    from workers.github.minting import MintingClient

    if mint.app_id or not MintingClient(mint.socket()).is_there():
        check_app(mint)


def _free_port(host: str, port: int) -> int:
    """The port that the web process gets, one that is free for 0; raises CannotRun for a used one."""
    with ExitStack() as closed:
        first, *_ = (closed.enter_context(each) for each in bound_sockets(host, port))
        return int(first.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=1.0, trust_env=False).is_success
    except httpx.HTTPError:
        return False
