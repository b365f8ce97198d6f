"""A malicious repository: every attack of its tests fails, the report says how, and the host is unharmed."""

from __future__ import annotations

import ast
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from workers.ports import Ending, Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.report import TestOutcome
from workers.sandbox.run_tests import discover, run_tests

pytestmark = pytest.mark.sandbox

HOSTILE = Path(__file__).with_name("hostile") / "attacks.py"
AS_SOMEBODY = HOSTILE.with_name("as_somebody.py")
ATTACKS = sorted(
    node.name
    for node in ast.parse(HOSTILE.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
)
QUICK = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
TIGHT = Limits(wall_seconds=90, memory_mb=384, processes=64, disk_mb=24)
SYSTEM_PYTHON = Path("/usr/bin/python3")
SOMEBODY = 4711


@dataclass
class Host:
    """What there is to steal, hit or break, and what happened to it."""

    directory: Path
    repository: Path
    secret: str
    token: str
    hits: list[str] = field(default_factory=list)

    def daemons(self) -> list[str]:
        """Command lines of processes that carry our token."""
        lines = [_command_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
        return [line for line in lines if self.token in line and "sleep" in line]

    def is_unharmed(self) -> None:
        """No process, no file, no visit."""
        assert self.daemons() == []
        assert self.hits == []
        assert sorted(path.name for path in self.directory.iterdir()) == ["door", "secret.txt"]
        assert not list(Path("/").glob("apprentice-was-here"))
        assert not list(Path("/usr").glob("**/apprentice-was-here"))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host with bait in its environment, its files and on its loopback."""
    token = str(uuid.uuid4().int % 10**12)
    directory, repository = tmp_path / "host", tmp_path / "repository"
    directory.mkdir()
    repository.mkdir()
    found = Host(directory, repository, f"secret-{token}", token)
    monkeypatch.setenv("DEPLOY_KEY", found.secret)
    (directory / "secret.txt").write_text(found.secret)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        abstract.bind(f"\0bait-{token}")
        named.bind(str(directory / "door"))
        for listener in (abstract, named):
            listener.listen()
        listeners = [_listen(listener, found.hits) for listener in (tcp, abstract, named)]
        _plant(found, tcp.getsockname()[1])
        yield found
        for listener in (tcp, abstract, named):
            listener.shutdown(socket.SHUT_RDWR)
        for thread in listeners:
            thread.join()


def _listen(listener: socket.socket, hits: list[str]) -> threading.Thread:
    def answer() -> None:
        try:
            while True:
                connection, peer = listener.accept()
                connection.close()
                hits.append(repr(peer))
        except OSError:
            return

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def _plant(host: Host, port: int) -> None:
    """The malicious repository."""
    bait = {
        "secret": host.secret,
        "directory": str(host.directory),
        "secret_file": str(host.directory / "secret.txt"),
        "homes": ["/root", "/home", str(Path.home())],
        "port": port,
        "abstract": f"bait-{host.token}",
        "socket_file": str(host.directory / "door"),
        "daemon_sleep": f"9999.{host.token}",
    }
    shutil.copy(HOSTILE, host.repository / "test_attacks.py")
    (host.repository / "bait.json").write_text(json.dumps(bait))
    (host.repository / "linked-file").symlink_to(host.directory / "secret.txt")
    (host.repository / "linked-directory").symlink_to(host.directory)


def _command_line(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_every_attack_fails_and_is_reported(host: Host) -> None:
    """Each attack of a malicious repository fails with a reported reason, and leaves no trace on the host."""
    project = discover(host.repository, python=None, test_command=QUICK)
    report = run_tests(Bubblewrap(), project, limits=TIGHT).report
    assert report.trouble == ""
    assert {result.id.partition("::")[2] for result in report.results} == set(ATTACKS)
    assert [result.id for result in report.results if result.outcome is not TestOutcome.FAILED] == []
    assert [result.id for result in report.results if not result.error_type] == []
    host.is_unharmed()


@pytest.mark.skipif(os.geteuid() != 0 or not SYSTEM_PYTHON.exists(), reason="becoming somebody else needs root")
def test_every_attack_fails_for_an_ordinary_user(host: Host) -> None:
    """The same attacks fail when the worker is an ordinary user and the sandbox is made of user namespaces."""
    become = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", "--inh-caps=-all"]
    checkout = Path(__file__).parents[2]
    _open_up(host.repository)
    done = subprocess.run(
        [*become, str(SYSTEM_PYTHON), "-B", str(AS_SOMEBODY), str(host.repository)],
        env={"PYTHONPATH": str(checkout), "DEPLOY_KEY": host.secret, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = dict(json.loads(line) for line in done.stdout.splitlines() if line)
    assert sorted(said) == ATTACKS, done.stderr
    assert [name for name, ending in said.items() if ending == "succeeded"] == []
    host.is_unharmed()


@pytest.mark.parametrize("planted", ["home", "link", "whole"])
def test_a_planted_environment_opens_nothing(host: Host, tmp_path: Path, planted: str) -> None:
    """A committed `.venv` that names a neighbour's real environment, however it does so, shows no file of the neighbour's."""
    neighbour, place = tmp_path / "neighbour", host.repository / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", neighbour], check=True)
    (neighbour / "secret.txt").write_text(host.secret)
    if planted == "whole":
        place.symlink_to(neighbour)
    else:
        (place / "bin").mkdir(parents=True)
        home = neighbour / "bin" if planted == "home" else Path(sys.executable).resolve().parent
        (place / "pyvenv.cfg").write_text(f"home = {home}\n")
        (place / "bin" / "python").symlink_to(neighbour / "bin" / "python" if planted == "link" else sys.executable)
    code = f"def test_attack(): assert open({str(neighbour / 'secret.txt')!r}).read()\n"
    (host.repository / "test_attacks.py").write_text(code)
    as_the_app = discover(host.repository, python=None, test_command=QUICK)
    for project in (as_the_app, replace(as_the_app, python=place / "bin" / "python")):
        completed = run_tests(Bubblewrap(), project, limits=Limits(wall_seconds=30)).completed
        assert completed.exit_code != 0
        assert host.secret not in completed.stdout + completed.stderr


def _open_up(path: Path) -> None:
    """Let an ordinary user reach a directory of pytest's, which are root's alone."""
    for folder in (path, *path.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)


def _run(host: Host, code: str, limits: Limits) -> tuple[Ending, str]:
    (host.repository / "test_attacks.py").write_text(textwrap.dedent(code))
    project = discover(host.repository, python=None, test_command=QUICK)
    run = run_tests(Bubblewrap(), project, limits=limits)
    results = {result.id: result.error_type for result in run.report.results}
    assert not run.report.complete
    assert run.report.trouble
    return run.completed.ending, results["test_attacks.py::test_attack"]


def test_a_fork_bomb_ends_at_the_time_limit(host: Host) -> None:
    """Processes that fork without end and without pause are all dead when the run returns."""
    code = f"""
        import os, subprocess
        def test_attack():
            subprocess.Popen(["sleep", "9999.{host.token}"])
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
    """
    assert _run(host, code, Limits(wall_seconds=6, processes=48, memory_mb=2048)) == (Ending.WALL_TIME, "Timeout")
    host.is_unharmed()


def test_memory_filled_by_many_processes_ends_the_run(host: Host) -> None:
    """Each process stays under the cap, all together do not: the run ends, and says that memory was the reason."""
    code = """
        import os, time
        def test_attack():
            for _ in range(20):
                if os.fork() == 0:
                    held = bytearray(os.urandom(1 << 20)) * 64
                    time.sleep(60)
            time.sleep(60)
    """
    assert _run(host, code, Limits(wall_seconds=60, processes=48, memory_mb=300)) == (Ending.MEMORY, "MemoryError")


def test_computing_without_end_ends_at_the_processor_limit(host: Host) -> None:
    """Processor time is counted over all processes."""
    code = """
        import os
        def test_attack():
            os.fork()
            while True:
                pass
    """
    assert _run(host, code, Limits(wall_seconds=60, cpu_seconds=4)) == (Ending.CPU_TIME, "Timeout")


def test_a_test_that_kills_its_runner_is_a_crash(host: Host) -> None:
    """What ran when pytest was killed has failed with a crash."""
    code = """
        import os, signal
        def test_attack():
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert _run(host, code, TIGHT) == (Ending.KILLED, "Crash")


def test_a_flood_of_output_ends_the_run(host: Host) -> None:
    """A report without end is cut at its cap."""
    code = """
        import os
        def test_attack():
            descriptor = next(int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2 and "pipe" in os.readlink("/proc/self/fd/" + name))
            while True:
                os.write(descriptor, b"x" * 65536)
    """
    assert _run(host, code, Limits(wall_seconds=60, output_kb=256)) == (Ending.OUTPUT, "Crash")


def test_output_is_clipped_in_the_middle(tmp_path: Path) -> None:
    """A noisy command runs on; of what it wrote the beginning and the end are kept."""
    command = ("python", "-c", "print('first'); print('x' * 300_000); print('last')")
    workload = Workload(
        command=command, tree=tmp_path, python=Path(sys.executable), limits=Limits(output_kb=16, wall_seconds=60)
    )
    done = Bubblewrap().run(workload)
    assert (done.ending, done.exit_code) == (Ending.EXITED, 0)
    assert done.stdout.startswith("first\n")
    assert done.stdout.endswith("last\n")
    assert "bytes left out" in done.stdout
    assert len(done.stdout) < 17_000
