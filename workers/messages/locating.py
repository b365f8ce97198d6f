"""The answer to an issue in words: likely files, resolved issues that read alike, and tests."""

from collections.abc import Callable

from workers.localisation.locate import LikelyPlace, Located
from workers.localisation.past_changes import EarlierChange
from workers.localisation.ranking import LikelyFile
from workers.messages.markdown import counted, first_of, name, plain

LONGEST_TITLE = 100
SHOWN_SOURCES = 3

NOTHING = "No Python file of this repository shares a word with this issue, so I can name no place."


def answer(found: Located, *, root: str, decision: str, bot_name: str) -> str:
    """The answer, in at most 25 lines; `root` is the address of the repository's page."""
    return "\n".join(
        [
            f"By its words, this is likely about (at {_commit(found.sha, root)}, nothing was run):",
            "",
            *(f"{number}. {_place(place, root)}" for number, place in enumerate(found.places, 1)),
            "",
            *_resolved(found, root),
            *_tests(found),
            *_left_out(found),
            f"Is this of use? React with 👍 or 👎; `@{bot_name} why {decision}` explains why I answered.",
        ]
    )


def reason(file: LikelyFile, code: Callable[[str], str], commit: Callable[[str], str]) -> str:
    """What speaks for a file beside its words; `code` shows an identifier, `commit` a commit by its id."""
    if file.is_named:
        return "the issue names it"
    if file.defines:
        return f"it defines {', '.join(map(code, file.defines[:SHOWN_SOURCES]))}"
    if file.change is None:
        return "its words are alike"
    closed = file.change.closes
    by = f"the fix of #{closed[0]}" if closed else commit(file.change.sha)
    return f"changed by {by}, which reads alike"


def short_title(change: EarlierChange) -> str:
    """The title of a change, within a line."""
    title = " ".join(change.title.split())
    return title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE]}…"


def _place(place: LikelyPlace, root: str) -> str:
    shown = ", ".join(f"{name(each.name)} ({each.line}–{each.end_line})" for each in place.functions)
    why = reason(place.file, name, lambda sha: _commit(sha, root))
    return f"{name(place.file.path)}{f': {shown}' if shown else ''} – {why}"


def _resolved(found: Located, root: str) -> list[str]:
    if not found.resolved:
        return []
    return ["Resolved before, and read alike:", "", *(_change(each, root) for each in found.resolved), ""]


def _change(change: EarlierChange, root: str) -> str:
    issues = "".join(f"#{number}, " for number in change.closes[:SHOWN_SOURCES])
    files = first_of(change.sources, SHOWN_SOURCES, name)
    return f"- {issues}{_commit(change.sha, root)}: {plain(short_title(change))} ({files})"


def _tests(found: Located) -> list[str]:
    if found.tests_unknown:
        return [f"Tests were not looked for: {found.tests_unknown}.", ""]
    if not found.tests:
        return ["No test imports these files.", ""]
    return [f"Tests that import these files, not run: {', '.join(name(each) for each in found.tests)}.", ""]


def _left_out(found: Located) -> list[str]:
    missing = found.of - found.read
    return [f"{counted(missing, 'file')} of {found.of:,} were not read.", ""] if missing else []


def _commit(sha: str, root: str) -> str:
    return f"[{sha[:7]}]({root}/commit/{sha})"
