"""What a job does, told in verbs: run(job, context) → follow-up jobs."""

from __future__ import annotations

from collections.abc import Mapping

from workers.flows import (
    ask,
    feedback,
    fix,
    history,
    policy_check,
    poll_feedback,
    redeliver_webhooks,
    review,
    share_learnings,
)
from workers.jobs import Answer, Feedback, Fix, Judge, Learn, Poll, Question, Reconcile, Review, Share, Track
from workers.queue.runner import Flow

FLOWS: Mapping[type, Flow] = {
    Fix: fix.run,
    Review: review.run,
    Feedback: feedback.run,
    Track: poll_feedback.run,
    Poll: poll_feedback.poll,
    Answer: ask.answer_command,
    Question: ask.answer_question,
    Share: share_learnings.run,
    Learn: history.run,
    Reconcile: redeliver_webhooks.run,
    Judge: policy_check.run,
}
"""The flow of every type of job."""
