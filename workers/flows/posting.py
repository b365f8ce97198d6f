"""Post what a review found: one review, its threads, one check run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from memory.model import Action, Finding, PostKind, Sighting
from memory.policy.review_policy import PostingDecision
from workers.configuration.schema import PATH
from workers.errors import CannotRun, Forbidden, NoAccess
from workers.flows.checks import post_not_reviewed, refusal_logged
from workers.flows.rounds import REPAIR_OF_REVIEW, ReviewRound, key_of_push, newly_broken, still_there, times_returned
from workers.job_context import JobContext
from workers.jobs import RemoveDuplicate, ReviewPull
from workers.messages import configuration
from workers.messages import review as reviews
from workers.messages.markdown import counted, marked, marker, words
from workers.ports import ANNOTATIONS_A_REQUEST, Annotation, InlineComment, PullRequest, ReviewThread
from workers.review.broken_tests import BrokenTest
from workers.review.engine import Reviewed
from workers.review.plan import INLINE, RepairSuggestion, ReviewPlan

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

Decided = Mapping[str, PostingDecision]
"""The decisions of this round, by fingerprint."""


def post(current: ReviewRound, reviewed: Reviewed, decided: Decided, plan: ReviewPlan) -> None:
    """Post, then remember what was seen: a worker that dies before has posted nothing."""
    if current.silent:
        _remember(current, reviewed, decided, plan)
        _post_check(current, reviewed, plan)
        return
    review = None
    if _has_news(current, plan) or _was_asked(current) or newly_broken(current, reviewed):
        review = _post_review(current, reviewed, plan)
    _reopen_returned(current, plan)
    _remember(current, reviewed, decided, plan)
    if review is not None:
        _watch(current, review, decided, plan.repair)
    _close_resolved(current, reviewed, plan)
    _post_check(current, reviewed, plan)


def _was_asked(current: ReviewRound) -> bool:
    """Whether a comment asked for this review."""
    return current.job.commanded and bool(current.job.comment_id)


def _has_news(current: ReviewRound, plan: ReviewPlan) -> bool:
    """Whether there is more to post than what is gone, and lines of the summary that the repository's own linter reports as well.

    Both are in the check run: a review notifies everyone who follows the pull request.
    """
    quiet = {
        each.finding.fingerprint
        for each in current.earlier_findings
        if each.finding.own_linter and each.action not in INLINE
    }
    new = plan.inline or any(not finding.own_linter for finding in plan.summary)
    return bool(new or plan.repair or not quiet.issuperset(plan.back))


def _post_review(current: ReviewRound, reviewed: Reviewed, plan: ReviewPlan) -> int:
    """One review. For one comment on a line that it does not show GitHub refuses all of it: then its text has the findings."""
    try:
        return _posted(current, reviewed, plan)
    except (Forbidden, NoAccess):
        raise
    except CannotRun as refused:
        if not plan.inline and plan.repair is None:
            raise
        current.context.progress(f"posting the review without comments: {refused}")
        return _posted(current, reviewed, plan.without_comments())


def _posted(current: ReviewRound, reviewed: Reviewed, plan: ReviewPlan) -> int:
    key, bot_name = current.key("review"), current.context.settings.bot_name
    inline = [
        InlineComment(
            path=each.finding.path,
            start_line=each.start_line,
            line=each.line,
            body=reviews.finding_comment(
                each.finding,
                with_suggestion=each.with_suggestion,
                missed=plan.missed.get(each.finding.fingerprint),
                bot_name=bot_name,
            ),
        )
        for each in plan.inline
    ]
    if plan.repair is not None:
        suggestion = plan.repair.suggestion
        first = InlineComment(
            path=plan.repair.path,
            start_line=suggestion.start_line,
            line=suggestion.end_line,
            body=reviews.repair_comment(plan.repair, bot_name=bot_name),
        )
        inline.insert(0, first)
    reopened = sum(1 for mark in plan.back if current.known.gone[mark])
    limits = reviews.limits(untested=not current.may_run_tests, unasked=not current.may_ask_model, bot_name=bot_name)
    body = reviews.review_body(
        reviewed,
        plan,
        limits,
        sha=current.task.sha,
        reopened=reopened,
        bot_name=bot_name,
        key=key,
        asked=_was_asked(current),
    )
    return current.context.effects.once(
        key,
        make=lambda: current.github.create_review(
            current.pull.number, sha=current.task.sha, body=body, comments=inline
        ),
        find=lambda: next(iter(current.github.reviews(current.pull.number, marker(key))), None),
        look_again=partial(
            RemoveDuplicate, repository=current.job.repository, number=current.pull.number, key=key, review=True
        ),
    )


def _remember(current: ReviewRound, reviewed: Reviewed, decided: Decided, plan: ReviewPlan) -> None:
    """Keep what was seen and decided, and where, so that a later round knows it again and does not repeat it."""
    current.context.store.posts.update_sightings(still_there(current))
    current.context.store.posts.add_sightings(
        Sighting(
            repository=current.job.repository.key,
            number=current.pull.number,
            sha=current.task.sha,
            decision_id=decided[finding.fingerprint].decision.id,
            finding=finding,
            action=Action.HOLD if current.silent else decided[finding.fingerprint].action,
            created_at=current.context.clock(),
            returns=times_returned(current, finding.fingerprint),
            missed_in=miss.sha if (miss := plan.missed.get(finding.fingerprint)) else "",
            missed_because=miss.because if miss else "",
        )
        for finding in (*reviewed.findings, *reviewed.elsewhere)
        if finding.fingerprint in decided
    )


def _watch(current: ReviewRound, review: int, decided: Decided, repair: RepairSuggestion | None) -> None:
    """Remember the decision of each comment, so that feedback on the comment reaches it."""
    decisions = {fingerprint: each.decision.id for fingerprint, each in decided.items()}
    if repair is not None:
        decisions[repair.fingerprint] = repair.decision_id
    for comment, body in current.github.review_comments(current.pull.number, review).items():
        fingerprint = marked(body)
        if fingerprint in decisions:
            about = (decisions[fingerprint],)
            current.context.watch(current.task, PostKind.REVIEW_COMMENT, comment, about, fingerprint)


def _close_resolved(current: ReviewRound, reviewed: Reviewed, plan: ReviewPlan) -> None:
    """Close our own threads about what is no longer there."""
    for gone in (*plan.resolved, *_repairs_not_needed(current, reviewed)):
        make, find = partial(_close, current, gone), partial(_finish_closing, current, gone)
        current.context.effects.once(current.key_of("gone", gone), make=make, find=find)


def _repairs_not_needed(current: ReviewRound, reviewed: Reviewed) -> list[str]:
    """The repairs that earlier rounds suggested, where no test is broken any more."""
    if reviewed.tests is None or reviewed.tests.broken or not reviewed.tests.ran:
        return []
    store = current.context.store
    return [
        post.fingerprint
        for post in store.posts.on(current.job.repository.key, current.pull.number)
        if post.kind is PostKind.REVIEW_COMMENT
        and (decision := store.ledger.decision(post.decision_ids[0]))
        and decision.task_id.endswith(REPAIR_OF_REVIEW)
    ]


def _close(current: ReviewRound, fingerprint: str) -> int:
    """How many threads there were to close: a finding in the summary alone has none, and users resolve theirs."""
    threads = [thread.id for thread in _threads(current, fingerprint) if not thread.resolved]
    for thread in threads:
        current.github.resolve_thread(thread)
    return len(threads)


def _finish_closing(current: ReviewRound, fingerprint: str) -> int:
    """Close what a worker that died left open; how many are closed by us then."""
    _close(current, fingerprint)
    return sum(thread.by_us for thread in _threads(current, fingerprint))


def _reopen_returned(current: ReviewRound, plan: ReviewPlan) -> None:
    """Open our own threads again about what is back; those that a user resolved stay as they are."""
    for back in plan.back:
        if current.known.gone[back]:
            make = partial(_reopen, current, back)
            key = current.key_of("back", back)
            current.context.effects.once(key, make=make, find=lambda: None)  # may be done twice


def _reopen(current: ReviewRound, fingerprint: str) -> int:
    threads = [thread.id for thread in _threads(current, fingerprint) if thread.by_us]
    for thread in threads:
        current.github.reopen_thread(thread)
    return len(threads)


def _threads(current: ReviewRound, fingerprint: str) -> list[ReviewThread]:
    """The threads of our comments on a finding."""
    posts = current.context.store.posts.on(current.job.repository.key, current.pull.number)
    comments = (post.github_id for post in posts if post.fingerprint == fingerprint)
    found = (current.github.thread_of(current.pull.number, comment) for comment in comments)
    return [thread for thread in found if thread is not None]


@refusal_logged()
def _post_check(current: ReviewRound, reviewed: Reviewed, plan: ReviewPlan) -> None:
    """One check run. It fails where a test is broken; a finding, an unread file and tests that did not run make it neutral."""
    still, changed = len(plan.repeated) + len(plan.back) + reviewed.findings_over, reviewed.change.files
    broken, untried = (reviewed.tests.broken, reviewed.tests.trouble) if reviewed.tests else ((), "")
    tried = current.may_run_tests and not untried
    wrong = configuration.wrong(current.configuration.mistakes, current.configuration.of_owner)
    clean = changed and not plan.new and not still and not reviewed.not_read and tried and not wrong
    title = reviews.check_title(
        reviewed, findings=len(plan.new) + still, untested=not current.may_run_tests, wrong=wrong
    )
    summary = reviews.check_summary(
        reviewed,
        plan,
        reviews.limits(untested=False, unasked=not current.may_ask_model, bot_name=current.context.settings.bot_name),
        untested=not current.may_run_tests,
        other_base=current.other_base,
        configured=_configured(current, reviewed),
    )
    annotations = [*_test_annotations(broken), *map(_annotation, plan.new), *_mistake_annotations(current)]
    key = current.key("check")
    check = current.context.effects.once(
        key,
        make=lambda: current.github.create_check(
            sha=current.task.sha,
            external_id=key,
            conclusion="failure" if broken else "success" if clean else "neutral",
            title=title,
            summary=summary,
            annotations=annotations[:ANNOTATIONS_A_REQUEST],
            running=current.running,
        ),
        find=lambda: current.github.find_check(sha=current.task.sha, external_id=key),
    )
    for there in range(ANNOTATIONS_A_REQUEST, len(annotations), ANNOTATIONS_A_REQUEST):
        more = annotations[there : there + ANNOTATIONS_A_REQUEST]
        add = partial(current.github.annotate, check, title=title, summary=summary, annotations=more)
        current.context.effects.once(
            current.key(f"annotations-{there}"), make=add, find=partial(_added, current, check, there)
        )


def _added(current: ReviewRound, check: int, there: int) -> int | None:
    """How many annotations the check run has, if more than there were before."""
    now = current.github.annotated(sha=current.task.sha, check=check)
    return now if now > there else None


def _configured(current: ReviewRound, reviewed: Reviewed) -> list[str]:
    """What the configuration files changed, and what is wrong with them."""
    read = current.configuration
    return [
        *(configuration.mistakes_text(read.mistakes) if read.mistakes else ()),
        *([read.of_owner] if read.of_owner else ()),
        *([configuration.noted(reviewed.note)] if reviewed.note else ()),
        *([configuration.LOCKED if current.pull.locked else configuration.SILENT] if current.silent else ()),
        *configuration.left_out(reviewed.findings_left_out, reviewed.files_left_out),
    ]


def _mistake_annotations(current: ReviewRound) -> list[Annotation]:
    """One for each mistake, where the file is the same at the head: there its lines are those of the base branch."""
    read, mistakes = current.mirror.read, current.configuration.mistakes
    if not mistakes or read(current.task.sha, PATH) != read(current.pull.base_sha, PATH):
        return []
    title = "mistake in the configuration"
    return [_annotated(PATH, (each.line, each.line), "warning", each.text, title) for each in mistakes]


def post_skipped(job: ReviewPull, pull: PullRequest, why: str, context: JobContext, github: GitHub) -> None:
    """Write a neutral check run about a pull request that is not reviewed; none about a draft, which gets no review before it is ready."""
    if pull.draft:
        return
    key = key_of_push(job.repository, pull.number, pull.head_sha, "skipped")
    summary = configuration.skipped(why, bot_name=context.settings.bot_name)
    post_not_reviewed(pull.head_sha, summary, key, context, github)


def _annotation(finding: Finding) -> Annotation:
    level, title = reviews.ANNOTATION_LEVELS[finding.severity], reviews.rule_name(finding)
    return _annotated(finding.path, (finding.line, finding.end_line), level, finding.message, title)


def _test_annotations(broken: Sequence[BrokenTest]) -> list[Annotation]:
    """One for each changed line that broken tests pass through."""
    places: dict[tuple[str, int], list[BrokenTest]] = {}
    for test in broken:
        if test.path:
            places.setdefault((test.path, test.line), []).append(test)
    return [
        _annotated(
            path,
            (line, line),
            "failure",
            f"{tests[0].id}: {tests[0].error_type}: {tests[0].message}",
            f"{counted(len(tests), 'broken test')} through this line",
        )
        for (path, line), tests in places.items()
    ]


def _annotated(path: str, lines: tuple[int, int], level: str, message: str, title: str) -> Annotation:
    first, last = lines
    return Annotation(
        path=path, start_line=first, end_line=last, annotation_level=level, message=words(message), title=title
    )
