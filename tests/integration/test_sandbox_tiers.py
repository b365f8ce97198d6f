"""One contract for every sandbox: the same streams, limits, refusals and reports, whatever keeps the code from the host."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.command_line import SHOP, written
from tests.integration.test_sandbox_hostile import ATTACKS, QUICK, TIGHT, Host
from tests.integration.test_sandbox_hostile import host as host
from workers.errors import CannotRun, SandboxEnded
from workers.ports import CompletedRun, Ending, Limits, Sandbox, Workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.containers import LABEL, ContainerEngine, ContainerSandbox
from workers.sandbox.project import discover
from workers.sandbox.report import TestOutcome
from workers.sandbox.run_tests import run_tests
from workers.sandbox.tiers import open_sandbox, problems, sandbox_of
from workers.settings import SandboxTier, WorkerSettings, load

LIMITS = Limits(wall_seconds=60, memory_mb=256, disk_mb=16, processes=64)
PODMAN = os.environ.get("PODMAN", "")
DOCKER = " ".join(("docker", *(["--host", os.environ["DOCKER_HOST"]] if "DOCKER_HOST" in os.environ else [])))
"""The engine of DOCKER_HOST, as docker's own client understands it."""


@pytest.fixture(
    params=[
        pytest.param(tier, marks=[pytest.mark.sandbox, *([] if tier is SandboxTier.BUBBLEWRAP else [pytest.mark.slow])])
        for tier in SandboxTier
    ],
)
def tier(request: pytest.FixtureRequest) -> SandboxTier:
    """Each in turn."""
    found: SandboxTier = request.param
    return found


@pytest.fixture
def sandbox(tier: SandboxTier) -> Sandbox:
    """One that this machine does not have is skipped with what is missing."""
    made = sandbox_of(tier, {SandboxTier.BUBBLEWRAP: "", SandboxTier.PODMAN: PODMAN}.get(tier, DOCKER))
    if isinstance(made, ContainerSandbox):
        try:
            made.prepare()
            known = json.dumps(made.engine.information())
        except CannotRun as error:
            pytest.skip(f"no {tier} here: {error}")
        if made.engine.runtime and f'"{made.engine.runtime}"' not in known:
            pytest.skip(f"no {tier} here: the engine knows no runtime {made.engine.runtime}")
    return made


def workload(tree: Path, *command: str, limits: Limits = LIMITS, **given: object) -> Workload:
    return Workload(command=command, tree=tree, python=Path(sys.executable), limits=limits, **given)  # type: ignore[arg-type]


def left_over(sandbox: Sandbox) -> list[str]:
    """Containers that are still there."""
    if not isinstance(sandbox, ContainerSandbox):
        return []
    return sandbox.engine.asked("ps", "--all", "--quiet", "--filter", f"label={LABEL}").split()


SAY = """
import json, os, sys
print("out", open("given.txt").read(), open("added.txt").read(), os.path.exists("gone.txt"), flush=True)
print("err", file=sys.stderr, flush=True)
os.write(int(os.environ["APPRENTICE_REPORT_FD"]), json.dumps([os.getcwd(), sorted(os.environ)]).encode())
sys.exit(7)
"""


def test_streams_and_exit_code(sandbox: Sandbox, tmp_path: Path) -> None:
    """Output, errors and report arrive apart, with the exit code; the overlay counts, and nothing of our environment."""
    tree = written(tmp_path / "tree", {"part/given.txt": "given", "part/gone.txt": "x", "part/say.py": SAY})
    overlay = {"part/added.txt": b"added", "part/gone.txt": None}
    done = sandbox.run(workload(tree, "python", "say.py", overlay=overlay, env={"A": "b"}, directory="part"))
    assert (done.ending, done.exit_code) == (Ending.EXITED, 7), done.stderr
    assert (done.stdout, done.stderr) == ("out given added False\n", "err\n")
    where, names = json.loads(done.report)
    assert where == "/workspace/part"
    assert set(names) - {"LC_CTYPE", "PWD"} == {"A", "APPRENTICE_REPORT_FD", "HOME", "PATH", "TMPDIR"}
    assert sorted(path.name for path in (tree / "part").iterdir()) == ["given.txt", "gone.txt", "say.py"]
    assert left_over(sandbox) == []


def test_signals_come_out(sandbox: Sandbox, tmp_path: Path) -> None:
    """A command that a signal ends has 128 more than its number; one that is not there has 127."""
    assert sandbox.run(workload(tmp_path, "sh", "-c", "kill -TERM $$")).exit_code == 143
    missing = sandbox.run(workload(tmp_path, "not-a-command"))
    assert missing.exit_code == 127
    assert "sandbox: cannot start not-a-command" in missing.stderr


