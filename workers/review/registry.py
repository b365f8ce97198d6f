"""Which detectors read a change: our own, those that the repository's kind calls for, and the operator's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workers.ports import Sandbox
from workers.review.detectors.bandit import Bandit
from workers.review.detectors.configured import Configured
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.detector import ChangeDetector, Detector, HeadTree
from workers.review.detectors.mypy import Mypy, typed_files
from workers.review.detectors.ruff import Ruff
from workers.review.detectors.secrets import Secrets
from workers.review.detectors.workflows import Workflows
from workers.review.project_options import is_typed, mypy_options, ruff_options
from workers.settings import ReviewTool


def readers_of_trees(sandbox: Sandbox, base: Path, tools: Sequence[ReviewTool]) -> tuple[Detector, ...]:
    """The detectors that read one side at a time; the project's options are those of the checkout `base`."""
    return (Ruff(sandbox, ruff_options(base)), Bandit(sandbox), *(Configured(sandbox, tool) for tool in tools))


def readers_of_changes(
    sandbox: Sandbox,
    base: Path,
    head: HeadTree,
) -> tuple[ChangeDetector, ...]:
    """The detectors that compare both sides."""
    return (
        Secrets(),
        Dependencies(),
        Workflows(),
        Mypy(sandbox, typed_files(head.sources, all_of_them=is_typed(base)), mypy_options(base)),
    )
