"""Review a pull request: read the change, match its findings with earlier ones, decide what to post, post it once.

`read_change`, `known_learnings` and `choose` serve a review on the command line too; only this flow publishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from memory.history.lessons import HistoryLessons
from memory.model import Action, Attempt, Decision, Finding, Sighting, Task, TaskKind
from memory.policy.learner import Learner
from memory.policy.review_policy import PostingDecision
from memory.sharing import PATH, BadLearnings, Learnings, from_elsewhere
from memory.store.database import dump
from workers.context import Context, JobContext
from workers.diffs import parse_diff
from workers.environments.provide import Commit
from workers.errors import BadInput, CannotRun, Gone
from workers.flows.ask import learnings_at
from workers.flows.configured import configuration_at, not_wanted
from workers.flows.finding_outcomes import record_endings
from workers.flows.pinning import noted, outdated
from workers.flows.posting import post, post_skipped
from workers.flows.replies import may_command, post_comment, reply_to_outsider
from workers.flows.rounds import REPAIR_OF_REVIEW, REVIEWED, Round, before, ended, exported, missed, recognised
from workers.git import Mirror
from workers.jobs import Job, ReviewPull
from workers.messages import review
from workers.ports import PullRequest
from workers.repair.engines.engine import RepairDeps
from workers.repair.episode import repair
from workers.repair.result import RepairStatus
from workers.review.broken_tests import ComparedTests
from workers.review.detectors.detector import MODEL, ChangeDetector
from workers.review.engine import Reviewed, review_change
from workers.review.plan import RepairSuggestion, ReviewPlan, decide, hints, plan_review, repair_suggestion
from workers.review.read_report import CoverageStatus, FileCoverage
from workers.sandbox.run_tests import Project


def run(job: ReviewPull, context: JobContext) -> Sequence[Job]:
    """Check who asked, read the pinned change, decide, and post one review and one check run."""
    github = context.connect(job.repository)
    if job.commanded and not may_command(github, job.actor):
        reply_to_outsider(job, context, github)
        return ()
    pull = github.pull(job.number)
    if not job.commanded and pull.author.id == github.own_account().id:
        return ()
    if _overtaken(job, pull, github, context):
        return noted(job, pull, context)
    mirror = context.mirror(job.repository, github)
    opened_on, pull = pull.base_sha, _based(mirror, pull)
    configuration = configuration_at(mirror, pull.base_sha, job.repository, context)
    if not job.commanded and (why := not_wanted(job, pull, configuration.chosen)):
        post_skipped(job, pull, why, context, github)
        return ()
    _refuse_flood(job, pull, github, context)
    context = context.configured(configuration.chosen)
    this = replace(
        _open(job, pull, mirror, github, context),
        configuration=configuration,
        other_base=pull.base_ref if pull.base_sha != opened_on else "",
    )
    read = _read(this, context)
    if _overtaken(structs.replace(job, head_sha=pull.head_sha), github.pull(job.number), github, context):
        return ()
    this, reviewed = recognised(this, read, context)
    record_endings(this, reviewed, context)
    this = _reopened(this, reviewed)
    reviewed, learnings = known_learnings(this.mirror, this.pull.base_sha, reviewed, context)
    decided = choose(
        reviewed,
        this.task,
        context.for_task(f"review:{this.pull.number}").learner,
        context,
        arm_key=f"{this.task.repository}#{this.pull.number}",
        learnings=learnings,
        known={sighting.finding.fingerprint for sighting in this.earlier},
        made=this.made,
    )
    plan = _plan(this, reviewed, decided, context)
    post(this, reviewed, decided, plan, context)
    context.store.tasks.finish(this.task.id, REVIEWED, ended(reviewed, silent=this.silent))
    return ()


REVIEWS_FOR_OUTSIDERS = 200
"""So many commits of outsiders' pull requests a day are reviewed without a command, for one installation of the App."""


def _refuse_flood(job: ReviewPull, pull: PullRequest, github: GitHub, context: JobContext) -> None:
    """Raise CannotRun beyond the limit: the check run is neutral then, and says how to get the review."""
    if job.commanded or pull.head_repository_id == job.repository.id or may_command(github, pull.author):
        return
    installation = f"outsider-review:{job.repository.installation_id}:"
    key = f"{installation}{job.repository.id}:{pull.number}:{pull.head_sha}"
    today = context.store.inbox.effects_since(installation, context.clock() - timedelta(days=1))
    if key not in today and len(today) >= REVIEWS_FOR_OUTSIDERS:
        ask = f"a maintainer can ask with `@{context.settings.bot_name} review`"
        raise CannotRun(f"{len(today)} commits by authors without write access were reviewed within a day; {ask}")
    context.store.inbox.begin_effect(key, context.job_id, context.clock())


