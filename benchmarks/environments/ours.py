"""The environment that the product makes for a checkout, by the way that `apprentice fix` goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.environments.checkouts import NotBuilt
from benchmarks.environments.suites import one_line
from bot.local import repository_name, snapshot
from memory.retrieval.embeddings import HashedWords
from workers.context import open_context
from workers.environments.provide import Commit
from workers.errors import ApprenticeError
from workers.sandbox.project import Project
from workers.settings import WorkerSettings, load


def ours(checkout: Path, scratch: Path) -> Project:
    """The environment that the product makes, in a home of its own. Raises NotBuilt."""
    context = open_context(
        load(WorkerSettings, home=scratch / "home"), embedder=HashedWords(), progress=_log_beside(scratch)
    )
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    try:
        with snapshot(checkout) as copy:
            shutil.copytree(copy, tree, symlinks=True)
        return context.project(tree, repository_name(checkout), commit=Commit(checkout))
    except ApprenticeError as problem:
        raise NotBuilt(one_line(str(problem))) from None
    finally:
        context.store.close()


def _log_beside(scratch: Path) -> Callable[[str], None]:
    """Keeps what the product says beside what is made."""

    def log_line(line: str) -> None:
        with (scratch.parent / f"{scratch.name}.log").open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")

    return log_line
