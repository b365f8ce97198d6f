"""Makes environments: builds source distributions and projects in the sandbox, and installs exact wheels.

A build has no network, no secrets, and read-only build requirements. Installing copies files; no code of a package runs
outside of the sandbox.
"""

import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from workers.environments.editable import build_inputs, editable_wheel, stated_metadata
from workers.environments.fetching import RemoteFile, digest, fetched
from workers.environments.interpreters import Interpreter
from workers.environments.locking import LockedWheel, Resolver, Wanted, usable
from workers.environments.tree_files import TreeFiles, toml
from workers.environments.uv_command import NoIndex, run_uv
from workers.errors import CannotRun
from workers.ports import Ending, Limits, Sandbox, Workload

BUILD_LIMITS = Limits(wall_seconds=300.0, cpu_seconds=600, memory_mb=3072, disk_mb=1024, output_kb=64 << 10)

UNKNOWN_VERSION = "999.0"
"""Of projects that take their version from git, where no tag is known. Git does not exist where code runs."""

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

MAX_NESTED = 4
"""Build requirements that have to be built themselves, and theirs."""

MAX_UNPACKED_MB, MAX_FILES = 8000, 200_000
"""Of all wheels of an environment together."""

_BUILD, _COMPILE = (
    (Path(__file__).with_name("in_sandbox") / name).read_text(encoding="utf-8") for name in ("build.py", "compile.py")
)
_ENDINGS = {
    Ending.WALL_TIME: "ran longer than {0.wall_seconds:.3g} s and was stopped",
    Ending.CPU_TIME: "used more than {0.cpu_seconds} s of processor time and was stopped",
    Ending.MEMORY: "used more than {0.memory_mb} MB of memory or disk and was stopped",
    Ending.OUTPUT: "wrote more than {0.output_kb} KB and was stopped",
    Ending.KILLED: "was killed",
}


class BuildFailed(CannotRun):
    """A build ended without a result. `distribution` names what was wanted, and is empty for the project itself."""

    def __init__(self, text: str, distribution: str = "") -> None:
        super().__init__(text)
        self.distribution = distribution


