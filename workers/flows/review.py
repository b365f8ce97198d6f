"""Review a pull request: read the change, match its findings with earlier ones, decide what to post, post it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from memory.model import Action, TaskKind
from memory.policy.review_policy import PostingDecision
from workers.errors import CannotRun, Gone, JobStopped, Retryable
from workers.flows.checks import begin_check, end_check
from workers.flows.configured import configuration_at, not_wanted
from workers.flows.outcomes import record_endings
from workers.flows.pinning import outdated, taken_over, track_unknown_head
from workers.flows.posting import post, post_skipped
from workers.flows.replies import acknowledge, may_command, post_comment, reply_to_outsider
from workers.flows.reviewed_change import choose, known_learnings, read_change, reviewer
from workers.flows.rounds import (
    REPAIR_OF_REVIEW,
    REVIEWED,
    ReviewRound,
    cache_owner,
    cached_review,
    ended_rounds,
    missed,
    summary_of,
    with_known_findings,
)
from workers.git import Mirror
from workers.job_context import JobContext
from workers.jobs import Job, ReviewPull
from workers.messages import review
from workers.ports import PullRequest
from workers.review.detectors.detector import MODEL, ChangeDetector
from workers.review.engine import Reviewed
from workers.review.plan import RepairSuggestion, ReviewPlan, plan_review, repair_suggestion

if TYPE_CHECKING:
    from workers.github.adapter import GitHub


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
        return track_unknown_head(job, pull, context)
    if taken_over(job, context, github):
        end_check(job, context, github)
        return ()
    if job.comment_id:
        acknowledge(job, context, github)
    mirror = context.mirror(job.repository, github)
    opened_on, pull = pull.base_sha, _based(mirror, pull)
    configuration = configuration_at(mirror, pull.base_sha, job.repository, context)
    if not job.commanded and (why := not_wanted(job, pull, configuration.chosen)):
        post_skipped(job, pull, why, context, github)
        return ()
    _refuse_flood(job, pull, github, context)
    context = context.configured(configuration.chosen)
    current = replace(
        _open(job, pull, mirror, github, context),
        configuration=configuration,
        other_base=pull.base_ref if pull.base_sha != opened_on else "",
    )
    current = replace(current, running=begin_check(current))
    read = _read_unless_gone(current)
    job = structs.replace(job, head_sha=pull.head_sha)
    if _overtaken(job, github.pull(job.number), github, context):
        return ()
    if taken_over(job, context, github):
        end_check(job, context, github)
        return ()
    if read is None:
        raise Retryable("this pull request changed while it was read")
    _decide_and_post(current, read)
    return ()


MAX_FINDINGS = 500
"""Each finding costs a decision and an annotation: GitHub takes 50 of these in a request, and 500 such requests in an hour."""


def _decide_and_post(current: ReviewRound, read: Reviewed) -> None:
    current, reviewed = with_known_findings(current, read)
    record_endings(current, reviewed)
    current, reviewed = _reopened(current, reviewed), reviewed.worst(MAX_FINDINGS)
    reviewed, learnings = known_learnings(current.mirror, current.pull.base_sha, reviewed, current.context)
    decided = choose(
        reviewed,
        current.task,
        current.context.for_task(f"review:{current.pull.number}").learner,
        current.context,
        arm_key=f"{current.task.repository}#{current.pull.number}",
        learnings=learnings,
        known={sighting.finding.fingerprint for sighting in current.earlier_findings},
        made=current.made,
    )
    plan = _plan(current, reviewed, decided)
    post(current, reviewed, decided, plan)
    current.context.store.tasks.finish(current.task.id, REVIEWED, summary_of(reviewed, silent=current.silent))
    current.context.store.review_cache.remove_of(cache_owner(current.task.repository, current.pull.number))


REVIEWS_FOR_OUTSIDERS = 200
"""How many commits of outsiders' pull requests are reviewed a day without a command, for one installation of the App."""


def _refuse_flood(job: ReviewPull, pull: PullRequest, github: GitHub, context: JobContext) -> None:
    """Raise CannotRun beyond the limit: the check run is neutral then, and says how to get the review."""
    if job.commanded or pull.head_repository_id == job.repository.id or may_command(github, pull.author):
        return
    installation = f"outsider-review:{job.repository.installation_id}:"
    about = context.job_id if job.retargeted else pull.head_sha
    key = f"{installation}{job.repository.id}:{pull.number}:{about}"
    begun = context.store.jobs.begin_limited(
        key, context.job_id, context.clock(), among=installation, most=REVIEWS_FOR_OUTSIDERS, alone=False
    )
    if not begun:
        ask = f"a maintainer can ask with `@{context.settings.bot_name} review`"
        most = f"{REVIEWS_FOR_OUTSIDERS} commits by authors without write access"
        raise CannotRun(f"{most} were reviewed within a day; {ask}")


def _overtaken(job: ReviewPull, pull: PullRequest, github: GitHub, context: JobContext) -> bool:
    """Whether it is closed or was pushed to, with a reply to a command: the newer push has its own job."""
    why = outdated(job, pull, context)
    if why and job.commanded and job.comment_id:
        post_comment(job.number, review.overtaken("review", why), f"{context.job_id}:overtaken", context, github)
    elif why:
        end_check(job, context, github)
    return bool(why)


