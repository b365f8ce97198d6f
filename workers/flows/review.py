"""Review a pull request: read the change, decide what is worth saying, say it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Finding, Post, PostKind, Sighting, Task, TaskKind
from workers import comments
from workers.context import Context
from workers.errors import BadInput
from workers.flows.asking import actor_of, may_command
from workers.git import Mirror
from workers.jobs import Job, Review
from workers.patches import parse_diff
from workers.ports import Annotation, GitHub, InlineComment, PullRequest
from workers.review.decide import Decided, decide
from workers.review.engine import Reviewed, review_change
from workers.review.plan import ReviewPlan, plan_review
from workers.sandbox.project import Project, discover


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One review of one pull request at one commit."""

    job: Review
    task: Task
    github: GitHub
    pull: PullRequest
    mirror: Mirror
    diff: str
    earlier: tuple[Sighting, ...]
    may_run_tests: bool

    def key(self, effect: str) -> str:
        """The name of one effect of this round: a second job on the same commit makes nothing twice."""
        return f"review:{self.job.repository.id}:{self.pull.number}:{self.task.sha}:{effect}"


def run(job: Review, context: Context) -> Sequence[Job]:
    """Check who asked, read the pinned change, decide, and post one review and one check run."""
    github = context.connect(job.repository)
    commander = may_command(github, actor_of(job.actor)) if job.commanded or job.from_fork else True
    if job.commanded and not commander:
        _refuse(job, context, github)
        return ()
    pull = github.pull(job.number)
    if _overtaken(job, pull):
        return ()
    this = _open(job, pull, github, context, commander=commander)
    reviewed = _read(this, context)
    decided = _decide(this, reviewed, context)
    plan = _plan(this, reviewed, decided, context)
    _post(this, reviewed, decided, plan, context)
    return ()


def _refuse(job: Review, context: Context, github: GitHub) -> None:
    key = f"{context.job_id}:outsider"
    text = comments.outsider(job.actor.login, key=key)
    context.effects.once(
        key,
        make=lambda: github.comment(job.number, text),
        find=lambda: github.find_comment(job.number, comments.marker(key)),
    )


def _overtaken(job: Review, pull: PullRequest) -> bool:
    """Closed, or pushed to since: the newer push has a job of its own."""
    return pull.state != "open" or (bool(job.head_sha) and pull.head_sha != job.head_sha)


def _open(job: Review, pull: PullRequest, github: GitHub, context: Context, *, commander: bool) -> Round:
    mirror = context.mirror(job.repository, github)
    mirror.fetch(pull.base_sha, pull.head_sha)
    task = Task(
        id=context.job_id,
        kind=TaskKind.REVIEW,
        repository=job.repository.full_name,
        sha=pull.head_sha,
        number=pull.number,
        created_at=context.clock(),
    )
    context.store.tasks.add(task)
    from_fork = pull.head_repository_id != job.repository.id
    return Round(
        job=job,
        task=task,
        github=github,
        pull=pull,
        mirror=mirror,
        diff=mirror.diff(pull.base_sha, pull.head_sha),
        earlier=tuple(context.store.posts.sightings(job.repository.full_name, pull.number)),
        may_run_tests=not from_fork or context.settings.review_fork_tests or (job.commanded and commander),
    )


def _read(this: Round, context: Context) -> Reviewed:
    """Run the detectors, and the tests of what they suggest, on trees without a `.git`."""
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        base = this.mirror.merge_base(this.pull.base_sha, this.pull.head_sha)
        base_tree = this.mirror.export(base, Path(scratch) / "base")
        head_tree = this.mirror.export(this.task.sha, Path(scratch) / "head")
        return review_change(
            context.sandbox,
            base_tree=base_tree,
            head_tree=head_tree,
            diff=this.diff,
            project=_project(head_tree, context),
            may_run_tests=this.may_run_tests,
            progress=context.progress,
        )


def _project(tree: Path, context: Context) -> Project | None:
    """How to run the tests; None for a project that has none."""
    try:
        return discover(tree, python=context.settings.python, test_command=None)
    except BadInput:
        return None


def _decide(this: Round, reviewed: Reviewed, context: Context) -> Mapping[str, Decided]:
    """Choose for what is new. What was decided in an earlier round stays decided: a push is no second draw."""
    known = {sighting.finding.fingerprint for sighting in this.earlier}
    fresh = [finding for finding in reviewed.findings if finding.fingerprint not in known]
    learner = context.for_task(f"review:{this.pull.number}").learner
    repository = this.job.repository.full_name
    decided = decide(
        fresh,
        learner,
        task_id=this.task.id,
        repository=repository,
        arm=learner.arm(f"{repository}#{this.pull.number}"),
        slots=context.settings.max_comments,
    )
    context.store.posts.add_sightings(
        Sighting(
            repository=repository,
            number=this.pull.number,
            sha=this.task.sha,
            decision_id=decided[finding.fingerprint].decision.id,
            finding=finding,
            action=decided[finding.fingerprint].action,
            created_at=context.clock(),
        )
        for finding in fresh
    )
    return decided


