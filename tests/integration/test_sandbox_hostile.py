"""A malicious repository: every attack of its tests fails, the report says how, and the host is unharmed."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.integration.hostile.bombs import MEMORY, OTHERS
from workers.ports import Ending, Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.report import TestOutcome
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

HOSTILE = Path(__file__).with_name("hostile")
FILES = ("attacks.py", "file_attacks.py", "process_attacks.py")
ATTACKS = sorted(
    node.name
    for name in FILES
    for node in ast.parse((HOSTILE / name).read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
)
QUICK_BOMBS = (
    "shared memory that no process maps now",
    "page tables",
    "local sockets",
    "directories",
    "kill everything",
)
"""A memory bomb of each kind that no counter of resident memory shows, and one of the others."""

ENDINGS = (Ending.MEMORY, Ending.EXITED, Ending.KILLED)
"""Of a memory bomb: the limit ends it, or it fails by itself for want of memory."""

QUICK = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
TIGHT = Limits(wall_seconds=90, memory_mb=384, processes=64, disk_mb=24)
SYSTEM_PYTHON = Path("/usr/bin/python3")
SOMEBODY = 4711
USERS = {
    "ourselves": [],
    "an ordinary user": ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", "--inh-caps=-all"],
}
WITHOUT_WALLS = (
    "test_abstract_socket_of_the_host",
    "test_be_traced",
    "test_environment_of_any_process",
    "test_handle_of_the_supervisor",
    "test_host_by_its_other_addresses",
    "test_host_processes",
    "test_keys",
    "test_large_shared_memory",
    "test_listener_of_the_host",
    "test_memory_beside_the_limits",
    "test_name_of_the_machine",
    "test_other_directories_of_the_host",
    "test_queue_of_the_host",
    "test_secret_by_climbing",
    "test_secret_file",
    "test_secret_through_a_link",
    "test_secret_through_another_root",
    "test_shared_mapping_of_zeros",
    "test_shared_memory_of_the_host",
    "test_socket_file_of_the_host",
    "test_system_tree",
    "test_system_v_objects",
    "test_variables_left_over",
    "test_what_the_copy_leaves_out",
)
"""Attacks that harm nobody and succeed for any user of an ordinary machine."""


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
        (directory / "door").chmod(0o666)
        listeners = [_listen(listener, found.hits) for listener in (tcp, abstract, named)]
        with _bait_in_the_kernel(found) as bait:
            _plant(found, {**bait, "port": tcp.getsockname()[1]})
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


@contextmanager
def _bait_in_the_kernel(host: Host) -> Iterator[dict[str, object]]:
    """What others on the host share: memory, a queue and semaphores."""
    libc, queue, key = ctypes.CDLL(None), f"/bait-{host.token}", int(host.token) % 2**31
    memory = Path("/dev/shm", f"bait-{host.token}")
    memory.write_text(host.secret)
    opened = libc.mq_open(queue.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    semaphores = libc.semget(key, 1, 0o1666)
    try:
        yield {"shared_memory": str(memory), "queue": queue, "key": key}
    finally:
        memory.unlink()
        libc.mq_unlink(queue.encode())
        os.close(opened)
        libc.semctl(semaphores, 0, 0)


def _plant(host: Host, bait: dict[str, object]) -> None:
    """The malicious repository."""
    bait |= {
        "secret": host.secret,
        "directory": str(host.directory),
        "repository": str(host.repository),
        "secret_file": str(host.directory / "secret.txt"),
        "homes": ["/root", "/home", str(Path.home())],
        "abstract": f"bait-{host.token}",
        "socket_file": str(host.directory / "door"),
        "daemon_sleep": f"9999.{host.token}",
        "supervisor": os.getpid(),
        "hostname": socket.gethostname(),
        "addresses": sorted({str(info[4][0]) for info in socket.getaddrinfo("localhost", None)} | {"127.0.0.1"}),
        "shown": [str(Path("/", *path.parts[1:2])) for path in (Path(sys.prefix), Path(sys.base_prefix))],
    }
    for name in FILES:
        shutil.copy(HOSTILE / name, host.repository / f"test_{name}")
    shutil.copy(HOSTILE / "bait.py", host.repository)
    (host.repository / "bait.json").write_text(json.dumps(bait))
    (host.repository / "linked-file").symlink_to(host.directory / "secret.txt")
    (host.repository / "linked-directory").symlink_to(host.directory)
    (host.repository / ".git").mkdir()
    (host.repository / ".git" / "config").write_text(host.secret)
    os.mkfifo(host.repository / "pipe")
    if os.geteuid() == 0:
        os.mknod(host.repository / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))


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


def test_there_are_enough_attacks() -> None:
    """A name each, and at least sixty of them beside the bombs."""
    assert len(set(ATTACKS)) == len(ATTACKS) >= 60
    assert len(MEMORY) + len(OTHERS) >= 30


def _as(user: str, host: Host, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """What hostile/runs.py prints for a user."""
    if USERS[user] and (os.geteuid() != 0 or not SYSTEM_PYTHON.exists()):
        pytest.skip("becoming an ordinary user needs root")
    _open_up(host.repository)
    python = SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable)
    done = subprocess.run(
        [*USERS[user], str(python), "-B", str(HOSTILE / "runs.py"), *arguments],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "DEPLOY_KEY": host.secret, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("user", USERS)
def test_every_attack_fails_for_every_user(host: Host, user: str) -> None:
    """The attacks fail in a process each, whether the worker is root or builds the sandbox of user namespaces."""
    ended = _as(user, host, "attacks", str(host.repository))
    assert sorted(ended) == ATTACKS
    assert [name for name, end in ended.items() if end == "succeeded"] == []
    host.is_unharmed()


def test_attacks_succeed_without_walls(host: Host) -> None:
    """The battery can tell: what harms nobody succeeds for an ordinary process of the same host."""
    user = "an ordinary user" if os.geteuid() == 0 else "ourselves"
    ended = _as(user, host, "plainly", str(host.repository), *WITHOUT_WALLS)
    assert {name: end for name, end in ended.items() if end != "succeeded"} == {}
    assert sorted(ended) == sorted(WITHOUT_WALLS)


def _bombs() -> Iterator[Any]:
    """Each bomb for each user; all but a few are extended."""
    for user in USERS:
        for name in (*MEMORY, *OTHERS):
            quick = user == "ourselves" and name in QUICK_BOMBS
            yield pytest.param(user, name, marks=() if quick else pytest.mark.extended)


@pytest.mark.parametrize(("user", "name"), list(_bombs()))
def test_every_bomb_ends(host: Host, user: str, name: str) -> None:
    """No run holds twice its memory for long, by whatever means, and what ends it is what it used up."""
    ending, report, errors = _as(user, host, "bomb", name)
    assert "through" not in report
    assert ending == OTHERS[name][1] if name in OTHERS else ending in ENDINGS, errors
    host.is_unharmed()


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.parametrize("user", (0, SOMEBODY), ids=USERS)
def test_with_a_control_group_every_attack_fails_and_the_kernel_ends_every_bomb(
    host: Host, tmp_path: Path, user: int
) -> None:
    """In a machine of our own, where a group is delegated as systemd does it; no group is left over."""
    program = shutil.which("linux.uml")
    if program is None or os.geteuid() != 0:
        pytest.skip(
            "User Mode Linux is not installed (Debian: apt install user-mode-linux), or the tests do not run as root"
        )
    _open_up(host.repository)
    machine = [
        program,
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "mem=1500M",
        "con=null",
        "con0=null,fd:1",
    ]
    words = [str(SYSTEM_PYTHON), "-B", str(HOSTILE / "boot.py"), str(user), str(host.repository)]
    done = subprocess.run(
        [*machine, "loglevel=1", f"init={words[0]}", "--", *words[1:], ",".join(QUICK_BOMBS).replace(" ", "_")],
        env={"TMPDIR": "/dev/shm", "HOME": str(host.repository.parent), "PATH": os.defpath, **_all_registers(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    before, _, found = done.stdout.partition("RESULT ")
    assert found, before[-2000:]
    said = json.loads(found.splitlines()[0])
    assert said["used"] == f"/sys/fs/cgroup/service-{user}"
    assert sorted(said["attacks"]) == ATTACKS
    succeeded = [name for name, end in said["attacks"].items() if end == "succeeded"]
    assert succeeded in ([], ["test_calls_of_32_bits"]), "User Mode Linux has one table of calls only"
    endings = {name: Ending(ending) for name, (ending, _, _) in said["bombs"].items()}
    assert {report for _, report, _ in said["bombs"].values()} == {""}, endings
    assert endings.pop("directories") in ENDINGS, "a small machine has few inodes"
    assert list(endings.values()) == [*[Ending.MEMORY] * 3, Ending.KILLED]
    assert said["left"] == []
    host.is_unharmed()


def _all_registers(directory: Path) -> dict[str, str]:
    """What lets that machine start on a processor newer than its kernel."""
    compiler, library = shutil.which("cc"), directory / "registers.so"
    if compiler is None and "amx_tile" in Path("/proc/cpuinfo").read_text():
        missing("a C compiler: User Mode Linux needs a library of ours to start on this processor")
    if compiler is None:
        return {}
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HOSTILE / "registers.c"], check=True)
    return {"LD_PRELOAD": str(library)}


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
    assert _run(host, code, Limits(wall_seconds=60, report_kb=256)) == (Ending.OUTPUT, "Crash")


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
