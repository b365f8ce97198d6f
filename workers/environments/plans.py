"""Makes plans of what a checkout says about itself, best evidence first, ending in plain fallbacks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from memory.model import Plan

DEFAULT_COMMAND = ("python", "-m", "pytest")
USUAL_MINORS = ("3.11", "3.12", "3.10", "3.9", "3.13", "3.8", "3.14")
"""The Pythons to try where the project names none: those first for which most wheels exist."""


def plans_for(tree: Path, changed: Collection[str] = ()) -> tuple[Plan, ...]:  # noqa: ARG001 - the sources follow
    """Plans for the project in `tree`, best evidence first. Of several projects that of the files `changed` is planned for.

    Nothing of the tree is executed. Paths in `changed` are relative to the tree.
    """
    installed = any((tree / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    plan = Plan(
        source="nothing but pytest is known to be needed",
        minors=USUAL_MINORS,
        requirements=("pytest",),
        project="." if installed else None,
        test_command=DEFAULT_COMMAND,
    )
    return (plan,)
