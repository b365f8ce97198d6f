"""Review a pull request: read the change, decide what is worth saying, say it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from memory.history.lessons import Lessons
from memory.model import Finding, Task, TaskKind
from memory.sharing.document import PATH
from memory.sharing.harvest import from_elsewhere
from memory.sharing.lessons import Learnings
from memory.sharing.strict import BadLearnings
from workers.comments import reviews
from workers.context import Context
from workers.errors import BadInput, Gone
from workers.flows.endings import hear_endings
from workers.flows.missed import missed
from workers.flows.modelled import may_ask, readers
from workers.flows.permissions import actor_of, may_command, refuse, say
from workers.flows.posting import post
from workers.flows.recognition import recognised
from workers.flows.rounds import REVIEWED, Round, before, ended
from workers.git import Mirror
from workers.jobs import Job, Review
from workers.ports import GitHub, PullRequest
from workers.review.coverage import CoverageStatus, FileCoverage
from workers.review.decide import Decided, decide
from workers.review.engine import Reviewed, review_change
from workers.review.learnings import learnings_at
from workers.review.past import words
from workers.review.plan import ReviewPlan, plan_review
from workers.sandbox.project import Project, discover


def run(job: Review, context: Context) -> Sequence[Job]:
    """Check who asked, read the pinned change, decide, and post one review and one check run."""
    github = context.connect(job.repository)
    if job.commanded and not may_command(github, actor_of(job.actor)):
        refuse(job, context, github)
        return ()
    pull = github.pull(job.number)
    if _overtaken(job, pull):
        _say_overtaken(job, pull, github, context)
        return ()
    this = _open(job, pull, github, context)
    read = _read(this, context)
    now = github.pull(job.number)
    if _overtaken(job, now):
        _say_overtaken(job, now, github, context)
        return ()
    this, reviewed = recognised(this, read, context)
    hear_endings(this, reviewed, context)
    this = _reopened(this, reviewed)
    reviewed, learnings = _learned_elsewhere(this, reviewed, context)
    decided = _decide(this, reviewed, learnings, context)
    plan = _plan(this, reviewed, decided, context)
    post(this, reviewed, decided, plan, context)
    context.store.tasks.finish(this.task.id, REVIEWED, ended(reviewed))
    return ()


def _overtaken(job: Review, pull: PullRequest) -> bool:
    """Closed, or pushed to since: the newer push has a job of its own."""
    return pull.state != "open" or (bool(job.head_sha) and pull.head_sha != job.head_sha)


def _say_overtaken(job: Review, pull: PullRequest, github: GitHub, context: Context) -> None:
    if job.commanded and job.comment_id:
        key = f"{context.job_id}:overtaken"
        say(job.number, reviews.overtaken(closed=pull.state != "open", key=key), key, context, github)


def _open(job: Review, pull: PullRequest, github: GitHub, context: Context) -> Round:
    mirror = context.mirror(job.repository, github)
    opened_on, pull = pull.base_sha, _fetched(mirror, pull)
    task = Task(
        id=context.job_id,
        kind=TaskKind.REVIEW,
        repository=job.repository.full_name,
        sha=pull.head_sha,
        number=pull.number,
        created_at=context.clock(),
    )
    context.store.tasks.add(task)
    made = {decision.subject: decision for decision in context.store.ledger.decisions_of_task(task.id)}
    own = {decision.id for decision in made.values()}
    seen = context.store.posts.sightings(job.repository.full_name, pull.number)
    from_fork = pull.head_repository_id != job.repository.id
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
        before=before(context.store.tasks.ended(TaskKind.REVIEW, job.repository.full_name, pull.number), task),
        other_base=pull.base_ref if pull.base_sha != opened_on else "",
    )


def _fetched(mirror: Mirror, pull: PullRequest) -> PullRequest:
    """The pull request with both its commits here; where its base was force-pushed away, on the branch as it is now."""
    try:
        mirror.fetch(pull.base_sha, pull.head_sha)
    except Gone:
        mirror.fetch(pull.head_sha)
        pull = replace(pull, base_sha=mirror.tip(pull.base_ref))
        mirror.fetch(pull.base_sha)
    return pull


def _read(this: Round, context: Context) -> Reviewed:
    """Run the detectors, and the tests of what they suggest, on trees without a `.git`."""
    with this.trees(this.task.sha) as (base_tree, head_tree):
        return review_change(
            context.sandbox,
            base_tree=base_tree,
            head_tree=head_tree,
            diff=this.diff,
            project=_project(head_tree, context),
            may_run_tests=this.may_run_tests,
            progress=context.progress,
            tools=context.settings.review_tools,
            detectors=readers(this, context),
        )


def _project(tree: Path, context: Context) -> Project | None:
    """How to run the tests; None for a project that has none."""
    try:
        return discover(tree, python=context.settings.python, test_command=None)
    except BadInput:
        return None


def _reopened(this: Round, reviewed: Reviewed) -> Round:
    """Somebody who asks again hears of what can be shown now and could not before: suggestions that are now proven."""
    if not this.job.commanded:
        return this
    proven = {finding.fingerprint for finding in reviewed.findings if _is_proven(finding)}
    unproven = {sighting.finding.fingerprint for sighting in this.earlier}
    unproven -= {sighting.finding.fingerprint for sighting in this.earlier if _is_proven(sighting.finding)}
    again = proven & unproven
    return replace(this, earlier=tuple(s for s in this.earlier if s.finding.fingerprint not in again))


def _is_proven(finding: Finding) -> bool:
    return finding.suggestion is not None and finding.suggestion.proof is not None


def _learned_elsewhere(this: Round, reviewed: Reviewed, context: Context) -> tuple[Reviewed, tuple[Learnings, ...]]:
    """What was imported, and what the repository's own file says on the base branch; one of no use is told as not read."""
    imported = context.store.imports.all(Learnings)
    try:
        own = learnings_at(this.mirror, this.pull.base_sha) if context.settings.share_learnings else None
    except BadLearnings as error:
        untold = FileCoverage(path=PATH, status=CoverageStatus.FAILED, reason=f"on the base branch, {error}")
        others = (each for each in reviewed.coverage if each.path != PATH)
        return replace(reviewed, coverage=(*others, untold)), from_elsewhere(context.store, imported)
    return reviewed, from_elsewhere(context.store, (*imported, own) if own else imported)


