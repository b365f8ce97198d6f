"""The files of a checkout that count: its Python files and its tests, without environments and caches."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from workers.sandbox.launcher import ENVIRONMENTS, NEVER_COPIED
from workers.sandbox.launching import is_environment


def python_files(tree: Path) -> Iterator[Path]:
    """The Python files of a checkout that a copy of it holds, without those of its environments."""
    for directory, subdirectories, names in os.walk(tree):
        here = Path(directory)
        subdirectories[:] = sorted(name for name in subdirectories if not left_out(here / name))
        yield from (here / name for name in sorted(names) if name.endswith(".py"))


def left_out(directory: Path) -> bool:
    """Whether a copy of the checkout leaves a directory out: an environment, a cache, or git's."""
    if directory.name in ENVIRONMENTS:
        return is_environment(directory)
    return directory.name in NEVER_COPIED


def is_test_file(path: str) -> bool:
    """Whether a file is called as pytest's files of tests are."""
    name = PurePosixPath(path).name
    return name.startswith("test_") or name.endswith("_test.py")


def module_name(path: str) -> str:
    """The dotted name that a file is imported by; a leading `src` is left out."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[0] in ("src", "lib"):
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def exists(path: Path) -> bool:
    """Whether there is such a file or directory; False also for what is too long to be a name, as a word of a command may be."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """The same for a file."""
    return exists(path) and path.is_file()
