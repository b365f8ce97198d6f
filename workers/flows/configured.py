"""What the configuration files of a repository and of its owner say, and what that means for a job."""

from dataclasses import dataclass

from workers.configuration.reading import ConfigurationFile, Mistake, configuration_of, read_configuration
from workers.configuration.schema import NOTHING_CHOSEN, PATH, RepositoryConfiguration
from workers.errors import CannotRun
from workers.git import Mirror
from workers.git_command import TooMuchForGit
from workers.job_context import JobContext
from workers.jobs import RepositoryRef, ReviewPull
from workers.messages import configuration as messages
from workers.ports import PullRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfiguration:
    """What counts, the mistakes in the repository's own file, and one line about those in the owner's, empty without."""

    chosen: RepositoryConfiguration = NOTHING_CHOSEN
    mistakes: tuple[Mistake, ...] = ()
    of_owner: str = ""


def file_at(mirror: Mirror, base: str) -> ConfigurationFile:
    """The repository's own file at a commit of the base branch. Never pass a commit of a pull request: its author controls it."""
    try:
        content = mirror.read(base, PATH)
    except TooMuchForGit as error:
        return ConfigurationFile(mistakes=(Mistake(line=1, column=1, text=str(error)),))
    return read_configuration(content or b"")


def configuration_at(mirror: Mirror, base: str, repository: RepositoryRef, context: JobContext) -> ReadConfiguration:
    """The repository's own file at a commit of the base branch, over that of its owner.

    An owner's file that cannot be read stops nothing.
    """
    own, content, trouble = file_at(mirror, base), None, ""
    try:
        content = context.defaults(repository)
    except CannotRun as reason:
        trouble = messages.OWNER_UNREAD
        context.progress(f"the owner's {PATH} was not read: {reason}")
    owners = read_configuration(content or b"")
    for mistake in owners.mistakes:
        context.progress(f"the owner's {PATH}, {mistake}")
    of_owner = trouble or (messages.owner_mistakes(owners.mistakes) if owners.mistakes else "")
    return ReadConfiguration(chosen=configuration_of((owners, own)), mistakes=own.mistakes, of_owner=of_owner)


def not_wanted(job: ReviewPull, pull: PullRequest, configuration: RepositoryConfiguration) -> str:
    """Why a pull request gets no review without a command; empty where it gets one."""
    chosen, author = configuration.reviews, pull.author.login
    if pull.draft and not chosen.drafts:
        return messages.DRAFT
    if job.pushed and not chosen.pushes:
        return messages.PUSHED
    if not job.pushed and not chosen.opened:
        return messages.OPENED
    if pull.head_repository_id != job.repository.id and not chosen.forks:
        return messages.FORK
    if author.casefold() in map(str.casefold, chosen.skip_authors):
        return messages.author(author)
    labels = {label.casefold() for label in pull.labels}
    skipped = next((label for label in chosen.skip_labels if label.casefold() in labels), "")
    return messages.label(skipped) if skipped else ""
