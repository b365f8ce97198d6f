"""Which files a fix may not touch: those that decide what counts as passing. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from workers.repair.classify import is_test_path

CONFIGURATION = frozenset(
    {
        ".coveragerc",
        ".gitattributes",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        ".pytest.ini",
        ".pytest.toml",
        ".travis.yml",
        "Makefile",
        "azure-pipelines.yml",
        "conftest.py",
        "noxfile.py",
        "pyproject.toml",
        "pytest.ini",
        "pytest.toml",
        "setup.cfg",
        "setup.py",
        "sitecustomize.py",
        "tox.ini",
        "usercustomize.py",
    }
)
"""Names of files that configure pytest, CI, the build or the interpreter's start, wherever they lie."""

MODULES = frozenset({"_pytest", "apprentice_probe", "pytest", "sitecustomize", "usercustomize"})
"""Modules and packages that start the interpreter or run the tests: where imports begin, one of that name comes first."""

DIRECTORIES = frozenset({".circleci", ".ci", ".git", ".github", ".gitlab", ".tox", ".venv", "site-packages", "venv"})


def forbidden(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of `paths` that a fix may not change: tests and their data, configuration, CI, whatever leads outside."""
    return tuple(path for path in paths if _is_forbidden(PurePosixPath(path)))


def _is_forbidden(path: PurePosixPath) -> bool:
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return True
    if is_test_path(str(path)) or path.name in CONFIGURATION or path.suffix == ".pth":
        return True
    if any(part.partition(".")[0] in MODULES for part in path.parts[:2]):
        return True
    return any(part in DIRECTORIES for part in path.parts[:-1])
