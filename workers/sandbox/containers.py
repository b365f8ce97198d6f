"""The sandbox of a container engine: Docker, Podman, or Docker with gVisor's runtime. It shows the same files as bubblewrap.

The image is empty but for directories and links. Everything else is mounted for each run: the host's system and the
interpreters read-only, and limited memory to write to. The command runs as a user without rights, under the engine's
system-call filter and ours. A control group of the engine's limits memory and processes.
"""

import base64
import io
import json
import os
import secrets
import shlex
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workers.errors import CannotRun
from workers.ports import Workload
from workers.sandbox import bubblewrap, launcher, seccomp
from workers.sandbox.launching import HIDDEN, WORKSPACE, Descriptors, await_ready, process_tree, spawned
from workers.sandbox.supervise import ProcessTree, TreeSandbox

IMAGE = "apprentice-sandbox:1"
LABEL = "apprentice-sandbox"
PRIVATE = bubblewrap.INSIDE / "private"
INIT = bubblewrap.INSIDE / "container_init.py"
RELAY = Path(__file__).with_name("container_relay.py")
REPORT = 3
"""The descriptor of the report, inside."""

BESIDE_THE_COMMAND = 8
"""Processes and threads of our first process, and of the runtime in the container's group."""

OF_A_KERNEL = 512
"""Threads of a runtime with a kernel of its own, as gVisor: it needs several for each processor and process."""