def test_the_self_test_holds(sandbox: Sandbox) -> None:
    """Every attack of the self-test fails."""
    assert problems(sandbox) == ()


OF_ENGINES = {
    "test_kernel_doors_in_proc",  # the engine shows /dev/null in the place of /proc/timer_list
    "test_programs_that_change_the_user",  # the engine's mounts heed the bits, and no_new_privs makes them void
}
HARMLESS: dict[SandboxTier, set[str]] = {
    SandboxTier.BUBBLEWRAP: set(),
    SandboxTier.DOCKER: OF_ENGINES,
    SandboxTier.PODMAN: OF_ENGINES  # it shows /sys and directories of its own, which cannot be written
    | {"test_control_groups", "test_other_directories_of_the_host", "test_system_tree"},
    SandboxTier.GVISOR: {  # what these reach is gVisor's own kernel, which ends with the container
        "test_block_devices",
        "test_calls_of_32_bits",
        "test_devices_of_the_checkout",
        "test_fill_memory",
        "test_low_ports",
        "test_make_a_device",
        "test_memory_map_of_the_first_process",
        "test_outlive_others_when_memory_is_short",
        "test_priority",
        "test_programs_that_change_the_user",
        "test_write_outside",
    },
}
"""Attacks that are let through, because something else makes them harmless."""


def test_every_attack_fails(sandbox: Sandbox, tier: SandboxTier, host: Host) -> None:
    """The whole list of attacks that bubblewrap holds against holds here too, and leaves no trace on the host."""
    own_kernel = tier is SandboxTier.GVISOR
    left_out = {"test_fork_without_end"} if own_kernel else set()
    if own_kernel:  # gVisor's kernel takes memory itself, and a fork bomb ends it, with the container
        attacks = host.repository / "test_attacks.py"
        attacks.write_text(attacks.read_text().replace("def test_fork_without_end", "def fork_without_end"))
    project = discover(host.repository, python=None, test_command=QUICK)
    report = run_tests(sandbox, project, limits=replace(TIGHT, memory_mb=2048) if own_kernel else TIGHT).report
    assert report.trouble == ""
    assert {result.id.partition("::")[2] for result in report.results} == set(ATTACKS) - left_out
    through = {result.id.partition("::")[2] for result in report.results if result.outcome is not TestOutcome.FAILED}
    assert through <= HARMLESS[tier]
    host.is_unharmed()


def test_reports_are_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    """Tests run under every sandbox with the same results as under bubblewrap: the protocol of the report is unchanged."""
    project = discover(written(tmp_path / "shop", SHOP), python=None, test_command=QUICK)
    results = [
        [(each.id, each.outcome, each.error_type) for each in run_tests(used, project, limits=LIMITS).report.results]
        for used in (Bubblewrap(), sandbox)
    ]
    assert results[0]
    assert results[1] == results[0]


def test_time_ends_a_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """A run that does not end is ended with all of its processes."""
    limits = Limits(wall_seconds=4, memory_mb=256, disk_mb=16)
    done = sandbox.run(workload(tmp_path, "sh", "-c", "sleep 9999 & sleep 9999", limits=limits))
    assert done.ending is Ending.WALL_TIME
    assert left_over(sandbox) == []


def test_memory_ends_a_run(sandbox: Sandbox, tier: SandboxTier, tmp_path: Path) -> None:
    """Processes that fill the memory together end the run, or one of them, and the ending says why."""
    fill = "import os, time\nfor _ in range(3): os.fork()\nheld = os.urandom(1 << 20) * 64\ntime.sleep(3)"
    done = sandbox.run(workload(tmp_path, "python", "-c", fill))
    assert done.ending in ({Ending.MEMORY, Ending.KILLED} if tier is SandboxTier.PODMAN else {Ending.MEMORY})


def test_files_are_limited(sandbox: Sandbox, tmp_path: Path) -> None:
    """More than the disk limit cannot be written, and nothing outside of the places to write."""
    script = "head -c 40000000 /dev/zero > big; stat -c %s big; touch /usr/x /x /etc/x 2>/dev/null; ls /x /usr/x /etc/x"
    done = sandbox.run(workload(tmp_path, "python", "-c", FILES))
    assert json.loads(done.report) == ["big", "/usr/x", "/x", "/etc/x"], script


FILES = """
import json, os
refused = []
try:
    with open("big", "wb") as big:
        for _ in range(40):
            big.write(bytes(1 << 20))
            big.flush()
except OSError:
    refused.append("big")
for path in ("/usr/x", "/x", "/etc/x"):
    try:
        open(path, "w")
    except OSError:
        refused.append(path)
os.write(int(os.environ["APPRENTICE_REPORT_FD"]), json.dumps(refused).encode())
"""