def _open(job: ReviewPull, pull: PullRequest, mirror: Mirror, github: GitHub, context: JobContext) -> ReviewRound:
    mirror.fetch(pull.base_sha, pull.head_sha)
    task = context.task(TaskKind.REVIEW, job.repository, sha=pull.head_sha, number=pull.number)
    made = {decision.subject: decision for decision in context.store.ledger.decisions_of_task(task.id)}
    own = {decision.id for decision in made.values()}
    seen = context.store.posts.sightings(job.repository.key, pull.number)
    from_fork = pull.head_repository_id != job.repository.id
    rounds = ended_rounds(context.store.tasks.ended(TaskKind.REVIEW, job.repository.key, pull.number), task)
    silent = pull.locked or (context.configuration.silent and not job.commanded)
    if not silent:  # what was only seen in silence is posted now
        unheard = {each.sha for each in rounds if each.silent}
        rounds = tuple(each for each in rounds if not each.silent)
        seen = [each for each in seen if each.sha not in unheard or each.action is not Action.HOLD]
    return ReviewRound(
        context=context,
        job=job,
        task=task,
        github=github,
        pull=pull,
        mirror=mirror,
        diff=mirror.diff(pull.base_sha, pull.head_sha),
        earlier_findings=tuple(sighting for sighting in seen if sighting.decision_id not in own),
        made=made,
        may_ask_model=context.models is None or may_ask(job, pull, github),
        may_run_tests=not from_fork or context.settings.review_fork_tests or job.commanded,
        earlier_rounds=rounds,
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


def _read_unless_gone(current: ReviewRound) -> Reviewed | None:
    """None where the pull request was closed or pushed to in the meantime: the rest need not be read."""
    try:
        return cached_review(current, partial(_read, current))
    except JobStopped:
        return None


def _read(current: ReviewRound) -> Reviewed:
    return read_change(
        current.mirror,
        (current.pull.base_sha, current.task.sha),
        current.diff,
        current.context,
        may_run_tests=current.may_run_tests,
        detectors=readers(current),
        repository=current.task.repository,
        repair_task=replace(current.task, id=f"{current.task.id}{REPAIR_OF_REVIEW}", kind=TaskKind.REPAIR),
    )


def _reopened(current: ReviewRound, reviewed: Reviewed) -> ReviewRound:
    """A user who asks again gets what could not be shown before: suggestions that are now proven."""
    if not current.job.commanded:
        return current
    proven = {finding.fingerprint for finding in reviewed.findings if finding.proven}
    known = {each.finding.fingerprint: each.finding.proven for each in current.earlier_findings}
    again = {fingerprint for fingerprint in proven if not known.get(fingerprint, True)}
    return replace(
        current, earlier_findings=tuple(s for s in current.earlier_findings if s.finding.fingerprint not in again)
    )


def _plan(current: ReviewRound, reviewed: Reviewed, decided: Mapping[str, PostingDecision]) -> ReviewPlan:
    """Place every finding; what an earlier round reported as gone is no news, unless it is back.

    A silent round shows in its check run all that is there: no earlier one was read anywhere else.
    """
    actions = {s.finding.fingerprint: Action.SUMMARY if current.silent else s.action for s in current.earlier_findings}
    actions |= {fingerprint: each.action for fingerprint, each in decided.items()}
    plan = plan_review(
        reviewed,
        actions,
        earlier=() if current.silent else current.earlier_by_new_names(),
        max_comments=current.context.settings.max_comments,
        gone=current.known.gone.keys(),
        repair=_new_repair(current, reviewed),
    )
    return replace(plan, missed=missed(current, reviewed, plan.new))


def _new_repair(current: ReviewRound, reviewed: Reviewed) -> RepairSuggestion | None:
    """The repair as a suggestion, unless an earlier round posted the same, or comments are switched off."""
    if not current.context.settings.max_comments:
        return None
    found = repair_suggestion(reviewed, partial(current.mirror.text, current.task.sha))
    known = {post.fingerprint for post in current.context.store.posts.on(current.task.repository, current.pull.number)}
    return None if found is None or found.fingerprint in known else found


def may_ask(job: ReviewPull, pull: PullRequest, github: GitHub) -> bool:
    """Whether an answer of the model may be paid for. A bot counts only for what it pushed to this repository itself."""
    if job.commanded:
        return True
    if pull.author.is_bot:
        return pull.head_repository_id == job.repository.id
    return may_command(github, pull.author)


def readers(current: ReviewRound) -> tuple[ChangeDetector, ...]:
    """The detector of the model, or the one that keeps its earlier findings where it may not be asked any more."""
    repository = current.job.repository.key
    model = current.context.model(current.task.id, repository)
    if model is None and not any(each.finding.tool == MODEL for each in current.earlier_findings):
        return ()
    if model is None or not current.may_ask_model:
        from workers.agent.reviewer import UnaskedReviewer

        return (UnaskedReviewer(earlier=current.earlier_findings),)
    return (
        reviewer(
            model,
            repository,
            current.context,
            title=current.pull.title,
            body=current.pull.body,
            earlier=current.earlier_findings,
        ),
    )
