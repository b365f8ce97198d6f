"""A change as a review knows it, without GitHub: read, tested, repaired, and a decision for each finding.

The review of a pull request and that of the command line share it; only the former publishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.history.lessons import HistoryLessons
from memory.model import Attempt, Decision, Sighting, Task
from memory.plain_yaml import BadYaml
from memory.policy.learner import Learner
from memory.policy.review_policy import PostingDecision
from memory.preferences import preference_model
from memory.sharing import PATH, Learnings, from_elsewhere
from memory.store.database import dump
from workers.context import Context
from workers.diffs import parse_diff
from workers.environments.provide import Commit
from workers.errors import BadInput, CannotRun
from workers.flows.ask import learnings_at
from workers.flows.rounds import exported
from workers.git import Mirror
from workers.messages.markdown import counted
from workers.repair.episode import repair
from workers.repair.result import RepairStatus
from workers.review.detectors.detector import ChangeDetector
from workers.review.engine import Reviewed, review_change
from workers.review.plan import decide, hints
from workers.review.read_report import CoverageStatus, FileCoverage
from workers.sandbox.project import Project

if TYPE_CHECKING:  # a review without a model loads nothing of it
    from workers.agent.reviewer import ModelReviewer
    from workers.llm.messages import Model


def read_change(
    mirror: Mirror,
    commits: tuple[str, str],
    diff: str,
    context: Context,
    *,
    may_run_tests: bool,
    detectors: Sequence[ChangeDetector],
    repository: str,
    repair_task: Task | None = None,
    python: Path | None = None,
) -> Reviewed:
    """Run the detectors on the change between two commits, and the tests of both, on trees without a `.git`.

    The tests run on the interpreter `python`, or in an environment that is made for them. Where tests are broken, the
    head is repaired as the task `repair_task`, if there is one.
    """
    with exported(mirror, *commits) as (base_tree, head_tree):
        commit_of = {base_tree: mirror.merge_base(*commits), head_tree: commits[1]}
        changed = [file.path for file in parse_diff(diff).files]
        untested: list[str] = []

        @cache
        def project(tree: Path) -> Project | None:
            commit = Commit(mirror.directory, commit_of[tree])
            try:
                return context.project(tree, repository, python=python, changed=changed, commit=commit)
            except BadInput as reason:  # no tests, which is nothing to speak of, or not those that were asked for
                context.progress(f"no test is run: {str(reason).replace(str(tree), 'the project')}")
                untested.extend([str(reason)] if context.configuration.test_command else [])
                return None

        reviewed = review_change(
            context.sandbox,
            base_tree=base_tree,
            head_tree=head_tree,
            diff=diff,
            project=project,
            may_run_tests=may_run_tests,
            progress=context.progress,
            tools=context.settings.review_tools,
            detectors=detectors,
            limits=context.limits,
            configuration=context.configuration,
        )
        reviewed = replace(reviewed, note=next(iter(untested), reviewed.note))
        if repair_task is None or reviewed.tests is None or not reviewed.tests.broken:
            return reviewed
        found = _repaired_head(repair_task, project(head_tree), reviewed, base_tree, context)
        return replace(reviewed, unrepaired=found) if isinstance(found, str) else replace(reviewed, fix=found)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


HEAD_REPAIR_SECONDS = 90.0
"""The longest time that a review looks for a repair of the head; `apprentice fix` looks longer."""


HEAD_REPAIR_BESIDE_CULPRIT_SECONDS = 30.0
"""The same where the part of the change that breaks the tests is known: taking it back is a repair already."""


def _repaired_head(
    task: Task, project: Project | None, reviewed: Reviewed, base_tree: Path, context: Context
) -> Attempt | str:
    """The proven attempt to make the broken tests pass, or a sentence that says why there is none."""
    named = [test.id for test in reviewed.tests.broken if test.id] if reviewed.tests else []
    if project is None or not named:
        return "No repair was looked for, because no test can run."
    context.store.tasks.add(task)
    context.progress(f"looking for a repair of what is broken: {', '.join(named[:3])}{', …' if len(named) > 3 else ''}")
    seconds = HEAD_REPAIR_SECONDS if reviewed.culprit is None else HEAD_REPAIR_BESIDE_CULPRIT_SECONDS
    deps = context.repair_deps()
    deps = replace(deps, budget_seconds=min(seconds, deps.budget_seconds))
    changed = (path for file in reviewed.change.files for path in (file.path, file.old_path))
    before = {path: _bytes(base_tree / path) for path in changed if path.endswith(".py")}
    try:
        repaired = repair(task, project, deps, named=named, before=before)
    except (BadInput, CannotRun) as reason:
        context.store.tasks.finish(task.id, RepairStatus.NOT_FIXED, "")
        return f"No repair was found: {str(reason).rstrip('.')}."
    context.store.tasks.finish(task.id, repaired.status, dump(repaired))
    if repaired.proven is None or repaired.proven.proof is None:
        other = "other " if reviewed.culprit else ""
        return (
            f"No {other}repair was found, with {counted(repaired.candidates, 'candidate')} in {repaired.seconds:.0f} s."
        )
    return repaired.proven


def known_learnings(
    mirror: Mirror, base: str, reviewed: Reviewed, context: Context
) -> tuple[Reviewed, tuple[Learnings, ...]]:
    """The imported learnings, and those of the repository's own file at the commit `base`; an invalid file counts as not read."""
    try:
        return reviewed, learnings_of(mirror, base, context)
    except BadYaml as error:
        unread = FileCoverage(path=PATH, status=CoverageStatus.FAILED, reason=f"on the base branch, {error}")
        others = (each for each in reviewed.coverage if each.path != PATH)
        return replace(reviewed, coverage=(*others, unread)), imported_learnings(context)


