"""The texts about learnings: the pull request that proposes them, and the answers to its command."""

from __future__ import annotations

from collections.abc import Callable

from memory.model import TaskKind
from memory.sharing.document import PATH
from memory.sharing.lessons import QUORUM, Learnings
from workers.messages.markdown import counted, name
from workers.messages.marker import marker

TITLE = "Learnings for other repositories, to be reviewed"


def link_to(github_url: str) -> Callable[[TaskKind, str, int], str]:
    """Returns a function that gives the web address of an issue or pull request, from the API's address."""
    root = github_url.replace("://api.github.com", "://github.com").rstrip("/").removesuffix("/api/v3")
    place = {TaskKind.REVIEW: "pull", TaskKind.REPAIR: "issues"}
    return lambda kind, repository, number: f"{root}/{repository}/{place[kind]}/{number}"


def commit_message(learnings: Learnings) -> str:
    """The commit's message."""
    return f"Write down this repository's learnings: {counted(len(learnings.lessons), 'lesson')}\n"


def pull_body(learnings: Learnings, *, key: str) -> str:
    """The pull request's text: what the file holds, what it leaves out, and what a merge does."""
    return (
        f"{name(PATH)} holds {counted(len(learnings.lessons), 'lesson')}: how often users here accepted findings of a "
        f"rule, or fixes of a kind. Each rests on feedback from at least {QUORUM} users, and links to it.\n\n"
        "It holds no code, paths, messages or names. Review it like code, and remove what must stay private. "
        f"After the merge, everyone who can read this repository can import it as a prior.\n{marker(key)}"
    )


def proposed(pull: int, learnings: Learnings, *, key: str) -> str:
    """The answer with the new pull request."""
    return f"I propose {counted(len(learnings.lessons), 'lesson')} in #{pull}.\n{marker(key)}"


def nothing_new(*, key: str) -> str:
    """The answer when the file is up to date."""
    return f"{name(PATH)} is already up to date.\n{marker(key)}"


def nothing_yet(*, key: str) -> str:
    """The answer when no lesson has a quorum."""
    return f"No lesson here has feedback from at least {QUORUM} users yet, so there is nothing to share.\n{marker(key)}"


def switched_off(*, key: str) -> str:
    """The answer when the operator has not enabled sharing."""
    return f"Sharing is disabled; the operator can set `APPRENTICE_SHARE_LEARNINGS`.\n{marker(key)}"
