"""Answers to commands and verdicts, and what is said when a job failed."""

from __future__ import annotations

from collections.abc import Sequence

from memory.model import Signal
from workers.messages.markdown import code, counted, name, plain, prose
from workers.messages.marker import marker


def outsider(login: str, *, key: str) -> str:
    """The answer to a command by somebody who may not give any."""
    return (
        f"{plain(login)}, only people with write access to this repository can ask me to work; "
        f"a maintainer can repeat your command.\n{marker(key)}"
    )


def help_text(bot_name: str, *, key: str) -> str:
    """The answer to `help`."""
    return "\n".join(
        [
            "| command | what it does |",
            "| --- | --- |",
            f"| `@{bot_name} fix` | reproduce the failing tests and open a draft pull request with a proven fix |",
            f"| `@{bot_name} review` | review this pull request now, running its tests |",
            f"| `@{bot_name} ask …`, `@{bot_name} explain` | answer a question about the code, or explain my comment (with a model) |",
            f"| `@{bot_name} why ID` | explain a decision: what was known, the odds, the alternatives |",
            f"| `@{bot_name} accept`, `@{bot_name} reject because …` | tell me whether this was useful |",
            f"| `@{bot_name} share` | propose what was learned here as a file for other repositories |",
            f"| `@{bot_name} help` | this table |",
            "",
            "People with write access can command and teach. Reactions, applied suggestions, merges and closes teach too.",
            marker(key),
        ]
    )


def misunderstood(problem: str, suggestion: str, bot_name: str, *, key: str) -> str:
    """The answer to a command that does not exist."""
    hint = f"Did you mean `@{bot_name} {suggestion}`?" if suggestion else f"Try `@{bot_name} help`."
    said = plain(problem)
    return f"{said[:1].upper()}{said[1:]}. {hint}\n{marker(key)}"


def receipt(signals: Sequence[Signal], *, wanted: bool, scope: str, key: str) -> str:
    """What a verdict changed, and how far it reaches."""
    heard = sum(1 for s in signals if s.weight)
    if any(s.limited for s in signals) and not heard:
        return f"Noted, without effect: one account teaches me only so much in a day.\n{marker(key)}"
    if not heard:
        return f"Noted, without effect: only people with write access teach me.\n{marker(key)}"
    verb = "wanted" if wanted else "not wanted"
    return (
        f"Noted as {verb}: {counted(heard, 'decision')} re-weighed. It changes how likely I am to do the like "
        f"for {plain(scope)}; other repositories hear of it only once several have judged the like. "
        f"Nothing is switched off by one verdict.\n{marker(key)}"
    )


def nothing_to_judge(*, key: str) -> str:
    """The answer to a verdict where nothing of ours stands."""
    return f"I have done nothing here that could be judged; answer one of my comments instead.\n{marker(key)}"


def why(explanation: str, *, key: str) -> str:
    """The answer to `why`."""
    return f"{code(explanation)}\n{marker(key)}"


def unknown_decision(reference: str, *, key: str) -> str:
    """The answer to `why` about something that was never decided."""
    if not reference:
        return f"I have decided nothing here yet. Ask with an id: they stand at the foot of what I post.\n{marker(key)}"
    return (
        f"I know no decision or finding {name(reference)}. "
        f"The ids stand at the foot of my comments and pull requests.\n{marker(key)}"
    )


def answered(text: str, cites: Sequence[str], *, key: str) -> str:
    """A model's answer to a question, with the places it rests on; without any, that is said."""
    rests = f"It rests on {', '.join(name(cite) for cite in cites)}." if cites else "It cites no place in the code."
    return f"{prose(text)}\n\n{rests} A model's answer: not tested by anything.\n{marker(key)}"


def no_model(*, key: str) -> str:
    """The answer to a question where there is no model."""
    return (
        "I have no model to ask, so I can only repair, review and explain my own decisions; "
        f"the operator can set one with {name('APPRENTICE_MODEL_BASE_URL')}.\n{marker(key)}"
    )


def could_not(doing: str, reason: str, *, key: str) -> str:
    """What is said when work ended in an error."""
    return f"I could not {doing}: {plain(reason)}\n{marker(key)}"
