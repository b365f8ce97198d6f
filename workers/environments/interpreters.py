"""The Pythons of this machine, and the environment that a user already has for a project.

Never ask for the latter about a checkout of foreign code.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.markers import Environment, default_environment
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.version import Version

from workers.environments.metadata import declared
from workers.environments.tree_files import TreeFiles
from workers.errors import BadInput, CannotRun
from workers.sandbox.launching import is_environment, prefixes
from workers.settings import PREFIX, variable
from workers.work_tree import is_tracked, top_level

OLDEST = Version("3.8")
PROBE_SECONDS = 20
_PROBE = "import json, sys; print(json.dumps([sys.implementation.name, '.'.join(map(str, sys.version_info[:3]))]))"
_NAME = re.compile(r"python3(\.[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A CPython of this machine; `version` has three parts, as in 3.11.7."""

    python: Path
    version: str

    @property
    def minor(self) -> str:
        """The version without its last part."""
        return ".".join(self.version.split(".")[:2])

    def markers(self) -> Environment:
        """The values of environment markers (PEP 508) for it."""
        return {
            **default_environment(),
            "python_version": self.minor,
            "python_full_version": self.version,
            "implementation_version": self.version,
        }

    def tags(self) -> list[Tag]:
        """The tags of the wheels that it can use, the best first."""
        major, minor = map(int, self.minor.split("."))
        return [*cpython_tags((major, minor)), *compatible_tags((major, minor), interpreter=f"cp{major}{minor}")]


@cache
def interpreters() -> tuple[Interpreter, ...]:
    """Every CPython from 3.8 on that is installed here, the newest first, each once. Virtual environments are none."""
    found: dict[Path, Interpreter] = {}
    for path in _candidates():
        real = path.resolve()
        if real not in found and (known := interpreter_at(path)) is not None:
            found[real] = known
    return tuple(sorted(found.values(), key=lambda each: Version(each.version), reverse=True))


def chosen(specifier: str, minors: Sequence[str] = ()) -> Interpreter:
    """The interpreter that fits `specifier` (PEP 440): of the first of the `minors` that is here, else the nearest to it.

    Without `minors` the newest. Raises CannotRun with the versions that are here when none fits.
    """
    wanted = SpecifierSet(specifier)
    fitting = [each for each in interpreters() if wanted.contains(each.version, prereleases=True)]
    if not fitting:
        here = ", ".join(dict.fromkeys(each.minor for each in interpreters())) or "none"
        raise CannotRun(
            f"the project needs Python {specifier} and this machine has {here}: "
            f"install one that fits, or set {PREFIX}PYTHON to an interpreter with the project's packages"
        )
    exact = (each for minor in minors for each in fitting if each.minor == minor)
    return next(exact, min(fitting, key=lambda each: _distance(each.minor, minors[0])) if minors else fitting[0])


def _distance(minor: str, wanted: str) -> int:
    return abs(int(minor.partition(".")[2]) - int(wanted.split(".")[1]))


def _candidates() -> Iterator[Path]:
    search = [Path(place) for place in (*os.get_exec_path(), "/usr/local/bin", "/usr/bin")]
    managers = [Path.home() / ".pyenv", *(place.parent for place in search if place.name == "shims")]
    places = [Path(sys.base_prefix, "bin"), *search]
    places += [place for root in managers for place in sorted(root.glob("versions/*/bin"))]
    places += sorted((Path.home() / ".local" / "share" / "uv" / "python").glob("*/bin"))
    for place in dict.fromkeys(places):
        if place.is_absolute() and place.name != "shims" and not is_environment(place.parent) and place.is_dir():
            yield from sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name))


def interpreter_at(python: Path) -> Interpreter | None:
    """What an interpreter says of itself, without its site packages; None for what the sandbox could not show."""
    try:
        prefixes(python)
        done = subprocess.run(  # noqa: S603 - an interpreter of the operator
            [str(python), "-I", "-S", "-c", _PROBE],
            env={},
            cwd="/",
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=True,
        )
        name, version = json.loads(done.stdout)
    except (OSError, ValueError, BadInput, subprocess.SubprocessError):
        return None
    return Interpreter(python=python, version=version) if name == "cpython" and Version(version) >= OLDEST else None