def _overtaken(job: ReviewPull, pull: PullRequest, github: GitHub, context: JobContext) -> bool:
    """Whether it is closed or was pushed to, with a reply to a command: the newer push has its own job."""
    why = outdated(job, pull, context)
    if why and job.commanded and job.comment_id:
        post_comment(job.number, review.overtaken("review", why), f"{context.job_id}:overtaken", context, github)
    return bool(why)


def _open(job: ReviewPull, pull: PullRequest, mirror: Mirror, github: GitHub, context: JobContext) -> Round:
    mirror.fetch(pull.base_sha, pull.head_sha)
    task = context.task(TaskKind.REVIEW, job.repository, sha=pull.head_sha, number=pull.number)
    made = {decision.subject: decision for decision in context.store.ledger.decisions_of_task(task.id)}
    own = {decision.id for decision in made.values()}
    seen = context.store.posts.sightings(job.repository.key, pull.number)
    from_fork = pull.head_repository_id != job.repository.id
    rounds = before(context.store.tasks.ended(TaskKind.REVIEW, job.repository.key, pull.number), task)
    silent = context.configuration.silent and not job.commanded
    if not silent:  # what was only seen in silence is posted now
        unheard = {each.sha for each in rounds if each.silent}
        rounds = tuple(each for each in rounds if not each.silent)
        seen = [each for each in seen if each.sha not in unheard or each.action is not Action.HOLD]
    return Round(
        job=job,
        task=task,
        github=github,
        pull=pull,
        mirror=mirror,
        diff=mirror.diff(pull.base_sha, pull.head_sha),
        earlier=tuple(sighting for sighting in seen if sighting.decision_id not in own),
        made=made,
        may_ask_model=context.models is None or may_ask(job, pull, github),
        may_run_tests=not from_fork or context.settings.review_fork_tests or job.commanded,
        before=rounds,
        silent=silent,
    )


def _based(mirror: Mirror, pull: PullRequest) -> PullRequest:
    """The pull request with its base here; where that was force-pushed away, on the branch as it is now."""
    try:
        mirror.fetch(pull.base_sha)
    except Gone:
        pull = replace(pull, base_sha=mirror.tip(pull.base_ref))
        mirror.fetch(pull.base_sha)
    return pull


def _read(this: Round, context: JobContext) -> Reviewed:
    return read_change(
        this.mirror,
        (this.pull.base_sha, this.task.sha),
        this.diff,
        context,
        may_run_tests=this.may_run_tests,
        detectors=readers(this, context),
        repository=this.task.repository,
        mending=replace(this.task, id=f"{this.task.id}{REPAIR_OF_REVIEW}", kind=TaskKind.REPAIR),
    )


def read_change(
    mirror: Mirror,
    commits: tuple[str, str],
    diff: str,
    context: Context,
    *,
    may_run_tests: bool,
    detectors: Sequence[ChangeDetector],
    repository: str,
    mending: Task | None = None,
    python: Path | None = None,
) -> Reviewed:
    """Run the detectors on the change between two commits, and the tests of both, on trees without a `.git`.

    The tests run on the interpreter `python`, or in an environment that is made for them. Where tests are broken, the
    head is repaired as the task `mending`, if there is one.
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
        if mending is None or reviewed.tests is None or not reviewed.tests.broken:
            return reviewed
        before = {path: _bytes(base_tree / path) for path in _changed(reviewed) if path.endswith(".py")}
        seconds = MENDING_SECONDS if reviewed.culprit is None else MENDING_BESIDE_SECONDS
        return replace(reviewed, fix=_mended(mending, project(head_tree), reviewed.tests, before, context, seconds))


def _changed(reviewed: Reviewed) -> list[str]:
    return [path for file in reviewed.change.files for path in {file.path, file.old_path}]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


MENDING_SECONDS = 90.0
"""For so long at most a review looks for a repair of the head; `apprentice fix` looks longer."""

MENDING_BESIDE_SECONDS = 30.0
"""The same where the part of the change that breaks the tests is known: taking it back is a repair already."""


def _mended(
    task: Task,
    project: Project | None,
    tests: ComparedTests,
    before: Mapping[str, bytes | None],
    context: Context,
    seconds: float,
) -> Attempt | None:
    """The proven attempt to make the broken tests pass; None where nothing was found, and the progress says why."""
    named = [test.id for test in tests.broken if test.id]
    if project is None or not named:
        return None
    context.store.tasks.add(task)
    context.progress(f"looking for a repair of what is broken: {', '.join(named[:3])}{', …' if len(named) > 3 else ''}")
    try:
        repaired = repair(task, project, _within(seconds, context.repair_deps()), named=named, before=before)
    except (BadInput, CannotRun) as reason:
        context.progress(f"not repaired: {reason}")
        context.store.tasks.finish(task.id, RepairStatus.NOT_FIXED, "")
        return None
    context.store.tasks.finish(task.id, repaired.status, dump(repaired))
    return repaired.proven if repaired.proven is not None and repaired.proven.proof is not None else None


def _within(seconds: float, deps: RepairDeps) -> RepairDeps:
    return replace(deps, budget_seconds=min(seconds, deps.budget_seconds))


def _reopened(this: Round, reviewed: Reviewed) -> Round:
    """A user who asks again gets what could not be shown before: suggestions that are now proven."""
    if not this.job.commanded:
        return this
    proven = {finding.fingerprint for finding in reviewed.findings if _is_proven(finding)}
    unproven = {sighting.finding.fingerprint for sighting in this.earlier}
    unproven -= {sighting.finding.fingerprint for sighting in this.earlier if _is_proven(sighting.finding)}
    again = proven & unproven
    return replace(this, earlier=tuple(s for s in this.earlier if s.finding.fingerprint not in again))


def _is_proven(finding: Finding) -> bool:
    return finding.suggestion is not None and finding.suggestion.proof is not None


def known_learnings(
    mirror: Mirror, base: str, reviewed: Reviewed, context: Context
) -> tuple[Reviewed, tuple[Learnings, ...]]:
    """The imported learnings, and those of the repository's own file at the commit `base`; an invalid file counts as not read."""
    try:
        return reviewed, learnings_of(mirror, base, context)
    except BadLearnings as error:
        unread = FileCoverage(path=PATH, status=CoverageStatus.FAILED, reason=f"on the base branch, {error}")
        others = (each for each in reviewed.coverage if each.path != PATH)
        return replace(reviewed, coverage=(*others, unread)), imported_learnings(context)


