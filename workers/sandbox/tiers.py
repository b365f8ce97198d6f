"""The sandbox that the settings choose, and its self-test: no code of a repository runs where an attack succeeds."""

import json
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import structlog

from workers.errors import ApprenticeError, CannotRun
from workers.ports import Limits, Sandbox, Workload
from workers.sandbox.break_out import ATTACKS
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.containers import ContainerEngine, ContainerSandbox
from workers.sandbox.unsandboxed import UnsandboxedRunner
from workers.settings import SandboxTier, WorkerSettings

_log = structlog.get_logger()
SELF_TEST = Limits(wall_seconds=30.0, memory_mb=256, disk_mb=16)


def sandbox_of(tier: SandboxTier, engine: str = "", runtime: str = "") -> Sandbox:
    """The sandbox of a tier. `engine` is the command of the container engine, `runtime` its OCI runtime; empty: the usual."""
    if tier is SandboxTier.BUBBLEWRAP:
        return Bubblewrap()
    program, *options = shlex.split(engine) or ["podman" if tier is SandboxTier.PODMAN else "docker"]
    usual = "runsc" if tier is SandboxTier.GVISOR else ""
    return ContainerSandbox(ContainerEngine((shutil.which(program) or program, *options), runtime or usual))


def problems(sandbox: Sandbox) -> tuple[str, ...]:
    """What prevents this sandbox here, a line each with its remedy; empty after a self-test in which every attack failed."""
    try:
        if isinstance(sandbox, ContainerSandbox):
            sandbox.prepare()
        return _self_test(sandbox)
    except ApprenticeError as refusal:
        return (str(refusal),)


def _self_test(sandbox: Sandbox) -> tuple[str, ...]:
    word = f"secret-{uuid.uuid4().hex}"
    with (
        tempfile.TemporaryDirectory(prefix="apprentice-trial-") as tree,
        tempfile.TemporaryDirectory(prefix="apprentice-bait-") as place,
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind(f"\0{word}")
        abstract.listen()
        secret = Path(place, "secret.txt")
        secret.write_text(word, encoding="ascii")
        Path(place).chmod(0o755)  # the sandbox must hide it, not its permissions
        bait = {"secret": str(secret), "port": listener.getsockname()[1], "abstract": word, "word": word}
        program = Path(__file__).with_name("break_out.py").read_text(encoding="utf-8")
        Path(tree, "break_out.py").write_text(program, encoding="utf-8")
        command = (sys.executable, "-I", "-S", "/workspace/break_out.py", json.dumps(bait))
        workload = Workload(command=command, tree=Path(tree), python=Path(sys.executable), limits=SELF_TEST)
        with subprocess.Popen(["/bin/sh", "-c", "read line", word], stdin=subprocess.PIPE, env={}):  # noqa: S603  ends with its input
            completed = sandbox.run(workload)
    try:
        found: dict[str, str] = json.loads(completed.report)
    except ValueError:
        return (
            f"the self-test of the sandbox did not end ({completed.ending}, exit code {completed.exit_code}): {completed.stderr}",
        )
    missing = [attack.__name__ for attack in ATTACKS if attack.__name__ not in found]
    succeeded = [name for name, reason in found.items() if not reason]
    return tuple(f"the sandbox does not hold: {name.replace('_', ' ')}" for name in (*missing, *succeeded))


def open_sandbox(settings: WorkerSettings) -> Sandbox:
    """The sandbox that is set, after its self-test. Raises CannotRun with the first problem, unless the settings allow to
    run without a sandbox."""
    sandbox = sandbox_of(settings.sandbox, settings.sandbox_engine, settings.sandbox_runtime)
    found = problems(sandbox)
    if not found:
        return sandbox
    if settings.unsafe_without_sandbox:
        return UnsandboxedRunner()
    raise CannotRun(
        f"no sandbox: {found[0]}; or, for repositories you trust fully, set APPRENTICE_UNSAFE_WITHOUT_SANDBOX=true"
    )


def log_sandbox(settings: WorkerSettings) -> None:
    """Log the sandbox of a worker that starts, after its self-test. Without one it does all that runs no code."""
    try:
        sandbox = open_sandbox(settings)
    except CannotRun as error:
        _log.warning("no sandbox", tier=settings.sandbox, reason=str(error))
        return
    if isinstance(sandbox, UnsandboxedRunner):
        _log.warning("code runs without a sandbox", tier=settings.sandbox)
    else:
        _log.info("sandbox", tier=settings.sandbox, attacks_refused=len(ATTACKS))
