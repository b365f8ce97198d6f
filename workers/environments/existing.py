"""Finds the environment that a user already has for a project on this machine. Never ask it about a checkout of foreign code."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.environments.metadata import declared
from workers.environments.tree_files import TreeFiles
from workers.sandbox.launching import is_environment
from workers.settings import PREFIX, variable
from workers.work_tree import is_tracked, top_level

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
            progress(f"{place} has no pytest, so it is not used; install the project's tests there, or use --python")
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
    places = Path(
        variable("POETRY_VIRTUALENVS_PATH") or Path(variable("POETRY_CACHE_DIR") or cache / "pypoetry") / "virtualenvs"
    )
    there = places.expanduser()
    found = [each for each in there.iterdir() if each.name.startswith(called)] if name and there.is_dir() else []
    return sorted(found, key=lambda each: each.stat().st_mtime, reverse=True)


def _has_pytest(place: Path) -> bool:
    inherits = re.search(
        r"^include-system-site-packages\s*=\s*true",
        (place / "pyvenv.cfg").read_text(errors="replace"),
        re.MULTILINE | re.IGNORECASE,
    )
    return inherits is not None or any(place.glob("lib*/python3*/site-packages/pytest/__init__.py"))
