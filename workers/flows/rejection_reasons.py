"""What people say is wrong with what we did, kept as the lesson for the next time: a reward in words."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Attempt, Failure, NearMiss, Reflection, Signal, Task, TaskKind
from memory.reflections import digest
from memory.store.database import load
from workers.diffs import patched
from workers.errors import Gone
from workers.git import Mirror
from workers.job_context import JobContext
from workers.jobs import RepositoryRef
from workers.ports import GitHub
from workers.repair.result import Repaired

LONGEST = 500


def reflect(
    heard: Sequence[Signal], reason: str, repository: RepositoryRef, github: GitHub, context: JobContext
) -> None:
    """Keep why something was rejected, by whoever's word counts, so that the same is not done to the like again."""
    from workers.llm.untrusted import visible_text  # loaded only where there is something to clean

    words = " ".join(visible_text(reason).split())[:LONGEST]
    for signal in heard:
        if signal.weight > 0.0:
            context.store.reasons.add(signal.id, words)
            if (found := _rejected(signal.decision_id, context)) is not None:
                mirror = context.mirror(repository, github)
                context.store.reflections.add(_reflection(signal, *found, words, mirror))


def _rejected(decision_id: str, context: JobContext) -> tuple[Task, Failure, Attempt] | None:
    """The repair that a decision led to; None for anything else."""
    decision = context.store.ledger.decision(decision_id)
    stored = context.store.tasks.get(decision.task_id) if decision else None
    if stored is None or stored.task.kind is not TaskKind.REPAIR or not stored.summary:
        return None
    repaired = load(Repaired, stored.summary)
    attempt = next((each for each in repaired.attempts if each.decision_id == decision_id), None)
    return None if attempt is None or repaired.failure is None else (stored.task, repaired.failure, attempt)


def _reflection(
    signal: Signal, task: Task, failure: Failure, attempt: Attempt, words: str, mirror: Mirror
) -> Reflection:
    return Reflection(
        id=signal.decision_id,
        repository=task.repository,
        error_type=failure.error_type,
        failing_tests=failure.failing_tests,
        strategy=attempt.strategy,
        outcome=attempt.outcome,
        candidates=attempt.candidates,
        ruled_out=_digests(task.sha, attempt.patch, mirror),
        nearest=NearMiss(
            path="",
            line=0,
            template="",
            edit=attempt.patch,
            passed=len(failure.failing_tests),
            error_type="rejected",
            message=words,
        ),
        summary=f"A maintainer rejected this repair: {words}",
        created_at=signal.created_at,
    )


def _digests(sha: str, patch: str, mirror: Mirror) -> tuple[str, ...]:
    """The names under which the embedded engine knows the edits of a patch; none where the commit is gone."""
    try:
        mirror.fetch(sha)
    except Gone:
        return ()
    after = patched(patch, lambda path: mirror.text(sha, path))
    before = {path: mirror.text(sha, path) for path in after}
    return tuple(digest(path, old, after[path]) for path, old in before.items() if old is not None)
