"""Which detectors read a change: our own, those that the repository's kind calls for, and the operator's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from workers.ports import Sandbox
from workers.review.covering import ImportGraph
from workers.review.detectors.bandit import Bandit
from workers.review.detectors.configured import Configured
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.detector import ChangeDetector, Detector, HeadTree
from workers.review.detectors.mypy import Mypy, typed_files
from workers.review.detectors.ruff import Ruff
from workers.review.detectors.secrets import Secrets
from workers.review.detectors.semantic.reader import Semantic
from workers.review.detectors.untested import Untested
from workers.review.detectors.workflows import Workflows
from workers.review.project_options import is_typed, mypy_options, ruff_options
from workers.review.suggest import Trace
from workers.settings import ReviewTool


def readers_of_trees(sandbox: Sandbox, base: Path, tools: Sequence[ReviewTool]) -> tuple[Detector, ...]:
    """The detectors that read one side at a time; the project's options are those of the checkout `base`."""
    return (Ruff(sandbox, ruff_options(base)), Bandit(sandbox), *(Configured(sandbox, tool) for tool in tools))


def readers_of_changes(
    sandbox: Sandbox,
    base: Path,
    head: HeadTree,
    trace: Trace | None,
    imports: Callable[[], ImportGraph],
) -> tuple[ChangeDetector, ...]:
    """The detectors that compare both sides."""
    ran = lines_that_ran(trace or {})

    def may_be_tested(path: str) -> bool:
        return path in ran if trace is not None else imports().may_be_tested(path)

    return (
        Secrets(),
        Dependencies(),
        Workflows(),
        Semantic(ran),
        Untested(may_be_tested),
        Mypy(sandbox, typed_files(head.sources, all_of_them=is_typed(base)), mypy_options(base)),
    )


def lines_that_ran(trace: Trace) -> Mapping[str, frozenset[int]]:
    """The lines that some test came by, by path."""
    ran: dict[str, frozenset[int]] = {}
    for test, by_path in trace.items():
        for path, lines in by_path.items() if test else ():
            ran[path] = ran.get(path, frozenset()) | lines
    return ran