# ── What a user already has ──

IN_PROJECT = (".venv", "venv", "env")


@dataclass(frozen=True, slots=True)
class ExistingPython:
    """An interpreter, and why it is the one to use."""

    python: Path
    why: str


def existing_python(
    path: Path, *, given: Path | None, setting: Path | None, progress: Callable[[str], None]
) -> ExistingPython | None:
    """The user's interpreter for the project at `path`, in the order of docs/environments.md; None without one.

    What was named is believed. Of the others one that is committed could name any directory of this machine, and one
    without pytest cannot test: a line of progress says so, and the next one is used.
    """
    if given or setting:
        return ExistingPython(given or setting or Path(), "by --python" if given else f"by {PREFIX}PYTHON")
    for place, why in _environments(path.absolute()):
        python = place / "bin" / "python"
        if not (is_environment(place) and python.is_file()):
            continue
        if place.is_relative_to(path.absolute()) and is_tracked(place):
            progress(f"{place} is committed, so it is not used; name an interpreter by --python")
        elif not _has_pytest(place):
            progress(
                f"{place} has no pytest 6 or later, so it is not used; install the project's tests there, or use --python"
            )
        else:
            return ExistingPython(python, why)
    return None


def _environments(path: Path) -> Iterator[tuple[Path, str]]:
    """The places where an environment may be, in the order to look, and why each counts."""
    activated = variable("VIRTUAL_ENV")
    if activated and Path(activated).resolve() != Path(sys.prefix).resolve():  # ours may be activated just to start us
        yield Path(activated), "which is activated"
    yield from ((path / name, f"the project's {name}") for name in IN_PROJECT)
    if named := variable("UV_PROJECT_ENVIRONMENT"):
        yield path / named, "by UV_PROJECT_ENVIRONMENT"
    top = top_level(path) or path
    workspaces = [each for each in path.parents if each.is_relative_to(top) and (each / "uv.lock").is_file()]
    yield from ((each / ".venv", f"of the uv workspace {each}") for each in workspaces)
    yield from ((each, "made by Poetry for this directory") for each in _of_poetry(path))
    for directory in (".tox", ".nox"):
        found = sorted((path / directory).glob("*"), key=lambda each: (not re.match(r"py|test", each.name), each.name))
        yield from ((each, f"made by {directory[1:]}") for each in found)


def _of_poetry(path: Path) -> list[Path]:
    """Poetry's environments for a directory: named for the project, a digest of the directory, and the Python."""
    name = declared(TreeFiles(path)).name.lower()
    sanitised = re.sub(r'[ $`!*@"\\\r\n\t]', "_", name)[:42]
    digest = hashlib.sha256(os.path.normcase(os.path.realpath(path)).encode()).digest()
    called = f"{sanitised}-{base64.urlsafe_b64encode(digest).decode()[:8]}-py"
    cache = Path("~/Library/Caches" if sys.platform == "darwin" else variable("XDG_CACHE_HOME") or "~/.cache")
    own = Path(variable("POETRY_CACHE_DIR") or cache / "pypoetry")
    there = Path(variable("POETRY_VIRTUALENVS_PATH") or own / "virtualenvs").expanduser()
    found = [each for each in there.iterdir() if each.name.startswith(called)] if name and there.is_dir() else []
    return sorted(found, key=lambda each: each.stat().st_mtime, reverse=True)


def _has_pytest(place: Path) -> bool:
    text = (place / "pyvenv.cfg").read_text(errors="replace")
    inherits = re.search(r"^include-system-site-packages\s*=\s*true", text, re.MULTILINE | re.IGNORECASE)
    return inherits is not None or any(place.glob("lib*/python3*/site-packages/pytest/__init__.py"))
