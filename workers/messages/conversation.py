"""Answers to commands and verdicts, notices of failed jobs, and the pull request that proposes learnings."""

from collections.abc import Callable, Sequence

from memory.model import Signal, TaskKind
from memory.sharing import PATH, QUORUM, Learnings
from workers.messages.markdown import SKIP_CI, as_commit, code, counted, folded, marker, name, plain, prose


def outsider(login: str) -> str:
    """The answer to a command from a user without write access."""
    return (
        f"{plain(login)}, only users with write access to this repository can give me commands; "
        "a maintainer can repeat your command."
    )


def help_text(bot_name: str, *, model: bool, share: bool) -> str:
    """The commands that can do something here: some need a model, and one a setting of the operator."""
    question = "answer a question about the code, or explain my comment"
    learnings = "propose this repository's learnings as a file for other repositories"
    return "\n".join(
        [
            "| command | what it does |",
            "| --- | --- |",
            f"| `@{bot_name} fix` | reproduce the failing tests and open a draft pull request with a proven fix |",
            f"| `@{bot_name} review` | review this pull request now, running its tests |",
            *([f"| `@{bot_name} ask …`, `@{bot_name} explain` | {question} |"] if model else []),
            f"| `@{bot_name} where` | name the files that this issue is likely about, and similar issues that were resolved |",
            f"| `@{bot_name} why ID` | explain a decision: its evidence, probabilities and alternatives |",
            f"| `@{bot_name} accept`, `@{bot_name} reject because …` | judge whether a finding or fix is useful |",
            *([f"| `@{bot_name} share` | {learnings} |"] if share else []),
            f"| `@{bot_name} help` | this table |",
            "",
            "Users with write access can give commands and feedback; feedback from users with triage access counts half. Reactions, applied suggestions, merges and closes count as feedback too.",
        ]
    )


def misunderstood(problem: str, suggestion: str, bot_name: str) -> str:
    """The answer to an invalid command."""
    hint = f"Did you mean `@{bot_name} {suggestion}`?" if suggestion else f"Try `@{bot_name} help`."
    sentence = plain(problem)
    return f"{sentence[:1].upper()}{sentence[1:]}. {hint}"


def receipt(signals: Sequence[Signal], *, wanted: bool, scope: str) -> str:
    """The effect of a verdict, and how far it reaches."""
    counting = sum(1 for s in signals if s.weight)
    if any(s.limited for s in signals) and not counting:
        return "Recorded without effect: this account has reached its daily limit of feedback."
    if not counting:
        return NO_EFFECT
    verb, effect = ("wanted", "more likely") if wanted else ("not wanted", "less likely; one verdict disables nothing")
    return (
        f"Recorded as {verb} for {counted(counting, 'decision')}: similar results for {plain(scope)} become {effect}. "
        "Other repositories are affected only after several of them give similar feedback."
    )


NO_EFFECT = "Recorded without effect: only feedback from users with write or triage access counts."
NOTHING_TO_JUDGE = "There is no fix of mine here to judge, and no comment of mine beside the code."


def unknown_decision(reference: str) -> str:
    """The answer to `why` about an unknown decision."""
    if not reference:
        return "I have made no decision here yet. Ask with an id from the end of one of my posts."
    return f"I know no decision or finding {name(reference)}. The ids are at the end of my comments and pull requests."


def explained(chosen: str, probability: float, reason: str, figures: str) -> str:
    """The answer to `why`: the reason in a sentence, and all figures for those who open them."""
    short = f"I chose {name(chosen)}, which had a probability of {probability:.2f}: {plain(reason)}."
    return f"{short}\n\n{folded('All figures', code(figures))}"


def answered(text: str, cites: Sequence[str]) -> str:
    """A model's answer to a question, with its citations, or a note that it has none."""
    sources = f"Sources: {', '.join(name(cite) for cite in cites)}." if cites else "It cites no place in the code."
    return f"{prose(text)}\n\n{sources} This is a model's answer; no test confirms it."


NO_MODEL = (
    "No model is configured, so I can only repair, review and explain my own decisions; "
    "the operator can set one with `APPRENTICE_MODEL_BASE_URL`."
)


def could_not(doing: str, reason: str) -> str:
    """The notice of a job that ended in an error."""
    return f"I could not {doing}: {plain(reason)}"


TITLE = "Learnings for other repositories, to be reviewed"


def web_root(github_url: str) -> str:
    """The address of GitHub's pages, from the API's address."""
    return github_url.replace("://api.github.com", "://github.com").rstrip("/").removesuffix("/api/v3")


def link_to(github_url: str) -> Callable[[TaskKind, str, int], str]:
    """Returns a function that gives the web address of an issue or pull request, from the API's address."""
    root = web_root(github_url)
    place = {TaskKind.REVIEW: "pull", TaskKind.REPAIR: "issues", TaskKind.ISSUE: "issues"}
    return lambda kind, repository, number: f"{root}/{repository}/{place[kind]}/{number}"


def commit_message(learnings: Learnings, *, skip_ci: bool) -> str:
    lessons = counted(len(learnings.lessons), "lesson")
    return f"Write down this repository's learnings: {lessons}{SKIP_CI if skip_ci else ''}\n"


def no_draft(*, skip_ci: bool) -> str:
    """The warning before the text of a pull request in a repository that has no drafts."""
    text = "**Do not merge this unread.** It is no draft, because this repository has none."
    if skip_ci:
        text += (
            f" Its commit carries {as_commit(name(SKIP_CI.strip()))}: CI runs once a person pushes a commit on top. "
            "Take the mark out of the message of a squash merge."
        )
    return text


def pull_body(learnings: Learnings, *, key: str) -> str:
    """The pull request's text: what the file holds, what it leaves out, and what a merge does."""
    return (
        f"{name(PATH)} holds {counted(len(learnings.lessons), 'lesson')}: how often users here accepted findings of a "
        f"rule, or fixes of a kind. Each rests on feedback from at least {QUORUM} users, and links to it.\n\n"
        "It holds no code, paths, messages or names. Review it like code, and remove what must stay private. "
        f"After the merge, everyone who can read this repository can import it as a prior.\n{marker(key)}"
    )


def proposed(pull: int, learnings: Learnings) -> str:
    """The answer with the new pull request."""
    return f"I propose {counted(len(learnings.lessons), 'lesson')} in #{pull}."


NOTHING_NEW = f"{name(PATH)} is already up to date."
NOTHING_YET = f"No lesson here has feedback from at least {QUORUM} users yet, so there is nothing to share."
SWITCHED_OFF = "Sharing is disabled; the operator can set `APPRENTICE_SHARE_LEARNINGS`."
