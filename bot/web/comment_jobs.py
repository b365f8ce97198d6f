"""Turns the commands in a posted text into jobs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.web.commands import Command, CommandError, Verb, parse
from bot.web.events import EventPull
from memory.model import SignalKind
from workers.jobs import (
    Account,
    AnswerCommand,
    AnswerQuestion,
    Feedback,
    Fix,
    Job,
    RepositoryRef,
    ReviewPull,
    ShareLearnings,
    Subject,
    SubjectKind,
)

_VERDICTS = {Verb.ACCEPT: SignalKind.ACCEPTED, Verb.REJECT: SignalKind.REJECTED}
_OUT_OF_PLACE = {
    Verb.REVIEW: "`review` works in a pull request",
    Verb.ACCEPT: "`accept` works as a reply to one of my comments",
    Verb.REJECT: "`reject` works as a reply to one of my comments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The repository and the user of an event, and the bot's names."""

    repository: RepositoryRef
    actor: Account
    bot_name: str
    bot_login: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedText:
    """A text that may hold commands, and its place.

    `subject` is the post that a verdict in it judges, None without one; `pull` is None in an issue, and in an event that
    does not hold the pull request. `number` is a pull request's when `on_pull`.
    """

    text: str
    number: int
    comment_id: int
    title: str = ""
    context: str = ""
    on_pull: bool = False
    pull: EventPull | None = None
    subject: Subject | None = None
    source: str = ""
    review_comment: bool = False


def jobs_from_commands(posted: PostedText, origin: Origin) -> tuple[Job, ...]:
    return tuple(_job_for(command, posted, origin) for command in parse(posted.text, origin.bot_name))


def _job_for(command: Command | CommandError, posted: PostedText, origin: Origin) -> Job:
    if isinstance(command, CommandError):
        return _answer(posted, origin, command="", problem=command.problem, suggestion=command.did_you_mean)
    match command.verb:
        case Verb.FIX:
            return _fix(posted, origin, command.argument)
        case Verb.REVIEW if posted.pull is not None:
            return review_of(posted.pull, origin, commanded=True, comment_id=posted.comment_id)
        case Verb.REVIEW if posted.on_pull:
            return ReviewPull(
                repository=origin.repository,
                actor=origin.actor,
                number=posted.number,
                commanded=True,
                comment_id=posted.comment_id,
            )
        case Verb.ACCEPT | Verb.REJECT if posted.subject is not None:
            return _feedback(command, posted, posted.subject, origin)
        case Verb.ASK | Verb.EXPLAIN:
            return _question(command, posted, origin)
        case Verb.SHARE:
            return ShareLearnings(
                repository=origin.repository,
                actor=origin.actor,
                number=posted.number,
                comment_id=posted.comment_id,
            )
        case Verb.WHY | Verb.HELP:
            return _answer(posted, origin, command=command.verb, argument=command.argument)
        case verb:
            return _answer(posted, origin, command=verb, problem=_OUT_OF_PLACE[verb])


def _fix(posted: PostedText, origin: Origin, guidance: str) -> Fix:
    parts = (posted.context, posted.text) if posted.comment_id else (posted.text,)
    return Fix(
        repository=origin.repository,
        actor=origin.actor,
        issue=posted.number,
        pull=posted.on_pull,
        commanded=True,
        comment_id=posted.comment_id,
        title=posted.title,
        body="\n\n".join(part for part in parts if part),
        sha=posted.pull.head.sha if posted.pull else "",
        guidance=guidance,
    )


def _question(command: Command, posted: PostedText, origin: Origin) -> AnswerQuestion:
    subject = posted.subject
    return AnswerQuestion(
        repository=origin.repository,
        actor=origin.actor,
        number=posted.number,
        comment_id=posted.comment_id,
        explain=command.verb is Verb.EXPLAIN,
        text=command.argument,
        on_pull=posted.on_pull,
        review_comment=posted.review_comment,
        thread=subject.id if subject and subject.kind is SubjectKind.REVIEW_COMMENT else 0,
        title=posted.title,
        body=posted.context,
    )


def _feedback(command: Command, posted: PostedText, subject: Subject, origin: Origin) -> Feedback:
    return Feedback(
        repository=origin.repository,
        actor=origin.actor,
        kind=_VERDICTS[command.verb],
        subject=subject,
        source=posted.source,
        note=command.argument,
        reply_to=posted.comment_id,
        number=posted.number,
    )


def _answer(
    posted: PostedText, origin: Origin, *, command: str, argument: str = "", problem: str = "", suggestion: str = ""
) -> AnswerCommand:
    return AnswerCommand(
        repository=origin.repository,
        actor=origin.actor,
        number=posted.number,
        comment_id=posted.comment_id,
        command=command,
        argument=argument,
        problem=problem,
        suggestion=suggestion,
        review_comment=posted.review_comment,
    )


def review_of(pull: EventPull, origin: Origin, *, commanded: bool = False, comment_id: int = 0) -> ReviewPull:
    return ReviewPull(
        repository=origin.repository,
        actor=origin.actor,
        number=pull.number,
        head_sha=pull.head.sha,
        base_sha=pull.base.sha,
        from_fork=pull.from_fork,
        commanded=commanded,
        comment_id=comment_id,
    )
