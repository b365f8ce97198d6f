"""The flow of each job: run(job, context) → follow-up jobs."""

from collections.abc import Mapping

from workers import jobs
from workers.flows import ask, checks, feedback, maintenance, repair, replies, review
from workers.queue.runner import Flow

FLOWS: Mapping[type, Flow] = {
    jobs.Fix: repair.run,
    jobs.ReviewPull: review.run,
    jobs.ReviewAgain: checks.review_again,
    jobs.Feedback: feedback.run,
    jobs.TrackPull: feedback.track,
    jobs.StartCi: maintenance.start_ci,
    jobs.PollReactions: feedback.poll,
    jobs.AnswerCommand: ask.run,
    jobs.AnswerQuestion: ask.run,
    jobs.LocateIssue: ask.locate_issue,
    jobs.ShareLearnings: ask.run,
    jobs.LearnHistory: maintenance.learn_history,
    jobs.RedeliverWebhooks: maintenance.redeliver,
    jobs.CheckPolicy: maintenance.check_policy,
    jobs.ResumeInstallation: maintenance.resume,
    jobs.ReportFailure: replies.report_failure,
    jobs.RemoveDuplicate: replies.remove_duplicate,
}
