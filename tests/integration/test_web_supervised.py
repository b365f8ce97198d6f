"""The supervisor keeps its own children running, ends them, and tells each only what it must know."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bot.playground.auth import make_key
from bot.processes import process_specs, up
from workers.errors import BadInput
from workers.settings import MintSettings, WebSettings

pytestmark = pytest.mark.extended

PATIENCE = 900.0

SUPERVISE = """
import os, sys
from bot.processes import ProcessSpec, supervise
parts = [
    ProcessSpec(name=str(number), command=[sys.executable, "-c", program], environment=os.environ)
    for number, program in enumerate(sys.argv[1:])
]
sys.exit(supervise(parts, lambda: None))
"""
LIVE = "import os, time; open('pids', 'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LIVE}"


@contextmanager
def supervised(home: Path, *programs: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SUPERVISE, *programs], cwd=home)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pid in filter(runs, pids(home)):
            os.kill(pid, signal.SIGKILL)


def pids(home: Path) -> list[int]:
    path = home / "pids"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def test_restarts_what_dies(tmp_path: Path) -> None:
    """A child that dies is started again, the other one left alone; SIGTERM ends both."""
    with supervised(tmp_path, LIVE, LIVE) as process:
        wait_for(lambda: len(pids(tmp_path)) == 2)
        victim, other = pids(tmp_path)
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: len(pids(tmp_path)) == 3)
        assert runs(other)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not any(runs(pid) for pid in pids(tmp_path))


def test_bad_input_is_final(tmp_path: Path) -> None:
    """A child that says that its settings are wrong is not started again: everything ends with its exit code."""
    with supervised(tmp_path, LIVE, "import sys; sys.exit(2)") as process:
        assert process.wait(PATIENCE) == 2
        assert not any(runs(pid) for pid in pids(tmp_path))


def test_temporary_ends_do_not_count(tmp_path: Path) -> None:
    """A child that waits for its database is started again as often as it takes, without growing delays."""
    waits = "import sys; open('pids', 'a').write('1\\n'); sys.exit(75)"
    with supervised(tmp_path, waits) as process:
        wait_for(lambda: len(pids(tmp_path)) > 11)
        assert process.poll() is None


def test_stubborn_child(tmp_path: Path) -> None:
    """A child that does not end when asked is killed when the second signal says that there is no time."""
    with supervised(tmp_path, STUBBORN) as process:
        wait_for(lambda: len(pids(tmp_path)) == 1)
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert not runs(pids(tmp_path)[0])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child of its parent's death")
def test_supervisor_killed(tmp_path: Path) -> None:
    """Children do not outlive a supervisor that was killed."""
    with supervised(tmp_path, LIVE) as process:
        wait_for(lambda: len(pids(tmp_path)) == 1)
        process.kill()
        wait_for(lambda: not runs(pids(tmp_path)[0]))


def test_each_knows_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The webhook secret reaches the web process alone, the App's key the minting process, the model's key the worker."""
    given = {
        "HOME": str(tmp_path),
        "WEBHOOK_SECRET": "s3cret",
        "PRIVATE_KEY_FILE": "/keys/app.pem",
        "APP_ID": "7",
        "MODEL_API_KEY": "the model's",
        "POLL_SECONDS": "9",
        "GITHUB_URL": "http://github",
        "DATABASE_URL": "postgresql://us:password@db/apprentice",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"APPRENTICE_{name}", value)
    specs = process_specs(8080, with_app=True)
    seen = {
        part.name: {name.removeprefix("APPRENTICE_") for name in part.environment if name.startswith("APPRENTICE_")}
        for part in specs
    }
    assert seen == {
        "web": {"HOME", "PORT", "WEBHOOK_SECRET", "DATABASE_URL"},
        "worker": {"HOME", "GITHUB_URL", "MODEL_API_KEY", "DATABASE_URL"},
        "sweeper": {"HOME", "POLL_SECONDS", "DATABASE_URL"},
        "mint": {"HOME", "GITHUB_URL", "APP_ID", "PRIVATE_KEY_FILE"},
    }
    assert all(part.environment["PATH"] == os.environ["PATH"] for part in specs)
    assert [part.name for part in process_specs(8080, with_app=False)] == ["web", "worker", "sweeper"]


def test_no_secret(tmp_path: Path) -> None:
    """Without a webhook secret nothing is started."""
    with pytest.raises(BadInput, match="APPRENTICE_WEBHOOK_SECRET"):
        up(WebSettings(home=tmp_path), MintSettings(home=tmp_path), print)


def test_whole_machine(tmp_path: Path) -> None:
    """`apprentice up` says when it is ready, restarts a web process that was killed, and ends on SIGTERM.

    `/readyz` finds the heartbeats of its worker and its sweeper.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    key = tmp_path / "key.pem"
    key.write_text(make_key()[0])
    environment = {
        **os.environ,
        "APPRENTICE_HOME": str(tmp_path),
        "APPRENTICE_APP_ID": "7",
        "APPRENTICE_PRIVATE_KEY_FILE": str(key),
        "APPRENTICE_WEBHOOK_SECRET": "s3cret",
        "APPRENTICE_PORT": port,
    }
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "up"], env=environment, stdout=output, stderr=output
        )
    try:
        wait_for(lambda: "ready: http://127.0.0.1:" in log.read_text())
        web = child(process.pid, "serve")
        os.kill(web, signal.SIGKILL)
        wait_for(lambda: answers(port) and not runs(web))
        wait_for(lambda: answers(port, "readyz"))
        process.terminate()
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def child(pid: int, command: str) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (found,) = (
        int(one) for one in children if command.encode() in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
    )
    return found


def answers(port: str, path: str = "healthz") -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/{path}").status_code == 200
    except httpx.TransportError:
        return False
