"""Finds out by a trial run which sandbox works on this machine."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from workers.errors import ApprenticeError, CannotRun
from workers.ports import Ending, Limits, Sandbox, Workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.unsandboxed import UnsandboxedRunner
from workers.settings import WorkerSettings

TRIAL = Limits(wall_seconds=20.0, memory_mb=256, disk_mb=16)


def problems() -> tuple[str, ...]:
    """The problems that prevent a sandbox here, a line each with its remedy; empty after a successful trial run."""
    with tempfile.TemporaryDirectory(prefix="apprentice-trial-") as place:
        workload = Workload(command=("true",), tree=Path(place), python=Path(sys.executable), limits=TRIAL)
        try:
            completed = Bubblewrap().run(workload)
        except ApprenticeError as refusal:
            return (str(refusal),)
    if completed.ending is Ending.EXITED and completed.exit_code == 0:
        return ()
    return (
        f"a trial run in the sandbox failed ({completed.ending}, exit code {completed.exit_code}): {completed.stderr}",
    )


def open_sandbox(settings: WorkerSettings) -> Sandbox:
    """The sandbox for untrusted code. Raises CannotRun with the first problem, unless the settings allow to run without."""
    found = problems()
    if not found:
        return Bubblewrap()
    if settings.unsafe_without_sandbox:
        return UnsandboxedRunner()
    raise CannotRun(
        f"no sandbox: {found[0]}; or, for repositories you trust fully, set APPRENTICE_UNSAFE_WITHOUT_SANDBOX=true"
    )
