"""The project that benchmarks repair: the playground's parcel project, in a directory of its own."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path

from benchmarks.planting import Planted
from bot.playground.script import PROJECT
from workers.sandbox.project import Project, discover


def founded(directory: Path, bug: Planted | None = None) -> Project:
    """The project in `directory`, with a bug if one is given. The interpreter is our own."""
    tree = shutil.copytree(PROJECT, directory, ignore=shutil.ignore_patterns("__pycache__"))
    _without_our_plugins(tree)
    if bug is not None:
        (tree / bug.path).write_text(bug.source, encoding="utf-8")
    return discover(tree, python=Path(sys.executable), test_command=None)


def _without_our_plugins(tree: Path) -> None:
    """Our environment's pytest plugins are not the project's, and their import would be most of what a run costs."""
    off = " ".join(f"-p no:{plugin.name}" for plugin in entry_points(group="pytest11"))
    settings = tree / "pyproject.toml"
    configured = settings.read_text(encoding="utf-8")
    assert configured.rstrip().endswith("]"), "pytest's table is the last one"
    settings.write_text(f'{configured.rstrip()}\naddopts = "{off}"\n', encoding="utf-8")
