"""The wheel of this checkout, installed in an environment of its own, as users install it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")


def registry_environment() -> dict[str, str]:
    """Our environment with the machine's own package index: other tests get one that refuses."""
    return {name: value for name, value in os.environ.items() if name not in {"UV_DEFAULT_INDEX", "UV_HTTP_RETRIES"}}


def built_wheel(directory: Path) -> Path:
    """The wheel of this checkout."""
    command = [UV, "build", "--quiet", "--wheel", "--out-dir", directory, ROOT]
    subprocess.run(command, env=registry_environment(), check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


def installed_wheel(directory: Path) -> Path:
    """An environment with the wheel, its dependencies and no extra."""
    environment, wheel = directory / "environment", built_wheel(directory / "dist")
    for command in (
        ["venv", "--quiet", "--python", sys.executable, environment],
        ["pip", "install", "--quiet", "--python", environment / "bin" / "python", wheel],
    ):
        subprocess.run([UV, *command], env=registry_environment(), check=True)
    return environment


def run(*command: str | Path, home: Path, code: int = 0, at: Path | None = None, **given: str) -> str:
    """Run an installed program with nothing of our environment. Returns standard output; checks the exit code."""
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"} | given
    done = subprocess.run(
        [*map(str, command)], env=variables, cwd=at or home, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout
