"""What a text that somebody wrote asks for: its commands, as jobs about the place where it stands. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.web.commands import Command, CommandError, Verb, parse
from bot.web.events import Pull
from memory.model import SignalKind
from workers.jobs import (
    Account,
    Answer,
    Feedback,
    Fix,
    Job,
    Question,
    RepositoryRef,
    Review,
    Share,
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
    """Where an event came from and who caused it."""

    repository: RepositoryRef
    actor: Account
    bot_name: str
    bot_login: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A text in which commands may stand, and what it stands under.

    `subject` is what a verdict in it judges, None where there is nothing to judge; `pull` is None in an issue.
    `number` is a pull request's when `on_pull`, whether or not the event carries it whole.
    """

    text: str
    number: int
    comment_id: int
    title: str = ""
    context: str = ""
    on_pull: bool = False
    pull: Pull | None = None
    subject: Subject | None = None
    source: str = ""
    review_comment: bool = False


def jobs_asked(spoken: Spoken, origin: Origin) -> tuple[Job, ...]:
    return tuple(_obey(command, spoken, origin) for command in parse(spoken.text, origin.bot_name))


def _obey(command: Command | CommandError, spoken: Spoken, origin: Origin) -> Job:
    if isinstance(command, CommandError):
        return _answer(spoken, origin, command="", problem=command.problem, suggestion=command.did_you_mean)
    match command.verb:
        case Verb.FIX:
            return _fix(spoken, origin, command.argument)
        case Verb.REVIEW if spoken.pull is not None:
            return review_of(spoken.pull, origin, commanded=True, comment_id=spoken.comment_id)
        case Verb.REVIEW if spoken.on_pull:
            return Review(
                repository=origin.repository,
                actor=origin.actor,
                number=spoken.number,
                commanded=True,
                comment_id=spoken.comment_id,
            )
        case Verb.ACCEPT | Verb.REJECT if spoken.subject is not None:
            return _judge(command, spoken, spoken.subject, origin)
        case Verb.ASK | Verb.EXPLAIN:
            return _question(command, spoken, origin)
        case Verb.SHARE:
            return Share(
                repository=origin.repository,
                actor=origin.actor,
                number=spoken.number,
                comment_id=spoken.comment_id,
            )
        case Verb.WHY | Verb.HELP:
            return _answer(spoken, origin, command=command.verb, argument=command.argument)
        case verb:
            return _answer(spoken, origin, command=verb, problem=_OUT_OF_PLACE[verb])


def _fix(spoken: Spoken, origin: Origin, guidance: str) -> Fix:
    said = (spoken.context, spoken.text) if spoken.comment_id else (spoken.text,)
    return Fix(
        repository=origin.repository,
        actor=origin.actor,
        issue=spoken.number,
        pull=spoken.on_pull,
        commanded=True,
        comment_id=spoken.comment_id,
        title=spoken.title,
        body="\n\n".join(part for part in said if part),
        sha=spoken.pull.head.sha if spoken.pull else "",
        guidance=guidance,
    )


def _question(command: Command, spoken: Spoken, origin: Origin) -> Question:
    subject = spoken.subject
    return Question(
        repository=origin.repository,
        actor=origin.actor,
        number=spoken.number,
        comment_id=spoken.comment_id,
        explain=command.verb is Verb.EXPLAIN,
        text=command.argument,
        on_pull=spoken.on_pull,
        review_comment=spoken.review_comment,
        thread=subject.id if subject and subject.kind is SubjectKind.REVIEW_COMMENT else 0,
        title=spoken.title,
        body=spoken.context,
    )


def _judge(command: Command, spoken: Spoken, subject: Subject, origin: Origin) -> Feedback:
    return Feedback(
        repository=origin.repository,
        actor=origin.actor,
        kind=_VERDICTS[command.verb],
        subject=subject,
        source=spoken.source,
        note=command.argument,
        reply_to=spoken.comment_id,
        number=spoken.number,
    )


def _answer(
    spoken: Spoken, origin: Origin, *, command: str, argument: str = "", problem: str = "", suggestion: str = ""
) -> Answer:
    return Answer(
        repository=origin.repository,
        actor=origin.actor,
        number=spoken.number,
        comment_id=spoken.comment_id,
        command=command,
        argument=argument,
        problem=problem,
        suggestion=suggestion,
        review_comment=spoken.review_comment,
    )


def review_of(pull: Pull, origin: Origin, *, commanded: bool = False, comment_id: int = 0) -> Review:
    return Review(
        repository=origin.repository,
        actor=origin.actor,
        number=pull.number,
        head_sha=pull.head.sha,
        base_sha=pull.base.sha,
        from_fork=pull.from_fork,
        commanded=commanded,
        comment_id=comment_id,
    )
