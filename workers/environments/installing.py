"""Installs exact wheels into a new environment. Installing copies files; no code of a package runs outside of the sandbox."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from workers.environments.interpreters import Interpreter
from workers.environments.locking import LockedWheel
from workers.environments.uv_command import run_uv
from workers.errors import CannotRun
from workers.ports import Limits, Sandbox, Workload

MOST_UNPACKED_MB, MOST_FILES = 8000, 200_000
_SCRIPT = (Path(__file__).with_name("in_sandbox") / "compile.py").read_text(encoding="utf-8")


def install(interpreter: Interpreter, wheels: Sequence[tuple[LockedWheel, Path]], new: Path) -> None:
    """Make a virtual environment of the wheels in the empty directory `new`, which can be renamed later.

    uv runs the environment's interpreter while it is still empty, and never again: what is installed could start with it.
    """
    _refuse_bombs([path for _, path in wheels])
    python = new / "bin" / "python"
    with TemporaryDirectory(dir=new.parent) as name:
        aside = Path(name)
        for _, path in wheels:
            (aside / path.name).hardlink_to(path)
        pins = aside / "pins.txt"
        lines = (f"{each.name}=={each.version} --hash=sha256:{each.file.sha256}\n" for each, _ in wheels)
        pins.write_text("".join(lines), encoding="utf-8")
        cache = aside / "uv"
        run_uv(
            *("venv", "--no-project", "--no-config", "--relocatable", "--allow-existing"),
            *("--python", str(interpreter.python), str(new)),
            at=aside,
            cache_directory=cache,
        )
        run_uv(
            *("pip", "install", "--no-config", "--no-deps", "--no-build", "--no-index", "--find-links", str(aside)),
            *("--require-hashes", "--link-mode", "hardlink", "--python", str(python), "-r", str(pins)),
            at=aside,
            cache_directory=cache,
        )


def _refuse_bombs(wheels: Sequence[Path]) -> None:
    """Raise CannotRun for wheels that unpack to more than the limits together, before anything is unpacked."""
    size = files = 0
    for path in wheels:
        try:
            with zipfile.ZipFile(path) as wheel:
                entries = wheel.infolist()
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise CannotRun(f"{path.name} is no wheel: {error}") from error
        size, files = size + sum(entry.file_size for entry in entries), files + len(entries)
        if size > MOST_UNPACKED_MB << 20 or files > MOST_FILES:
            raise CannotRun(
                f"the packages unpack to more than {MOST_UNPACKED_MB} MB or {MOST_FILES} files: {path.name} refused"
            )


def add_bytecode(sandbox: Sandbox, interpreter: Interpreter, new: Path, limits: Limits) -> None:
    """Add bytecode, without which every run of the tests would compile the packages anew. Its failure costs time alone."""
    packages = (new / "lib" / f"python{interpreter.minor}" / "site-packages").resolve()
    with TemporaryDirectory(prefix="apprentice-empty-") as empty:
        workload = Workload(
            command=("python", "-I", "-S", "-c", _SCRIPT, str(packages)),
            tree=Path(empty),
            python=new / "bin" / "python",
            limits=replace(limits, output_kb=max(limits.output_kb, 64 << 10)),
        )
        report = sandbox.run(workload).report
    with suppress(tarfile.TarError, OSError), tarfile.open(fileobj=BytesIO(report), mode="r:") as packed:
        for member in packed:
            target, content = (packages / member.name).resolve(), packed.extractfile(member)
            is_ours = target.match("__pycache__/*.pyc") and target.is_relative_to(packages) and not target.exists()
            if content is not None and is_ours:
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content.read())
                for made, mode in ((target, 0o644), (target.parent, 0o755)):
                    made.chmod(mode)  # whatever our umask is: a sandbox reads it as another user