def learnings_of(mirror: Mirror, base: str, context: Context) -> tuple[Learnings, ...]:
    """The imported learnings, and those of the repository's own file at the commit `base`; raises BadYaml for a bad file."""
    own = learnings_at(mirror, base) if context.settings.share_learnings else None
    return (*imported_learnings(context), *(from_elsewhere(context.store, (own,)) if own else ()))


def imported_learnings(context: Context) -> tuple[Learnings, ...]:
    """The imported learnings, without what this installation learned itself."""
    return from_elsewhere(context.store, context.store.imports.all(Learnings))


def known_lessons(repository: str, context: Context) -> HistoryLessons | None:
    """The lessons of a repository's history; None without any, and where the setting says to learn from no change."""
    return context.store.past.lessons(repository, HistoryLessons) if context.settings.learn_changes else None


def choose(
    reviewed: Reviewed,
    task: Task,
    learner: Learner,
    context: Context,
    *,
    arm_key: str,
    learnings: Sequence[Learnings],
    known: AbstractSet[str] = frozenset(),
    made: Mapping[str, Decision] = MappingProxyType({}),
    sampled: bool = True,
) -> Mapping[str, PostingDecision]:
    """A decision for every finding but the `known`, which an earlier round decided: a push is no second draw.

    `made` are the decisions, by fingerprint, of an earlier worker on the same task. `sampled` is that of `decide_posting`.
    """
    decided = partial(
        decide,
        learner=learner,
        task_id=task.id,
        repository=task.repository,
        arm=learner.arm(arm_key),
        made=made,
        preferences=preference_model(context.store, task.repository),
        learnings=learnings,
        past=hints(reviewed, known_lessons(task.repository, context)),
        sampled=sampled,
    )
    here, elsewhere = (
        [finding for finding in findings if finding.fingerprint not in known]
        for findings in (reviewed.findings, reviewed.elsewhere)
    )
    return {**decided(elsewhere, slots=0), **decided(here, slots=context.settings.max_comments)}


def reviewer(
    model: Model,
    repository: str,
    context: Context,
    *,
    title: str = "",
    body: str = "",
    earlier: Sequence[Sighting] = (),
) -> ModelReviewer:
    """The detector with what is remembered for it."""
    from workers.agent.critique import opinions, principles
    from workers.agent.reviewer import ModelReviewer

    return ModelReviewer(
        model=model,
        embedder=context.embedder,
        constitution=principles(context.settings.model_principles),
        earlier=earlier,
        opinions=opinions(context.store, repository),
        title=title,
        body=body,
        progress=context.progress,
        paths=context.configuration.paths,
    )