class BuildAnswer(Struct):
    """What in_sandbox/build.py writes; the code under build may have written it instead."""

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
class _Source:
    """What a build starts from: the directory that the sandbox shows, and where in it the project or its archive is."""

    what: str
    tree: Path
    version: str
    archive: str = ""
    directory: str = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder(Resolver):
    """Makes environments for one interpreter. `nested` counts the builds that wait for this one."""

    sandbox: Sandbox
    limits: Limits = BUILD_LIMITS
    nested: int = 0

    def environment(self, wanted: Wanted, local: Sequence[LockedWheel] = ()) -> tuple[Path, Mapping[str, str]]:
        """The python of an environment with what is wanted and the `local` wheels, and its versions by name.

        Raises CannotRun with one line.
        """
        with TemporaryDirectory(prefix="apprentice-lock-") as place:
            found = self.locked(wanted, Path(place)) if wanted.requirements else ()
        wheels = (*found, *local)

        def fill(new: Path) -> None:
            packages = f"{len(wheels)} package{'s' * (len(wheels) != 1)}"
            self.progress(f"installing {packages} on Python {self.interpreter.version}")
            files = [fetched(w.file, self.store.packages, self.given, self.progress) for w in wheels]
            install(self.interpreter, list(zip(wheels, files, strict=True)), new)
            if not self.nested:
                add_bytecode(self.sandbox, self.interpreter, new, self.limits)

        made = self._made(["environment", *sorted(w.file.sha256 for w in wheels)], fill)
        return made / "bin" / "python", {wheel.name: wheel.version for wheel in wheels}

    def wheel_of(self, source: RemoteFile) -> Path:
        """The wheel of a source distribution: fetched by hash, built once. Raises BuildFailed, or CannotRun."""
        if self.nested >= MAX_NESTED:
            raise CannotRun(f"{source.filename} needs too many builds of builds")
        archive = fetched(source, self.store.packages, self.given, self.progress)
        expected = parse_sdist_filename(source.filename)

        def fill(new: Path) -> None:
            self.progress(f"building {source.filename} in the sandbox")
            given = _Source(what=source.filename, tree=archive.parent, archive=archive.name, version=str(expected[1]))
            described = self._asked(given, self.interpreter.python, hook="describe")
            answer = self._built(given, described.pyproject, "wheel")
            name, content = next(iter(answer.files.items()), ("", b""))
            if not _is_of(name, expected):
                raise BuildFailed(
                    f"the build of {given.what} made {name[:100]!r}, which is another distribution: refused"
                )
            (new / name).write_bytes(content)

        try:
            return next(self._made(["wheel", source.sha256], fill).glob("*.whl"))
        except BuildFailed as failed:  # of this one, or of what its build needs
            raise BuildFailed(str(failed), expected[0]) from failed

    def project(self, tree: Path, directory: str, own: frozenset[str], version: str = "") -> BuiltProject:
        """The project in a directory of the tree, editable. Where its own build fails, by what it states without a build.

        `version` is the one that its backend would ask git for.
        """
        files, version = TreeFiles(tree), version or UNKNOWN_VERSION

        def fill(new: Path) -> None:
            (new / "generated").mkdir(mode=0o755)
            self.progress(f"building the project in the sandbox on Python {self.interpreter.version}")
            text = files.text(str(PurePosixPath(directory, "pyproject.toml")))
            try:
                source = _Source(what="the project", tree=tree, directory=directory, version=version)
                answer = self._built(source, text, "editable", own)
                name, content = editable_wheel(answer.files, tree, directory)
            except NoIndex:
                raise
            except (CannotRun, ValueError) as reason:
                self.progress(f"{reason}; it is installed without a build, by what its files state")
                answer = BuildAnswer(files=stated_metadata(files, directory, version))
                name, content = editable_wheel(answer.files, tree, directory)
            (new / name).write_bytes(content)
            for path, generated in answer.generated.items():
                _write_below(new / "generated", str(PurePosixPath(directory, path)), generated)

        made = self._made(["project", directory, version, build_inputs(tree, directory)], fill)
        return BuiltProject(wheel=_as_locked(next(made.glob("*.whl"))), generated=made / "generated")

    def _made(self, parts: Sequence[str], fill: Callable[[Path], None]) -> Path:
        key = (self.interpreter.version, str(self.interpreter.python), *parts)
        return self.store.made(key, fill, self.progress)

    def _built(self, source: _Source, pyproject: str, hook: str, own: frozenset[str] = frozenset()) -> BuildAnswer:
        """The answer of a build hook, with all that the backend asks for beside what pyproject.toml requires."""
        system = _build_system(pyproject, source.what)
        have: tuple[str, ...] = ()
        for _ in range(3):
            wanted = Wanted(requirements=usable((*system.requires, *have), self.progress), own=own)
            python, _ = replace(self, nested=self.nested + 1).environment(wanted)
            answer = self._asked(
                source, python, hook=hook, backend=system.build_backend, path=system.backend_path, have=have
            )
            if not answer.requires:
                return answer
            have = tuple(dict.fromkeys((*have, *answer.requires)))
        raise BuildFailed(f"the build of {source.what} failed: its backend asks for ever more requirements")

    def _asked(self, source: _Source, python: Path, **asked: object) -> BuildAnswer:
        """The answer of build.py in the sandbox. Raises BuildFailed with the reason."""
        spec = {"source": source.archive, "directory": source.directory, **asked}
        workload = Workload(
            command=("python", "-c", _BUILD, json.dumps(spec)),
            tree=source.tree,
            python=python,
            env={
                **dict.fromkeys(_VERSION_VARIABLES, source.version),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            limits=self.limits,
        )
        done = self.sandbox.run(workload)
        if done.ending is not Ending.EXITED:
            raise BuildFailed(f"the build of {source.what} {_ENDINGS[done.ending].format(self.limits)}")
        try:
            return msgspec.json.decode(done.report, type=BuildAnswer)
        except msgspec.DecodeError:  # a ValidationError is one
            last = (done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"])[-1]
            raise BuildFailed(f"the build of {source.what} failed: {' '.join(last.split())[:600]}") from None


def _build_system(pyproject: str, what: str) -> BuildSystem:
    try:
        system = toml(pyproject).get("build-system", {})
        return msgspec.convert(system, BuildSystem) if "requires" in system else LEGACY
    except (ValueError, TypeError) as error:
        raise BuildFailed(f"the build of {what} failed: pyproject.toml cannot be read: {error}") from error


def _is_of(wheel: str, expected: tuple[str, Version]) -> bool:
    """Whether a wheel is called as one of this distribution and version is."""
    try:
        return parse_wheel_filename(wheel)[:2] == expected and PurePosixPath(wheel).name == wheel
    except ValueError:
        return False


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


# ── Installing ──


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
        if size > MAX_UNPACKED_MB << 20 or files > MAX_FILES:
            raise CannotRun(
                f"the packages unpack to more than {MAX_UNPACKED_MB} MB or {MAX_FILES} files: {path.name} refused"
            )


def add_bytecode(sandbox: Sandbox, interpreter: Interpreter, new: Path, limits: Limits) -> None:
    """Add bytecode, without which every run of the tests would compile the packages again. Its failure costs time alone."""
    packages = (new / "lib" / f"python{interpreter.minor}" / "site-packages").resolve()
    with TemporaryDirectory(prefix="apprentice-empty-") as empty:
        workload = Workload(
            command=("python", "-I", "-S", "-c", _COMPILE, str(packages)),
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
