"""The files that a fix may not touch: they decide what counts as passing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from workers.repair.classify import is_test_path

PYTEST = {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", ".coveragerc"}
BUILD = {"Makefile", "noxfile.py", "pyproject.toml", "setup.cfg", "setup.py", ".gitattributes"}
CI = {".gitlab-ci.yml", ".pre-commit-config.yaml", ".travis.yml", "azure-pipelines.yml"}
CONFIGURATION = frozenset({*PYTEST, *BUILD, *CI, "sitecustomize.py", "usercustomize.py"})
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
