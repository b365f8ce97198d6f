"""Builds source distributions and projects in the sandbox: no network, no secrets, and read-only build requirements."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

from workers.environments.fetching import RemoteFile, digest, fetched
from workers.environments.installing import add_bytecode, install
from workers.environments.interpreters import Interpreter
from workers.environments.locking import LockedWheel, Resolver, Wanted, usable
from workers.environments.project_files import build_inputs, editable_wheel, static_metadata, text_of
from workers.environments.store import EnvironmentStore
from workers.environments.uv_command import NoIndex, PackageIndexes
from workers.errors import CannotRun
from workers.ports import Ending, Limits, Sandbox, Workload

BUILD_LIMITS = Limits(wall_seconds=300.0, cpu_seconds=600, memory_mb=3072, disk_mb=1024, output_kb=64 << 10)

PRETENDED_VERSION = "999.0"
"""Of projects that take their version from git, which does not exist where code runs."""

_VERSION_VARIABLES = (
    *("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "PBR_VERSION"),
    *("POETRY_DYNAMIC_VERSIONING_BYPASS", "UV_DYNAMIC_VERSIONING_BYPASS"),
)


class BuildSystem(Struct, frozen=True, rename="kebab"):
    """[build-system] of pyproject.toml."""

    requires: list[str]
    build_backend: str = "setuptools.build_meta:__legacy__"
    backend_path: list[str] = []


LEGACY = BuildSystem(requires=["setuptools<81", "wheel"])
"""The build system of projects that name none; they are older than the parts that setuptools 81 dropped."""

MOST_NESTED = 4
"""Build requirements that have to be built themselves, and theirs."""

_SCRIPT = (Path(__file__).with_name("in_sandbox") / "build.py").read_text(encoding="utf-8")
_ENDINGS = {
    Ending.WALL_TIME: "ran longer than {0.wall_seconds:g} s and was stopped",
    Ending.CPU_TIME: "used more than {0.cpu_seconds} s of processor time and was stopped",
    Ending.MEMORY: "used more than {0.memory_mb} MB of memory or disk and was stopped",
    Ending.OUTPUT: "wrote more than {0.output_kb} KB and was stopped",
    Ending.KILLED: "was killed",
}


class BuildFailed(CannotRun):
    """A build ended without a result."""


class BuildAnswer(Struct):
    """What in_sandbox/build.py writes; the code under build may have written it instead."""

    error: str = ""
    pyproject: str = ""
    requires: list[str] = []
    files: dict[str, bytes] = {}
    generated: dict[str, bytes] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltProject:
    """A project's editable wheel, and a directory with the files that its build added beside the sources."""

    wheel: LockedWheel
    generated: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Makes environments for one interpreter. `nested` counts the builds that wait for this one."""

    sandbox: Sandbox
    store: EnvironmentStore
    interpreter: Interpreter
    given: PackageIndexes
    progress: Callable[[str], None]
    limits: Limits = BUILD_LIMITS
    nested: int = 0

    def environment(self, wanted: Wanted, local: Sequence[LockedWheel] = ()) -> tuple[Path, Mapping[str, str]]:
        """The python of an environment with what is wanted and the `local` wheels, and its versions by name.

        Raises CannotRun with one line.
        """
        resolver = Resolver(
            interpreter=self.interpreter,
            given=self.given,
            cache_directory=self.store.uv_cache,
            build=self.wheel_of,
            progress=self.progress,
        )
        with TemporaryDirectory(prefix="apprentice-lock-") as place:
            found = resolver.locked(wanted, Path(place)) if wanted.requirements else ()
        wheels = (*found, *local)
        key = (
            "environment",
            self.interpreter.version,
            str(self.interpreter.python),
            *sorted(w.file.sha256 for w in wheels),
        )

        def fill(new: Path) -> None:
            count = len(wheels)
            self.progress(f"installing {count} packages on Python {self.interpreter.version}")
            files = [fetched(w.file, self.store.packages, self.given, self.progress) for w in wheels]
            install(self.interpreter, list(zip(wheels, files, strict=True)), new)
            if not self.nested:
                add_bytecode(self.sandbox, self.interpreter, new, self.limits)

        made = self.store.made(key, fill, self.progress)
        return made / "bin" / "python", {wheel.name: wheel.version for wheel in wheels}

    def wheel_of(self, source: RemoteFile) -> Path:
        """The wheel of a source distribution: fetched by hash, built once. Raises BuildFailed, or CannotRun."""
        if self.nested >= MOST_NESTED:
            raise CannotRun(f"{source.filename} needs too many builds of builds")
        archive = fetched(source, self.store.packages, self.given, self.progress)

        def fill(new: Path) -> None:
            self.progress(f"building {source.filename} in the sandbox")
            described = _asked(
                self.sandbox,
                archive.parent,
                self.interpreter.python,
                source.filename,
                self.limits,
                hook="describe",
                source=archive.name,
            )
            answer = self._built(archive.parent, source.filename, described.pyproject, "wheel", source=archive.name)
            name, content = next(iter(answer.files.items()), ("", b""))
            _hold_to_name(name, source.filename)
            (new / name).write_bytes(content)

        made = self.store.made(("wheel", self.interpreter.version, source.sha256), fill, self.progress)
        return next(made.glob("*.whl"))

    def project(self, tree: Path, directory: str, own: frozenset[str]) -> BuiltProject:
        """The project in a directory of the tree, editable. Where its own build fails, by what it states without a build."""
        inputs = build_inputs(tree, directory)

        def fill(new: Path) -> None:
            (new / "generated").mkdir(mode=0o755)
            self.progress(f"building the project in the sandbox on Python {self.interpreter.version}")
            text = text_of(tree, str(PurePosixPath(directory, "pyproject.toml")))
            try:
                answer = self._built(tree, "the project", text, "editable", directory=directory, own=own)
                name, content = editable_wheel(answer.files, tree, directory)
            except NoIndex:
                raise
            except (CannotRun, ValueError) as reason:
                self.progress(f"{reason}; it is installed without a build, by what its files state")
                answer = BuildAnswer(files=static_metadata(tree, directory, PRETENDED_VERSION))
                name, content = editable_wheel(answer.files, tree, directory)
            (new / name).write_bytes(content)
            for path, generated in answer.generated.items():
                _write_below(new / "generated", str(PurePosixPath(directory, path)), generated)

        key = ("project", self.interpreter.version, str(self.interpreter.python), directory, inputs)
        made = self.store.made(key, fill, self.progress)
        return BuiltProject(wheel=_as_locked(next(made.glob("*.whl"))), generated=made / "generated")

    def _built(
        self,
        tree: Path,
        what: str,
        pyproject: str,
        hook: str,
        *,
        source: str = "",
        directory: str = ".",
        own: frozenset[str] = frozenset(),
    ) -> BuildAnswer:
        """The answer of a build hook, with all that the backend asks for beside what pyproject.toml requires."""
        system = _build_system(pyproject, what)
        have: tuple[str, ...] = ()
        for _ in range(3):
            wanted = Wanted(requirements=usable((*system.requires, *have), self.progress), own=own)
            python, _ = replace(self, nested=self.nested + 1).environment(wanted)
            answer = _asked(
                self.sandbox,
                tree,
                python,
                what,
                self.limits,
                hook=hook,
                source=source,
                directory=directory,
                backend=system.build_backend,
                path=system.backend_path,
                have=have,
            )
            if not answer.requires:
                return answer
            have = tuple(dict.fromkeys((*have, *answer.requires)))
        raise BuildFailed(f"the build of {what} failed: its backend asks for ever more requirements")


def _build_system(pyproject: str, what: str) -> BuildSystem:
    try:
        system = tomllib.loads(pyproject).get("build-system", {})
        return msgspec.convert(system, BuildSystem) if "requires" in system else LEGACY
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError, RecursionError) as error:
        raise BuildFailed(f"the build of {what} failed: pyproject.toml cannot be read: {error}") from error


def _asked(
    sandbox: Sandbox,
    tree: Path,
    python: Path,
    what: str,
    limits: Limits,
    *,
    hook: str,
    source: str = "",
    directory: str = ".",
    **spec: object,
) -> BuildAnswer:
    """The answer of build.py in the sandbox. Raises BuildFailed with the reason."""
    full = {"hook": hook, "source": source, "directory": directory, "backend": "", "path": [], "have": [], **spec}
    workload = Workload(
        command=("python", "-c", _SCRIPT, json.dumps(full)),
        tree=tree,
        python=python,
        env={**dict.fromkeys(_VERSION_VARIABLES, PRETENDED_VERSION), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
        limits=limits,
    )
    completed = sandbox.run(workload)
    if completed.ending is not Ending.EXITED:
        raise BuildFailed(f"the build of {what} {_ENDINGS[completed.ending].format(limits)}")
    try:
        answer = msgspec.json.decode(completed.report, type=BuildAnswer)
    except msgspec.DecodeError:  # a ValidationError is one
        last = (completed.stderr.strip().splitlines() or [f"exit code {completed.exit_code}"])[-1]
        raise BuildFailed(f"the build of {what} failed: {last[:400]}") from None
    if answer.error:
        raise BuildFailed(f"the build of {what} failed: {' '.join(answer.error.split())[:600]}")
    return answer


def _hold_to_name(wheel: str, source: str) -> None:
    """Raise BuildFailed for a wheel of another distribution or version than its source."""
    try:
        expected = parse_sdist_filename(source)
        if parse_wheel_filename(wheel)[:2] == expected and PurePosixPath(wheel).name == wheel:
            return
    except (ValueError, InvalidSdistFilename):
        pass
    raise BuildFailed(f"the build of {source} made {wheel[:100]!r}, which is another distribution: refused")


def _as_locked(wheel: Path) -> LockedWheel:
    name, version, *_ = parse_wheel_filename(wheel.name)
    file = RemoteFile(filename=wheel.name, url=wheel.as_uri(), sha256=digest(wheel))
    return LockedWheel(name=canonicalize_name(name), version=str(version), file=file)


def _write_below(root: Path, path: str, content: bytes) -> None:
    """Write a file at a relative path below a directory of ours. Raises BuildFailed for a path that leads out of it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise BuildFailed(f"the build wrote outside of the project: {path[:100]!r}")
    target = root / pure
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    target.write_bytes(content)