def learnings_of(mirror: Mirror, base: str, context: Context) -> tuple[Learnings, ...]:
    """The imported learnings, and those of the repository's own file at the commit `base`; raises BadLearnings for a bad file."""
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
) -> Mapping[str, PostingDecision]:
    """A decision for every finding but the `known`, which an earlier round decided: a push is no second draw.

    `made` are the decisions, by fingerprint, of an earlier worker on the same task.
    """
    decided = partial(
        decide,
        learner=learner,
        task_id=task.id,
        repository=task.repository,
        arm=learner.arm(arm_key),
        made=made,
        taste=context.taste(TaskKind.REVIEW, task.repository),
        learnings=learnings,
        past=hints(reviewed, known_lessons(task.repository, context)),
    )
    here, elsewhere = (
        [finding for finding in findings if finding.fingerprint not in known]
        for findings in (reviewed.findings, reviewed.elsewhere)
    )
    return {**decided(elsewhere, slots=0), **decided(here, slots=context.settings.max_comments)}


def _plan(this: Round, reviewed: Reviewed, decided: Mapping[str, PostingDecision], context: JobContext) -> ReviewPlan:
    """Place every finding; what an earlier round reported as gone is no news, unless it is back.

    A silent round shows in its check run all that is there: no earlier one was read anywhere else.
    """
    actions = {s.finding.fingerprint: Action.SUMMARY if this.silent else s.action for s in this.earlier}
    actions |= {fingerprint: each.action for fingerprint, each in decided.items()}
    plan = plan_review(
        reviewed,
        actions,
        earlier=() if this.silent else this.earlier_by_new_names(),
        max_comments=context.settings.max_comments,
        gone=this.again.gone.keys(),
        repair=_new_repair(this, reviewed, context),
    )
    return replace(plan, missed=missed(this, reviewed, plan.new, context))


def _new_repair(this: Round, reviewed: Reviewed, context: JobContext) -> RepairSuggestion | None:
    """The repair as a suggestion, unless an earlier round posted the same, or comments are switched off."""
    if not context.settings.max_comments:
        return None
    found = repair_suggestion(reviewed, partial(this.mirror.text, this.task.sha))
    known = {post.fingerprint for post in context.store.posts.on(this.task.repository, this.pull.number)}
    return None if found is None or found.fingerprint in known else found


if TYPE_CHECKING:  # a local review loads nothing of these
    from workers.agent.reviewer import ModelReviewer
    from workers.github.adapter import GitHub
    from workers.llm.messages import Model


def may_ask(job: ReviewPull, pull: PullRequest, github: GitHub) -> bool:
    """Whether an answer of the model may be paid for. A bot counts only for what it pushed to this repository itself."""
    if job.commanded:
        return True
    if pull.author.is_bot:
        return pull.head_repository_id == job.repository.id
    return may_command(github, pull.author)


def readers(this: Round, context: JobContext) -> tuple[ChangeDetector, ...]:
    """The detector of the model, or the one that keeps its earlier findings where it may not be asked any more."""
    repository = this.job.repository.key
    model = context.model(this.task.id, repository)
    if model is None and not any(each.finding.tool == MODEL for each in this.earlier):
        return ()
    if model is None or not this.may_ask_model:
        from workers.agent.reviewer import Unasked

        return (Unasked(earlier=this.earlier),)
    return (reviewer(model, repository, context, title=this.pull.title, body=this.pull.body, earlier=this.earlier),)


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
