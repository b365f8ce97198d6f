"""One case: repair a copy of its repository from its tests alone, then judge the patch by the tests held out."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.repair.cases import Case
from benchmarks.repair.results import Result
from bot.local import digest, snapshot
from memory.model import Task, TaskKind
from memory.retrieval.embeddings import Embedder, HashedWords
from workers.context import Context, open_context
from workers.diffs import apply_unified, parse_diff
from workers.errors import ApprenticeError
from workers.repair.episode import repair
from workers.repair.result import Repaired
from workers.sandbox.project import Project, discover
from workers.sandbox.run_tests import run_tests
from workers.settings import WorkerSettings, load


def attempted(case: Case, seed: int) -> Result:
    """What comes of a case with an empty memory. An error of the engine's is in `problem` and is not a fix."""
    with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as home:
        # An empty memory recalls nothing, so a cheap embedder changes no result.
        context = remembering(Path(home), case.budget_seconds, seed, HashedWords())
        try:
            return with_memory(case, context)
        except ApprenticeError as error:
            return _result(case, None, None, problem=str(error))
        finally:
            context.store.close()


def remembering(home: Path, budget_seconds: float, seed: int, embedder: Embedder) -> Context:
    """A context whose memory lies under `home`; no task is kept from it."""
    settings = load(WorkerSettings, home=home, budget_seconds=budget_seconds, seed=seed, control_share=0.0)
    return open_context(settings, embedder=embedder)


def with_memory(case: Case, context: Context) -> Result:
    """What comes of a case with what `context` remembers. Raises ApprenticeError when its tests cannot be run."""
    repaired = repaired_by(case, context)
    return _result(case, repaired, judged(case, repaired, context))


def repaired_by(case: Case, context: Context) -> Repaired:
    """Repair a copy of the case's repository."""
    with opened(case, context) as (task, project):
        return repair(task, project, context.for_task(case.id).repair_deps())


@contextmanager
def opened(case: Case, context: Context, *, task_id: str = "", repository: str = "") -> Iterator[tuple[Task, Project]]:
    """A copy of the case's repository, with the task to repair it; a fresh one, of the case's own project, if not named."""
    with snapshot(case.repository) as tree:
        project = discover(tree, python=None, test_command=case.test_command, copy_of=case.repository)
        task = Task(
            id=task_id or uuid.uuid4().hex,
            kind=TaskKind.REPAIR,
            repository=repository or f"benchmark/{case.labels.get('project', case.id)}",
            sha=digest(tree),
            number=0,
            created_at=context.clock(),
        )
        context.store.tasks.add(task)
        yield task, project


def judged(case: Case, repaired: Repaired, context: Context) -> bool | None:
    """Whether the held-out tests pass, all of them, with the patch; None when there is nothing to judge."""
    if case.held_out is None or repaired.proven is None:
        return None
    with snapshot(case.repository) as tree:
        _apply(repaired.proven.patch, tree)
        shutil.copytree(case.held_out, tree, dirs_exist_ok=True)
        project = discover(tree, python=None, test_command=case.held_out_command, copy_of=case.repository)
        report = run_tests(context.sandbox, project).report
    return report.complete and bool(report.passing()) and not report.failing()


def _apply(patch: str, tree: Path) -> None:
    for change in parse_diff(patch).files:
        target = tree / change.path
        target.write_bytes(apply_unified(target.read_bytes().decode(), patch).encode())


def _result(case: Case, repaired: Repaired | None, correct: bool | None, problem: str = "") -> Result:
    proven = repaired.proven if repaired else None
    first = repaired.first if repaired else None
    proof = proven.proof if proven else None
    return Result(
        id=case.id,
        plausible=proven is not None,
        correct=correct,
        error_type=repaired.failure.error_type if repaired and repaired.failure else "",
        strategy=proven.strategy if proven else "",
        template=proven.shape.template if proven and proven.shape else "",
        candidates=repaired.candidates if repaired else 0,
        rivals=sum(each.rivals for each in repaired.attempts) if repaired else 0,
        candidates_to_first=first.candidates if first else None,
        seconds=round(repaired.seconds, 2) if repaired else 0.0,
        seconds_to_first=round(first.seconds, 2) if first else None,
        patch=proven.patch if proven else "",
        tier=", ".join(filter(None, (proof.confidence, proof.doubt))) if proof else "",
        asked=proof.asked if proof else False,
        undecided=proof.undecided if proof else False,
        share=proof.share if proof else 1.0,
        problem=problem or ("" if repaired is None or repaired.failure else "nothing fails before the repair"),
        labels=dict(case.labels),
    )