def test_a_flood_is_cut(sandbox: Sandbox, tmp_path: Path) -> None:
    """Output keeps its beginning and its end; a report without end ends the run."""
    limits = Limits(wall_seconds=60, memory_mb=256, disk_mb=16, output_kb=16, report_kb=64)
    noisy = "print('first'); print('x' * 300_000); print('last')"
    done = sandbox.run(workload(tmp_path, "python", "-c", noisy, limits=limits))
    assert (done.ending, done.exit_code) == (Ending.EXITED, 0)
    assert done.stdout.startswith("first\n")
    assert done.stdout.endswith("last\n")
    assert len(done.stdout) < 17_000
    endless = "import os\nwhile True: os.write(int(os.environ['APPRENTICE_REPORT_FD']), bytes(65536))"
    assert sandbox.run(workload(tmp_path, "python", "-c", endless, limits=limits)).ending is Ending.OUTPUT


ECHO = """
import os, sys
report = int(os.environ["APPRENTICE_REPORT_FD"])
for line in sys.stdin:
    if line == "end\\n":
        sys.exit(3)
    os.write(report, line.upper().encode())
"""


def test_a_session_answers(sandbox: Sandbox, tmp_path: Path) -> None:
    """Lines go in and answers come out, as long as it runs; leaving it leaves nothing."""
    with sandbox.session(workload(tmp_path, "python", "-c", ECHO)) as session:
        for word in (b"one", b"x" * 100_000):
            session.send(word)
            assert session.receive(30) == word.upper()
        session.send(b"end")
        with pytest.raises(SandboxEnded):
            session.receive(30)
    with sandbox.session(workload(tmp_path, "python", "-c", ECHO)) as session:
        session.send(b"two")
        assert session.receive(30) == b"TWO"
    assert left_over(sandbox) == []


def test_what_cannot_start_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    """A checkout that is gone, or larger than the disk limit, is one line."""
    with pytest.raises(CannotRun, match="gone"):
        sandbox.run(workload(tmp_path / "gone", "true"))
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    with pytest.raises(CannotRun, match="No space left on device"):
        sandbox.run(workload(tmp_path, "true"))
    assert left_over(sandbox) == []


WORKER = """
import sys
from pathlib import Path
from workers.ports import Workload
from workers.sandbox.tiers import sandbox_of
from workers.settings import SandboxTier
inside = "import os, time; os.write(int(os.environ['APPRENTICE_REPORT_FD']), bytes([10])); time.sleep(9999)"
workload = Workload(command=("python", "-c", inside), tree=Path(sys.argv[1]), python=Path(sys.executable))
with sandbox_of(SandboxTier(sys.argv[2]), sys.argv[3], sys.argv[4]).session(workload) as session:
    session.receive(60)
    print("started", flush=True)
    session.receive(600)
"""


def test_a_container_dies_with_its_worker(sandbox: Sandbox, tmp_path: Path) -> None:
    """When the worker is killed, no container goes on running."""
    if not isinstance(sandbox, ContainerSandbox):
        pytest.skip("of bubblewrap tests/integration/test_sandbox_runs.py shows it")
    engine = sandbox.engine
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), "docker", " ".join(engine.command), engine.runtime],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath},
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "started\n"
        worker.send_signal(signal.SIGKILL)
    running = ("ps", "--quiet", "--filter", f"label={LABEL}")
    wait_for(lambda: engine.asked(*running) == "")
    engine.asked("rm", "--force", *left_over(sandbox))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.1)


# ── Without an engine

FAKE = """#!/bin/sh
case "$3" in
    image) exit 0;;
    info) echo '{}';;
    run) for each in "$@"; do printf '%s\\n' "$each" >> HERE/arguments; done; echo "docker: no luck today." >&2; exit 125;;
    *) printf '%s\\n' "$*" >> HERE/others;;
esac
"""


def fake(place: Path) -> str:
    """A client that takes down how it is called, and starts nothing."""
    place.mkdir()
    program = place / "docker"
    program.write_text(FAKE.replace("HERE", str(place)))
    program.chmod(0o755)
    return f"{program} --host unix:///nowhere"