def _decide(this: Round, reviewed: Reviewed, learnings: Sequence[Learnings], context: Context) -> Mapping[str, Decided]:
    """Choose for what is new. What was decided in an earlier round stays decided: a push is no second draw."""
    known = {sighting.finding.fingerprint for sighting in this.earlier}
    learner = context.for_task(f"review:{this.pull.number}").learner
    repository = this.job.repository.full_name
    choose = partial(
        decide,
        learner=learner,
        task_id=this.task.id,
        repository=repository,
        arm=learner.arm(f"{repository}#{this.pull.number}"),
        made=this.made,
        taste=context.taste(TaskKind.REVIEW, repository),
        learnings=learnings,
        past=words(reviewed, context.store.past.lessons(repository, Lessons)),
    )
    here = [finding for finding in reviewed.findings if finding.fingerprint not in known]
    elsewhere = [finding for finding in reviewed.elsewhere if finding.fingerprint not in known]
    return {**choose(elsewhere, slots=0), **choose(here, slots=context.settings.max_comments)}


def _plan(this: Round, reviewed: Reviewed, decided: Mapping[str, Decided], context: Context) -> ReviewPlan:
    """Place every finding; what an earlier round told to be gone is no news, unless it is back."""
    actions = {s.finding.fingerprint: s.action for s in this.earlier}
    actions |= {fingerprint: each.action for fingerprint, each in decided.items()}
    plan = plan_review(
        findings=reviewed.findings,
        elsewhere=reviewed.elsewhere,
        present=reviewed.present,
        unread=reviewed.unread,
        actions=actions,
        earlier=this.earlier_by_new_names(),
        change=reviewed.change,
        max_comments=context.settings.max_comments,
        gone=this.again.gone.keys(),
    )
    return replace(plan, missed=missed(this, reviewed, plan.said, context))
