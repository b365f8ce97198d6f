"""Access to the model in a review: who may have it read a change, and the detector that does. Loaded only where a model is set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.model import Sighting
from workers.context import Context
from workers.flows.permissions import may_command
from workers.flows.review_context import Round
from workers.job_context import JobContext
from workers.jobs import ReviewPull
from workers.ports import GitHub, PullRequest
from workers.review.detectors.detector import MODEL, ChangeDetector

if TYPE_CHECKING:
    from workers.agent.reviewing.reviewer import ModelReviewer
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
    repository = this.job.repository.full_name
    model = context.model(this.task.id, repository)
    if model is None and not any(each.finding.tool == MODEL for each in this.earlier):
        return ()
    if model is None or not this.may_ask_model:
        from workers.agent.reviewing.reviewer import Unasked

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
    from workers.agent.reviewing.critique import opinions, principles
    from workers.agent.reviewing.reviewer import Description, Memory, ModelReviewer

    return ModelReviewer(
        model=model,
        memory=Memory(embedder=context.embedder, earlier=earlier, opinions=opinions(context.store, repository)),
        constitution=principles(context.settings.model_principles),
        description=Description(title=title, body=body),
        progress=context.progress,
    )
