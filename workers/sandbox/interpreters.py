"""Finds the directories that an interpreter needs, without running it: it may belong to the untrusted project."""

from __future__ import annotations

from pathlib import Path

from workers.errors import BadInput

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
    return [Path(*_normal(target.parts))]


def _normal(parts: tuple[str, ...]) -> list[str]:
    """Without `..`, by name only: resolving would lose the names that links use."""
    kept: list[str] = []
    for part in parts:
        if part == "..":
            kept = kept[:-1] or kept
        elif part != ".":
            kept.append(part)
    return kept


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
