"""What a job does, told in verbs: run(job, context) → follow-up jobs."""

from __future__ import annotations

from collections.abc import Mapping

from workers.flows import answer, feedback, fix, history, judge, question, reconcile, review, share, track
from workers.jobs import Answer, Feedback, Fix, Judge, Learn, Poll, Question, Reconcile, Review, Share, Track
from workers.runner import Flow

FLOWS: Mapping[type, Flow] = {
    Fix: fix.run,
    Review: review.run,
    Feedback: feedback.run,
    Track: track.run,
    Poll: track.poll,
    Answer: answer.run,
    Question: question.run,
    Share: share.run,
    Learn: history.run,
    Reconcile: reconcile.run,
    Judge: judge.run,
}
"""The flow of every type of job."""
