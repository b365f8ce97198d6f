"""What is said about learnings: the pull request that proposes them, and the answers to who asked for it."""

from __future__ import annotations

from collections.abc import Callable

from memory.model import TaskKind
from memory.sharing.document import PATH
from memory.sharing.lessons import QUORUM, Learnings
from workers.messages.markdown import counted, name
from workers.messages.marker import marker

TITLE = "Learnings for other repositories, to be reviewed"


def link_to(github_url: str) -> Callable[[TaskKind, str, int], str]:
    """Where people see an issue or pull request, by where the API is."""
    root = github_url.replace("://api.github.com", "://github.com").rstrip("/").removesuffix("/api/v3")
    place = {TaskKind.REVIEW: "pull", TaskKind.REPAIR: "issues"}
    return lambda kind, repository, number: f"{root}/{repository}/{place[kind]}/{number}"


def commit_message(learnings: Learnings) -> str:
    """What the commit says."""
    return f"Write down what was learned here: {counted(len(learnings.lessons), 'lesson')}\n"


def pull_body(learnings: Learnings, *, key: str) -> str:
    """What the pull request says: what is in it, what is not, and what merging it does."""
    return (
        f"{name(PATH)} holds {counted(len(learnings.lessons), 'lesson')}: how often people here accepted findings of a "
        f"rule, or fixes of a kind. Each was taught by at least {QUORUM} people, and links to where.\n\n"
        "It holds no code, paths, messages or names. Read it like code, and remove whatever should not leave. "
        f"Once merged, whoever reads this repository can take it over as a prior.\n{marker(key)}"
    )


def proposed(pull: int, learnings: Learnings, *, key: str) -> str:
    """The answer when there is something to review."""
    return f"I put {counted(len(learnings.lessons), 'lesson')} up for review in #{pull}.\n{marker(key)}"


def nothing_new(*, key: str) -> str:
    """The answer when the file says it all."""
    return f"{name(PATH)} already says what was learned here.\n{marker(key)}"


def nothing_yet(*, key: str) -> str:
    """The answer when nothing is fit to leave."""
    return f"Nothing here was taught by at least {QUORUM} people yet, and nothing less leaves.\n{marker(key)}"


def switched_off(*, key: str) -> str:
    """The answer where the operator has not opted in."""
    return f"Sharing is switched off; whoever runs me can set `APPRENTICE_SHARE_LEARNINGS`.\n{marker(key)}"
