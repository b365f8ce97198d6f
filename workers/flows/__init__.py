"""The flow of each job: run(job, context) → follow-up jobs."""

from __future__ import annotations

from collections.abc import Mapping

from workers.flows import ask, feedback, maintenance, repair, review
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
    TrackPull: feedback.track,
    PollReactions: feedback.poll,
    AnswerCommand: ask.answer_command,
    AnswerQuestion: ask.answer_question,
    ShareLearnings: ask.share,
    LearnHistory: maintenance.learn_history,
    RedeliverWebhooks: maintenance.redeliver,
    CheckPolicy: maintenance.check_policy,
}
"""The flow of every type of job."""
