"""Who has the model read a change: people of the repository, by opening it or by asking for it."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Sighting
from workers.agent.reviewing.critique import principles
from workers.agent.reviewing.opinions import opinions
from workers.agent.reviewing.reviewer import Description, Memory, ModelReviewer, Unasked
from workers.context import Context
from workers.flows.permissions import may_command
from workers.flows.review_context import Round
from workers.jobs import Review
from workers.llm.messages import Model
from workers.ports import GitHub, PullRequest
from workers.review.detectors.detector import MODEL, ChangeDetector


def may_ask(job: Review, pull: PullRequest, github: GitHub) -> bool:
    """Whether an answer of the model may be paid for. A bot's word counts only for what it pushed here itself."""
    if job.commanded:
        return True
    if pull.author.is_bot:
        return pull.head_repository_id == job.repository.id
    return may_command(github, pull.author)


def readers(this: Round, context: Context) -> tuple[ChangeDetector, ...]:
    """The detector of the model, or what stands for it where it may not be asked, or is no longer there to be asked."""
    repository = this.job.repository.full_name
    model = context.model(this.task.id, repository)
    if model is None and not any(each.finding.tool == MODEL for each in this.earlier):
        return ()
    if model is None or not this.may_ask_model:
        return (Unasked(earlier=this.earlier),)
    description = Description(title=this.pull.title, body=this.pull.body)
    return (reviewer(model, repository, description, this.earlier, context),)


def reviewer(
    model: Model, repository: str, description: Description, earlier: Sequence[Sighting], context: Context
) -> ModelReviewer:
    """The detector with what is remembered for it."""
    return ModelReviewer(
        model=model,
        memory=Memory(embedder=context.embedder, earlier=earlier, opinions=opinions(context.store, repository)),
        constitution=principles(context.settings.model_principles),
        description=description,
        progress=context.progress,
    )
