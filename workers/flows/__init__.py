"""The flow of each job: run(job, context) → follow-up jobs."""

from __future__ import annotations

from collections.abc import Mapping

from workers.flows import (
    ask,
    feedback,
    history,
    policy_check,
    poll_feedback,
    redeliver_webhooks,
    repair,
    review,
    share_learnings,
)
from workers.jobs import (
    AnswerCommand,
    AnswerQuestion,
    CheckPolicy,
    Feedback,
    Fix,
    LearnHistory,
    PollReactions,
    RedeliverWebhooks,
    ReviewPull,
    ShareLearnings,
    TrackPull,
)
from workers.queue.runner import Flow

FLOWS: Mapping[type, Flow] = {
    Fix: repair.run,
    ReviewPull: review.run,
    Feedback: feedback.run,
    TrackPull: poll_feedback.run,
    PollReactions: poll_feedback.poll,
    AnswerCommand: ask.answer_command,
    AnswerQuestion: ask.answer_question,
    ShareLearnings: share_learnings.run,
    LearnHistory: history.run,
    RedeliverWebhooks: redeliver_webhooks.run,
    CheckPolicy: policy_check.run,
}
"""The flow of every type of job."""
