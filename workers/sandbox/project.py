"""Finds a project's interpreter, test command and import roots by reading files, without running its code."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.errors import BadInput
from workers.sandbox.launcher import ENVIRONMENTS, NEVER_COPIED

LONGEST_CHAIN = 16
SYSTEM = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"))
"""The sandbox always shows these, so they are never listed."""


def prefixes(python: Path) -> tuple[Path, ...]:
    """The prefix directories of `python`: its virtual environment, if any, and the installations it leads to.

    Keeps the names that links use, so that they work inside the sandbox.
    Lists only Python installations and virtual environments: a link in a repository exposes nothing else.
    Raises BadInput when there is no such interpreter, or it lies in no installation.
    """
    if not python.is_file():
        raise BadInput(f"{python} is not an interpreter: name an existing python executable")
    found: list[Path] = []
    seen: set[Path] = set()
    waiting = [python.absolute()]
    while waiting and len(seen) < LONGEST_CHAIN:
        executable = waiting.pop(0)
        if executable in seen:
            continue
        seen.add(executable)
        prefix = executable.parent.parent
        if not _is_system(prefix) and prefix not in found and (is_environment(prefix) or _is_installation(prefix)):
            found.append(prefix)
        waiting += _next(executable) + _base(prefix)
    real = python.resolve().parent.parent
    if not _is_system(real) and not any(path.resolve() == real for path in found):
        raise BadInput(
            f"{python} lies in no Python installation: name the python of a virtual environment or an installation"
        )
    return tuple(found)


def is_environment(prefix: Path) -> bool:
    """Whether a directory is a virtual environment."""
    return (prefix / "pyvenv.cfg").is_file()


def _next(executable: Path) -> list[Path]:
    """The target of one link."""
    if not executable.is_symlink():
        return []
    target = executable.parent / executable.readlink()
    return [Path(os.path.normpath(target))]  # by name only: resolving would lose the names that links use


def _base(environment: Path) -> list[Path]:
    """The base interpreter of a virtual environment; nothing for any other directory."""
    if not is_environment(environment):
        return []
    text = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and key.strip() == "home" and value.strip().startswith("/"):
            return [Path(value.strip()) / "python3"]
    return []


def _is_installation(prefix: Path) -> bool:
    """Whether the directory holds a standard library, as an installation does."""
    return prefix != Path("/") and any(prefix.glob("lib*/python3*/os.py"))


def _is_system(prefix: Path) -> bool:
    return prefix == Path("/") or any(prefix == path or path in prefix.parents for path in SYSTEM)


DEFAULT_COMMAND = ("python", "-m", "pytest")
SYSTEM_COMMANDS = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))
CONFIGURED_IN = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pytest.toml": "",
    "pyproject.toml": "[tool.pytest",
    "setup.cfg": "[tool:pytest]",
    "tox.ini": "[pytest]",
}
"""The files where pytest reads its configuration, and the text that marks it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A checkout that can be tested. `source_roots` are put on PYTHONPATH, relative to the tree, nearest first."""

    tree: Path
    python: Path
    test_command: tuple[str, ...]
    source_roots: tuple[str, ...]
    read_only: tuple[Path, ...] = ()


def discover(
    tree: Path, *, python: Path | None, test_command: str | None, environment_of: Path | None = None
) -> Project:
    """The project in `tree`. `environment_of` is the directory with the `.venv`, when `tree` is a copy of it.

    Raises BadInput with one line for the user when the project cannot be tested.
    """
    tree = tree.absolute()
    if not tree.is_dir():
        raise BadInput(f"{tree} is not a directory: name the root of a checkout")
    home = (environment_of or tree).absolute()
    if not _has_tests(tree):
        raise BadInput(f"no tests in {home}: there is no test_*.py, no *_test.py and no pytest configuration")
    interpreter = (python or _environment_python(home) or Path(sys.executable)).absolute()
    prefixes(interpreter)
    return Project(
        tree=tree,
        python=interpreter,
        test_command=_command(test_command, tree, home, interpreter),
        source_roots=("src", ".") if (tree / "src").is_dir() else (".",),
    )


def _environment_python(home: Path) -> Path | None:
    for name in sorted(ENVIRONMENTS):
        python = home / name / "bin" / "python"
        if python.is_file() and is_environment(home / name):
            return python
    return None


def _has_tests(tree: Path) -> bool:
    return any(_is_configured(tree / name, mark) for name, mark in CONFIGURED_IN.items()) or any(_test_files(tree))


def _is_configured(path: Path, mark: str) -> bool:
    return path.is_file() and not path.is_symlink() and mark in path.read_text(encoding="utf-8", errors="replace")


def _test_files(tree: Path) -> Iterator[Path]:
    for directory, subdirectories, names in os.walk(tree):
        here = Path(directory)
        subdirectories[:] = [name for name in subdirectories if not _left_out(here / name)]
        for name in names:
            if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
                yield here / name


def _left_out(directory: Path) -> bool:
    if directory.name in ENVIRONMENTS:
        return is_environment(directory)
    return directory.name in NEVER_COPIED


def _command(text: str | None, tree: Path, home: Path, python: Path) -> tuple[str, ...]:
    """The words of the test command. Raises BadInput when its program does not exist."""
    if text is None:
        return DEFAULT_COMMAND
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadInput(f"the test command {text!r} cannot be split into words: {problem}") from None
    if not words:
        raise BadInput("the test command is empty: give one, or leave the option out for `python -m pytest`")
    return (_program(words[0], tree, home, python), *words[1:])


def _program(name: str, tree: Path, home: Path, python: Path) -> str:
    """The program as the sandbox finds it; BadInput when the sandbox cannot find it."""
    if name in ("python", "python3"):
        return name
    if "/" in name:
        if _runs(tree / name):
            return name
        if _runs(home / name):
            return str(home / name)
    elif any(_runs(place / name) for place in (python.parent, *SYSTEM_COMMANDS)):
        return name
    raise BadInput(
        f"the test command's program {name!r} does not exist in the checkout, beside {python} or in /usr/bin: "
        "name one that does (shell syntax needs sh -c '…')"
    )


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
