"""What users read about `.github/apprentice.yml`: its mistakes, and what it leaves out."""

from collections.abc import Sequence

from workers.configuration.reading import Mistake
from workers.configuration.schema import PATH
from workers.messages.markdown import counted, name, plain

SHOWN_LINES = 10

DRAFT = "it is a draft"
PUSHED = f"{PATH} has `reviews.pushes: false`"
OPENED = f"{PATH} has `reviews.opened: false`"
FORK = f"it comes from a fork, and {PATH} has `reviews.forks: false`"
OWNER_UNREAD = f"The owner's {PATH} could not be read; its defaults are not used."
SILENT = f"Silent mode of {PATH}: nothing is posted but this check run."
LOCKED = "The conversation is locked, and GitHub takes nothing of an App there: all is in this check run."


def author(login: str) -> str:
    """Why the pull request of an account is not reviewed."""
    return f"{PATH} skips pull requests by {name(login)}"


def label(text: str) -> str:
    """Why a pull request with a label is not reviewed."""
    return f"{PATH} skips pull requests with the label {name(text)}"


def skipped(why: str, *, bot_name: str) -> str:
    """The text of the check run of a pull request that is not reviewed."""
    return f"Not reviewed: {why}. A maintainer can ask with `@{bot_name} review`."


def wrong(mistakes: Sequence[Mistake], of_owner: str) -> str:
    """What is wrong with the files, in a title; empty where nothing is."""
    return mistakes_title(mistakes) if mistakes else f"mistakes in the owner's {PATH}" if of_owner else ""


def in_answer(wrong: str) -> str:
    """What is added to the answer to a repair; empty where nothing is wrong."""
    return f"\n\n**Configuration:** {wrong}; the next review's check run names them." if wrong else ""


def mistakes_title(mistakes: Sequence[Mistake]) -> str:
    return f"{counted(len(mistakes), 'mistake')} in {PATH}"


def mistakes_text(mistakes: Sequence[Mistake]) -> list[str]:
    """A line for each, below one that says what counts instead."""
    lines = [f"- line {each.line}, column {each.column}: {plain(each.text)}" for each in mistakes]
    return [f"{mistakes_title(mistakes)} on the base branch. Each counts as not written; the rest is used.", *lines]


def owner_mistakes(mistakes: Sequence[Mistake]) -> str:
    """Where they are, and none of the text: the repository that holds them may be private."""
    places = ", ".join(str(line) for line in sorted({each.line for each in mistakes})[:SHOWN_LINES])
    return f"{counted(len(mistakes), 'mistake')} in the owner's {PATH}, line {places}; the rest of it is used."


def noted(note: str) -> str:
    """What is unusual about where the tests run."""
    return f"{plain(note[:1].upper() + note[1:])}."


def left_out(findings: int, files: int) -> list[str]:
    """What the file keeps from being reported."""
    lines = [f"{counted(findings, 'finding')} left out by {PATH}."] if findings else []
    if files:
        lines.append(
            f"{counted(files, 'file')} left out by `paths` of {PATH}: only security and critical findings are reported."
        )
    return lines