@pytest.mark.parametrize(
    ("tier", "runtime"), [(SandboxTier.DOCKER, ""), (SandboxTier.GVISOR, "runsc"), (SandboxTier.PODMAN, "")]
)
def test_how_an_engine_is_called(tier: SandboxTier, runtime: str, tmp_path: Path) -> None:
    """No network, no rights, a read-only root, limits, the files that bubblewrap shows and no others; the container is
    removed whatever happened."""
    place, tree = tmp_path / "engine", written(tmp_path / 'a "b", c', {"x.txt": "x"})
    sandbox = sandbox_of(tier, fake(place))
    with pytest.raises(CannotRun, match=r"the sandbox could not be set up: docker: no luck today\."):
        sandbox.run(workload(tree, "true"))
    host, _, run, *given = (place / "arguments").read_text().splitlines()
    assert (host, run) == ("--host", "run")
    start = given.index("apprentice-sandbox:1")
    pairs = list(itertools.pairwise(given))
    for pair in (
        ("--network", "none"),
        ("--user", "0:0"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--ipc", "private"),
        ("--cgroupns", "private"),
        ("--pull", "never"),
        ("--log-driver", "none"),
        ("--memory", "256m"),
        ("--memory-swap", "256m"),
        ("--pids-limit", "576" if runtime else "72"),
        ("--tmpfs", "/workspace:rw,exec,nosuid,nodev,mode=1777,size=16m"),
    ):
        assert pair in pairs
    assert "--read-only" in given
    assert [value for name, value in pairs if name == "--runtime"] == ([runtime] if runtime else [])
    assert [value for name, value in pairs if name == "--cap-add"] == [
        "CHOWN",
        "DAC_READ_SEARCH",
        "SETGID",
        "SETPCAP",
        "SETUID",
    ]
    assert not {"--privileged", "--device", "--volume", "-v", "--env", "-e", "--pid", "--userns"} & set(given)
    mounted = [value for name, value in pairs if name == "--mount"]
    assert all(value.startswith('"type=bind","source=') and value.endswith(',"readonly"') for value in mounted)
    escaped = str(tree).replace('"', '""')
    assert f'"type=bind","source={escaped}","target=/run/apprentice/private/source","readonly"' in mounted
    assert given[start + 1 :] == ["-I", "-S", "/run/apprentice/container_init.py"]
    assert any(
        line.endswith(f"rm --force {dict(pairs)['--name']}") for line in (place / "others").read_text().splitlines()
    )


def test_the_same_files_as_bubblewrap(tmp_path: Path) -> None:
    """Bubblewrap and a container get the same paths of the host."""
    from workers.sandbox.bubblewrap import file_systems
    from workers.sandbox.containers import INIT, PRIVATE, mounts

    work = workload(tmp_path, "true")
    lines = list(file_systems(work))
    bound = {target for word, _, target in zip(lines, lines[1:], lines[2:], strict=False) if word == "--ro-bind"}
    (tmp_path / "place").mkdir()
    words = list(mounts(work, tmp_path / "place", 1000, podman=False))
    values = [value for name, value in itertools.pairwise(words) if name == "--mount"]
    targets = {value.split('"target=')[1].split('"')[0] for value in values}
    instead = {"/dev/zero", "/etc/resolv.conf", "/etc/hostname"}  # of what an engine itself would show
    generated = instead | {
        str(INIT),
        f"{PRIVATE}/source",
        "/etc/passwd",
        "/etc/group",
        "/etc/hosts",
        "/etc/nsswitch.conf",
    }
    assert {each for each in targets - bound if not each.startswith("/run/apprentice/")} <= generated
    assert bound - targets == set()


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("/nowhere/docker", "/nowhere/docker is not installed: install it, or set APPRENTICE_SANDBOX=bubblewrap"),
        ("/bin/false", "/bin/false info failed: no reason given"),
    ],
)
def test_without_an_engine_nothing_runs(engine: str, reason: str) -> None:
    """The refusal is one line with what to do; no other sandbox is taken instead."""
    with pytest.raises(CannotRun) as refused:
        open_sandbox(load(WorkerSettings, sandbox=SandboxTier.DOCKER, sandbox_engine=engine))
    assert str(refused.value).startswith(f"no sandbox: {reason}; or, for repositories you trust fully")


class Leaky(Bubblewrap):
    """Bubblewrap, with the directories of the host's files for all to read."""

    def run(self, workload: Workload) -> CompletedRun:
        return super().run(replace(workload, read_only=(Path(json.loads(workload.command[-1])["secret"]).parent,)))


@pytest.mark.sandbox
def test_a_sandbox_that_does_not_hold_is_refused() -> None:
    """An attack of the self-test that succeeds is a problem, by name."""
    assert problems(Leaky()) == ("the sandbox does not hold: read a secret of the host",)


def test_engines_are_found() -> None:
    """A tier's engine is the program of that name, with the options that are given."""
    made = sandbox_of(SandboxTier.GVISOR, "sh --host x")
    assert isinstance(made, ContainerSandbox)
    assert made.engine == ContainerEngine((str(shutil.which("sh")), "--host", "x"), "runsc")