def _plan(this: Round, reviewed: Reviewed, decided: Mapping[str, Decided], context: Context) -> ReviewPlan:
    actions = {s.finding.fingerprint: s.action for s in this.earlier}
    actions |= {fingerprint: each.action for fingerprint, each in decided.items()}
    return plan_review(
        findings=reviewed.findings,
        elsewhere=reviewed.elsewhere,
        present=reviewed.present,
        unread=reviewed.unread,
        actions=actions,
        earlier=this.earlier,
        change=parse_diff(this.diff),
        max_comments=context.settings.max_comments,
    )


def _post(this: Round, reviewed: Reviewed, decided: Mapping[str, Decided], plan: ReviewPlan, context: Context) -> None:
    if plan.inline or plan.summary or plan.resolved:
        _post_review(this, reviewed, decided, plan, context)
    _close_resolved(this, plan, context)
    _post_check(this, reviewed, plan, context)


def _post_review(
    this: Round, reviewed: Reviewed, decided: Mapping[str, Decided], plan: ReviewPlan, context: Context
) -> None:
    key = this.key("review")
    inline = [
        InlineComment(
            path=each.finding.path,
            start_line=each.start_line,
            line=each.line,
            body=comments.finding_comment(
                each.finding, with_suggestion=each.with_suggestion, reason=decided[each.finding.fingerprint].why
            ),
        )
        for each in plan.inline
    ]
    body = comments.review_body(
        sha=this.task.sha,
        inline=len(inline),
        summary=plan.summary,
        held=len(plan.held),
        resolved=len(plan.resolved),
        coverage=reviewed.not_read,
        key=key,
    )
    review = context.effects.once(
        key,
        make=lambda: this.github.create_review(this.pull.number, sha=this.task.sha, body=body, comments=inline),
        find=lambda: this.github.find_review(this.pull.number, comments.marker(key)),
    )
    _watch(this, review, decided, context)


def _watch(this: Round, review: int, decided: Mapping[str, Decided], context: Context) -> None:
    """Remember which comment stands for which decision, so that what people do with it is learned from."""
    for comment in this.github.review_comments(this.pull.number, review):
        fingerprint = comments.marked(comment.body)
        if fingerprint in decided:
            context.store.posts.add(
                Post(
                    repository=this.job.repository.full_name,
                    kind=PostKind.REVIEW_COMMENT,
                    number=this.pull.number,
                    github_id=comment.id,
                    decision_ids=(decided[fingerprint].decision.id,),
                    fingerprint=fingerprint,
                    created_at=context.clock(),
                )
            )


def _close_resolved(this: Round, plan: ReviewPlan, context: Context) -> None:
    """Close our own threads about what is no longer there."""
    gone = set(plan.resolved)
    for post in context.store.posts.on(this.job.repository.full_name, this.pull.number):
        if post.fingerprint in gone and post.watched:
            thread = this.github.thread_of(this.pull.number, post.github_id)
            if thread is not None:
                this.github.resolve_thread(thread)


def _post_check(this: Round, reviewed: Reviewed, plan: ReviewPlan, context: Context) -> None:
    """One check run. It is neutral as soon as anything was said or anything was not read: never green by omission."""
    said = [each.finding for each in plan.inline] + list(plan.summary)
    clean = not said and not plan.repeated and not reviewed.not_read
    key = this.key("check")
    context.effects.once(
        key,
        make=lambda: this.github.create_check(
            sha=this.task.sha,
            external_id=key,
            conclusion="success" if clean else "neutral",
            title=comments.check_title(findings=len(said) + len(plan.repeated), unread=len(reviewed.not_read)),
            summary=comments.check_summary(
                read=reviewed.files_read, coverage=reviewed.not_read, repeated=len(plan.repeated)
            ),
            annotations=[_annotation(finding) for finding in said],
        ),
        find=lambda: this.github.find_check(sha=this.task.sha, external_id=key),
    )


def _annotation(finding: Finding) -> Annotation:
    return Annotation(
        path=finding.path,
        start_line=finding.line,
        end_line=finding.end_line,
        level=comments.ANNOTATION_LEVELS[finding.severity],
        message=comments.annotation_message(finding),
        title=finding.rule,
    )
