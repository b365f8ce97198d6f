"""The files that a fix may change or add, Python sources where the repository keeps its own; and those that no model reads."""

import re
import sys
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from workers.configuration.schema import PATH
from workers.repair.classify import belongs_to_tests

SUFFIXES = frozenset({".py", ".pyi"})
CONFIGURATION = frozenset({"noxfile.py", "setup.py", "sitecustomize.py", "usercustomize.py"})
"""Python files that configure the build, the tests or the interpreter's start, wherever they lie."""

MODULES = frozenset({"_pytest", "apprentice_probe", "pluggy", "pytest", "sitecustomize", "usercustomize"})
"""Modules and packages that start the interpreter or run the tests: where imports begin, one of that name comes first."""

DIRECTORIES = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})

PRIVATE = re.compile(
    r"(?:^|/)(?:\.env(?:\.[^/]*)?|\.netrc|\.pypirc|\.npmrc|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]*\.(?:pem|key|p12|pfx|kdbx))$",
    re.IGNORECASE,
)
"""Files that hold keys by custom. Committed they are leaked already; in a directory of one's own they may lie about."""

DECIDES = "decides what counts as passing"
NOT_EDITED = f"is not among the paths that {PATH} has edited"


def refusal(path: str, tree: Path, installed: Collection[str] = frozenset()) -> str:
    """Why a fix may not change or add a file, after its path; empty when it may. `tree` is the repository before the fix.

    A new module lies in a directory that is there, and nothing else of its name can be imported: neither from the
    standard library, nor from `installed`, nor from the repository.
    """
    pure, target = PurePosixPath(path), tree / path
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return "lies outside of the repository"
    if (
        belongs_to_tests(path)
        or pure.name in CONFIGURATION
        or any(part.partition(".")[0] in MODULES for part in pure.parts[:2])
    ):
        return DECIDES
    if pure.suffix not in SUFFIXES:
        return "is no Python source"
    if any(_holds_no_sources(folder, tree) for folder in pure.parents if folder.name):
        return "lies where no sources are kept"
    if any(each.is_symlink() for each in (target, *target.parents) if each.is_relative_to(tree)):
        return "leads through a symbolic link"
    return "" if target.is_file() else _refusal_of_new(pure, target, tree, installed)


def _holds_no_sources(folder: PurePosixPath, tree: Path) -> bool:
    """Whether tools keep their files in a folder; one that is called so and is a package, as `src/build`, has sources."""
    if folder.name in DIRECTORIES:
        return not (tree / folder / "__init__.py").is_file()
    return folder.name.startswith(".") or folder.name.endswith(("-info", ".egg"))


def _refusal_of_new(pure: PurePosixPath, target: Path, tree: Path, installed: Collection[str]) -> str:
    if not target.parent.is_dir():
        return "is new, and its directory too"
    if not pure.stem.isidentifier() or pure.stem.startswith("__"):
        return "is new, and its name is not that of a plain module"
    known = {*sys.stdlib_module_names, *installed, *_modules_at(tree), *_modules_at(tree / "src")}
    if pure.stem in known or target.with_suffix("").exists():
        return "is new, and hides another module of its name"
    return ""


def _modules_at(directory: Path) -> set[str]:
    return {each.name.partition(".")[0] for each in directory.iterdir()} if directory.is_dir() else set()
