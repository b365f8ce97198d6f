"""Say what a review has to say: one review, its threads, one check run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from memory.model import Finding, Post, PostKind, Sighting
from memory.policy.review_policy import PostingDecision
from workers.flows.rounds import Round, seen_again, times_back
from workers.job_context import JobContext
from workers.messages import review as reviews
from workers.messages.markdown import marked, marker
from workers.ports import Annotation, InlineComment, ReviewThread
from workers.review.engine import Reviewed
from workers.review.plan import ReviewPlan


def post(
    this: Round, reviewed: Reviewed, decided: Mapping[str, PostingDecision], plan: ReviewPlan, context: JobContext
) -> None:
    """What was seen is remembered once it was said: a worker that dies before has said nothing."""
    asked = this.job.commanded and this.job.comment_id
    review = None
    if plan.said or plan.resolved or plan.back or asked:
        review = _post_review(this, reviewed, decided, plan, context)
    _reopen_returned(this, plan, context)
    _remember(this, reviewed, decided, plan, context)
    if review is not None:
        _watch(this, review, decided, context)
    _close_resolved(this, plan, context)
    _post_check(this, reviewed, plan, context)


def _post_review(
    this: Round, reviewed: Reviewed, decided: Mapping[str, PostingDecision], plan: ReviewPlan, context: JobContext
) -> int:
    key = this.key("review")
    inline = [
        InlineComment(
            path=each.finding.path,
            start_line=each.start_line,
            line=each.line,
            body=reviews.finding_comment(
                each.finding,
                with_suggestion=each.with_suggestion,
                reason=decided[each.finding.fingerprint].why,
                missed=plan.missed.get(each.finding.fingerprint),
                bot_name=context.settings.bot_name,
            ),
        )
        for each in plan.inline
    ]
    body = reviews.review_body(
        sha=this.task.sha,
        inline=len(inline),
        summary=plan.summary,
        held=len(plan.held),
        repeated=len(plan.repeated),
        resolved=len(plan.resolved),
        back=len(plan.back),
        reopened=sum(1 for mark in plan.back if this.again.gone[mark]),
        missed=plan.missed,
        coverage=reviewed.not_read,
        untested=not this.may_run_tests,
        unasked=not this.may_ask_model,
        bot_name=context.settings.bot_name,
        key=key,
    )
    return context.effects.once(
        key,
        make=lambda: this.github.create_review(this.pull.number, sha=this.task.sha, body=body, comments=inline),
        find=lambda: this.github.find_review(this.pull.number, marker(key)),
    )


def _remember(
    this: Round, reviewed: Reviewed, decided: Mapping[str, PostingDecision], plan: ReviewPlan, context: JobContext
) -> None:
    """Keep what was seen and decided, and where, so that a later round knows it again and does not say it twice."""
    context.store.posts.update_sightings(seen_again(this))
    context.store.posts.add_sightings(
        Sighting(
            repository=this.job.repository.full_name,
            number=this.pull.number,
            sha=this.task.sha,
            decision_id=decided[finding.fingerprint].decision.id,
            finding=finding,
            action=decided[finding.fingerprint].action,
            created_at=context.clock(),
            returns=times_back(this, finding.fingerprint),
            missed_in=miss.sha if (miss := plan.missed.get(finding.fingerprint)) else "",
            missed_because=miss.because if miss else "",
        )
        for finding in (*reviewed.findings, *reviewed.elsewhere)
        if finding.fingerprint in decided
    )


def _watch(this: Round, review: int, decided: Mapping[str, PostingDecision], context: JobContext) -> None:
    """Remember which comment stands for which decision, so that what people do with it is learned from."""
    for comment in this.github.review_comments(this.pull.number, review):
        fingerprint = marked(comment.body)
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


def _close_resolved(this: Round, plan: ReviewPlan, context: JobContext) -> None:
    """Close our own threads about what is no longer there."""
    posts = context.store.posts.on(this.job.repository.full_name, this.pull.number)
    for gone in plan.resolved:
        remarks = [post.github_id for post in posts if post.fingerprint == gone]
        context.effects.once(
            this.key_of_end(gone),
            make=partial(_close_threads, this, remarks),
            find=partial(_finish_closing, this, remarks),
        )


def _close_threads(this: Round, remarks: Sequence[int]) -> int:
    """How many there were to close: what stood in the summary alone has none, and what people resolved is theirs."""
    threads = [thread.id for thread in _threads(this, remarks) if not thread.resolved]
    for thread in threads:
        this.github.resolve_thread(thread)
    return len(threads)


def _finish_closing(this: Round, remarks: Sequence[int]) -> int:
    """Close what a worker that died left open; how many are closed by us then."""
    _close_threads(this, remarks)
    return sum(thread.by_author for thread in _threads(this, remarks))


def _reopen_returned(this: Round, plan: ReviewPlan, context: JobContext) -> None:
    """Open our own threads again about what is back; those that people had resolved stay as they are."""
    posts = context.store.posts.on(this.job.repository.full_name, this.pull.number)
    for back in plan.back:
        if this.again.gone[back]:
            remarks = [post.github_id for post in posts if post.fingerprint == back]
            context.effects.once(
                this.key_of_return(back),
                make=partial(_reopen_threads, this, remarks),
                find=lambda: None,  # opening a thread twice is opening it
            )


def _reopen_threads(this: Round, remarks: Sequence[int]) -> int:
    threads = [thread.id for thread in _threads(this, remarks) if thread.by_author]
    for thread in threads:
        this.github.reopen_thread(thread)
    return len(threads)


def _threads(this: Round, remarks: Sequence[int]) -> list[ReviewThread]:
    found = (this.github.thread_of(this.pull.number, remark) for remark in remarks)
    return [thread for thread in found if thread is not None]


def _post_check(this: Round, reviewed: Reviewed, plan: ReviewPlan, context: JobContext) -> None:
    """One check run. It is neutral as soon as anything was said or anything was not read: never green by omission."""
    still, changed = len(plan.repeated) + len(plan.back), len(reviewed.change.files)
    clean = changed and not plan.said and not still and not reviewed.not_read
    key = this.key("check")
    context.effects.once(
        key,
        make=lambda: this.github.create_check(
            sha=this.task.sha,
            external_id=key,
            conclusion="success" if clean else "neutral",
            title=reviews.check_title(changed=changed, findings=len(plan.said) + still, unread=len(reviewed.not_read)),
            summary=reviews.check_summary(
                read=reviewed.files_read,
                unedited=reviewed.files_unedited,
                coverage=reviewed.not_read,
                repeated=still,
                held=len(plan.held),
                untested=not this.may_run_tests,
                unasked=not this.may_ask_model,
                bot_name=context.settings.bot_name,
                other_base=this.other_base,
            ),
            annotations=[_annotation(finding) for finding in plan.said],
        ),
        find=lambda: this.github.find_check(sha=this.task.sha, external_id=key),
    )


def _annotation(finding: Finding) -> Annotation:
    return Annotation(
        path=finding.path,
        start_line=finding.line,
        end_line=finding.end_line,
        level=reviews.ANNOTATION_LEVELS[finding.severity],
        message=reviews.annotation_message(finding),
        title=finding.rule,
    )