ENGINE_SECONDS = 20.0
LAST_USER, USERS = 65_000, 40_000
"""Where the engine maps users, only so many are mapped, so the user of a run is among these."""


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """An engine's client with its options, and the runtime that it is asked for; empty: its own."""

    command: tuple[str, ...]
    runtime: str = ""

    def call(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a command of the client to its end; raises CannotRun when it is not there or does not end."""
        try:
            return subprocess.run(  # noqa: S603  the operator's command, our arguments
                [*self.command, *arguments],
                input=given,
                env={},
                capture_output=True,
                timeout=ENGINE_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise CannotRun(
                f"{self.command[0]} is not installed: install it, or set APPRENTICE_SANDBOX=bubblewrap"
            ) from None
        except subprocess.TimeoutExpired:
            raise CannotRun(f"{self.command[0]} {arguments[0]} does not end; is the engine well?") from None

    def asked(self, *arguments: str, given: bytes = b"") -> str:
        """The output of a command that succeeds; raises CannotRun with the client's reason."""
        done = self.call(*arguments, given=given)
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise CannotRun(f"{shlex.join(self.command)} {arguments[0]} failed: {reason[-1]}")
        return done.stdout.decode(errors="replace").strip()

    def information(self) -> dict[str, Any]:
        """What the engine says of itself. Raises CannotRun where it does not answer."""
        answer = self.asked("info", "--format", "{{json .}}")
        try:
            return dict(json.loads(answer))
        except ValueError:
            raise CannotRun(f"{shlex.join(self.command)} info is not JSON; is it a container engine?") from None


@dataclass(frozen=True, slots=True)
class ContainerGroup:
    """What the engine knows of a container's control group."""

    engine: ContainerEngine
    name: str

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel ended a process of the container because it reached its limit."""
        return self.engine.call("inspect", "--format", "{{.State.OOMKilled}}", self.name).stdout.strip() == b"true"

    def kill(self) -> None:
        """Kill the container. The engine would wait for a client that still runs."""
        self.engine.call("kill", self.name)

    def remove(self) -> None:
        """Kill what is left, and remove the container."""
        self.engine.call("rm", "--force", self.name)


class ContainerSandbox(TreeSandbox):
    """Runs untrusted code in a container of its own.

    `run` and `session` raise CannotRun when the container does not start, and the errors of Bubblewrap.
    """

    def __init__(self, engine: ContainerEngine) -> None:
        self.engine = engine

    @contextmanager
    def _started(self, workload: Workload, stdin: int) -> Iterator[ProcessTree]:
        user = self._spare_user()
        with ExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apprentice-container-")))
            name = f"apprentice-{uuid.uuid4().hex}"
            group = ContainerGroup(self.engine, name)
            stack.callback(group.remove)
            descriptors = Descriptors(stack)
            filtering = base64.b64encode(seccomp.program(os.uname().machine)).decode()
            spec = bubblewrap.inner_spec(workload, 0, REPORT, user)
            spec |= {"filter": filtering, "interactive": stdin == subprocess.PIPE}
            client = [
                *self.engine.command,
                *arguments(workload, name, self.engine.runtime, podman=self._is_podman),
                *mounts(workload, place, user, podman=self._is_podman),
                *("--entrypoint", sys.executable, IMAGE, "-I", "-S", str(INIT)),  # ours: the project controls its own
            ]
            known = (descriptors.memory(json.dumps(spec).encode()), descriptors.status_inside)
            numbers = (*known, descriptors.report_inside, int(stdin == subprocess.PIPE))
            relay = [sys.executable, "-I", "-S", str(RELAY), *map(str, numbers), *client]
            process = spawned(relay, descriptors, stdin)
            tree = process_tree(process, process.pid, descriptors, grouped=True, group=group)
            stack.callback(tree.close)
            stack.callback(tree.kill)
            await_ready(tree, descriptors.status)
            yield tree

    @cached_property
    def _maps_users(self) -> bool:
        """Whether the engine runs without root, or maps users: Docker lists it, Podman says so."""
        info = self.engine.information()
        options = " ".join(info.get("SecurityOptions") or ())
        of_podman = info.get("host", {}).get("security", {}).get("rootless", False)
        return bool(of_podman) or "name=userns" in options or "name=rootless" in options

    @cached_property
    def _is_podman(self) -> bool:
        return "host" in self.engine.information()

    def _spare_user(self) -> int:
        """A user for one run, outside the range of accounts where all can be used."""
        if self._maps_users:
            return LAST_USER - secrets.randbelow(USERS)
        return bubblewrap.FIRST_USER + secrets.randbelow(bubblewrap.USERS)

    def prepare(self) -> None:
        """Make the image where it is not there. Raises CannotRun where the engine does not answer."""
        self.engine.information()
        if self.engine.call("image", "inspect", IMAGE).returncode:
            self.engine.asked("import", "-", IMAGE, given=empty_image())


def arguments(workload: Workload, name: str, runtime: str, *, podman: bool) -> Iterator[str]:
    """How the container is confined. Nothing of it comes from a repository.

    As many processors as the processor time takes to be used up in the wall time: so the one limits the other.
    """
    limits = workload.limits
    processors = min(limits.cpu_seconds / limits.wall_seconds, os.cpu_count() or 1)
    yield from ("run", "--interactive", "--name", name, "--label", LABEL, "--pull", "never", "--log-driver", "none")
    if runtime:
        yield from ("--runtime", runtime)
    yield from ("--network", "none", "--hostname", "sandbox", "--ipc", "private", "--cgroupns", "private")
    yield from ("--read-only", "--user", "0:0", "--workdir", "/", "--security-opt", "no-new-privileges")
    yield from ("--cap-drop", "ALL")
    for capability in bubblewrap.CAPABILITIES:
        yield from ("--cap-add", capability.removeprefix("CAP_"))
    memory = f"{limits.memory_mb}m"
    yield from ("--memory", memory, "--memory-swap", memory, "--cpus", f"{processors:.2f}")
    beside = OF_A_KERNEL if runtime else BESIDE_THE_COMMAND
    yield from ("--pids-limit", str(limits.processes + beside))
    yield from ("--ulimit", f"nofile={launcher.OPEN_FILES}:{launcher.OPEN_FILES}")
    if podman:  # else it raises the limit, which needs a capability of it
        yield from ("--ulimit", "nproc=4096:4096")
    yield from ("--shm-size", f"{bubblewrap.SHARED_MEMORY_MB}m")
    for path in (Path("/tmp"), WORKSPACE):  # noqa: S108  inside
        yield from ("--tmpfs", f"{path}:rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m{_empty(podman=podman)}")
    # In the place of the machine's, and of its control groups:
    yield from ("--tmpfs", f"/sys:ro,noexec,nosuid,nodev,mode=0555,size=4k{_empty(podman=podman)}")
    yield from ("--sysctl", "net.ipv4.ip_unprivileged_port_start=1024")
    yield from ("--tmpfs", f"{PRIVATE}:rw,noexec,nosuid,nodev,mode=0700,size=64k{_empty(podman=podman)}")


def mounts(workload: Workload, place: Path, user: int, *, podman: bool) -> Iterator[str]:
    """The files that bubblewrap shows, under the same names, read-only; and the checkout, for the first process alone."""
    yield from _bind(Path("/usr"), Path("/usr"))
    for path in HIDDEN:
        if path.is_dir() and not path.is_symlink():
            yield from ("--tmpfs", f"{path}:ro,mode=0755,size=4k{_empty(podman=podman)}")
    for name in bubblewrap.ROOT_DIRECTORIES:
        path = Path("/", name)
        if path.is_dir() and not path.is_symlink():
            yield from _bind(path, path)
    for name in bubblewrap.ETC_SHOWN:
        path = Path("/etc", name)
        if path.exists():
            yield from _bind(path.resolve(), path)
    for path in bubblewrap.shown(workload):
        yield from _bind(path.resolve(), path)
    files = bubblewrap.generated_files(workload, user) | {INIT: (0o444, INIT_SOURCE.read_text(encoding="utf-8"))}
    # Else these are the engine's, after the host's:
    files |= {Path("/etc", name): (0o444, "") for name in ("hostname", "resolv.conf")}
    for number, (path, (mode, text)) in enumerate(files.items()):
        source = place / str(number)
        source.write_text(text, encoding="utf-8")
        source.chmod(mode)
        yield from _bind(source, path)
    yield from _bind(Path("/dev/full"), Path("/dev/zero"))  # as bubblewrap.file_systems
    yield from _bind(workload.tree.resolve(), PRIVATE / "source")


def _empty(*, podman: bool) -> str:
    """The option without which Podman fills a file system in memory with what it covers; Docker does not know it."""
    return ",notmpcopyup" if podman else ""


INIT_SOURCE = Path(__file__).with_name("container_init.py")


def _bind(source: Path, target: Path) -> tuple[str, str]:
    """As CSV, which the client reads: a path may hold a comma or a quotation mark."""
    fields = ("type=bind", f"source={source}", f"target={target}", "readonly")
    return "--mount", ",".join('"' + each.replace('"', '""') + '"' for each in fields)


def empty_image() -> bytes:
    """A root with directories to mount upon, and the links of the host's root."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in ("etc", "usr", "tmp", "run", "workspace", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in bubblewrap.ROOT_DIRECTORIES:
            path = Path("/", name)
            if path.is_symlink():
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
                archive.addfile(entry)
    return content.getvalue()
