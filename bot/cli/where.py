"""`apprentice where`: what an issue in words is likely about, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import AsJson, print_json, print_page, refusing

if TYPE_CHECKING:
    from workers.localisation.locate import LikelyPlace, Located
    from workers.localisation.past_changes import EarlierChange


def where(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The issue in words; - reads it from standard input.")],
    path: Annotated[Path, typer.Argument(help="A git repository with its history.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Name the files and functions that an issue in words is likely about, similar issues that were resolved, and tests.

    It reads the last commit and what came before it, and runs nothing.
    """
    with refusing():
        found = located(path, sys.stdin.read() if text == "-" else text)
    if as_json:
        print_json(as_document(found))
    else:
        print_page(lines(found))


def located(path: Path, text: str) -> Located:
    """What is found at the last commit of the repository at a path; raises BadInput without words or a repository."""
    from workers.errors import BadInput
    from workers.localisation.locate import locate
    from workers.work_tree import git_directory, local_commits

    if not text.strip():
        raise BadInput("the text is empty; give the issue in words")
    directory = git_directory(path) if path.is_dir() else None
    if directory is None:
        raise BadInput(f"{path} is not inside a git repository; give the root of one")
    (sha,) = local_commits(path, ("HEAD",))
    return locate(directory, sha, text)


def lines(found: Located) -> Iterator[str]:
    """The result for people."""
    if not found.places:
        yield "no Python file shares a word with this text"
        return
    yield f"likely files at {found.sha[:7]}, by the words of {found.read:,} files and {found.changes:,} earlier changes:"
    for number, place in enumerate(found.places, 1):
        yield from _place(number, place)
    if found.resolved:
        yield "resolved before, and read alike:"
        yield from (f"  {_change(change)}" for change in found.resolved)
    if found.tests_unknown:
        yield f"tests were not looked for: {found.tests_unknown}"
    elif found.tests:
        yield f"tests that import these files, not run: {', '.join(found.tests)}"
    else:
        yield "no test imports these files"
    if found.of > found.read:
        yield f"{found.of - found.read:,} of {found.of:,} files were not read"


def _place(number: int, place: LikelyPlace) -> Iterator[str]:
    from workers.messages.locating import reason

    yield f"  {number}. {place.file.path}: {reason(place.file, str, lambda sha: sha[:7])}"
    yield from (f"     {place.file.path}:{each.line}-{each.end_line} {each.name}" for each in place.functions)


def _change(change: EarlierChange) -> str:
    from workers.messages.locating import short_title

    issues = "".join(f"#{number} " for number in change.closes)
    return f"{change.sha[:7]} {issues}{short_title(change)} ({', '.join(change.sources)})"


def as_document(found: Located) -> dict[str, object]:
    """The result for scripts."""
    return {
        "commit": found.sha,
        "clue": found.clue,
        "files": [
            {
                "path": place.file.path,
                "score": round(place.file.score, 4),
                "named": place.file.is_named,
                "defines": list(place.file.defines),
                "change": _reference(place.file.change) if place.file.change else None,
                "functions": [
                    {"name": each.name, "line": each.line, "end_line": each.end_line} for each in place.functions
                ],
            }
            for place in found.places
        ],
        "resolved": [_reference(change) for change in found.resolved],
        "tests": list(found.tests),
        "tests_unknown": found.tests_unknown,
        "files_read": found.read,
        "files_found": found.of,
        "changes_read": found.changes,
    }


def _reference(change: EarlierChange) -> dict[str, object]:
    from workers.messages.locating import short_title

    return {
        "commit": change.sha,
        "at": change.at.isoformat(),
        "title": short_title(change),
        "closes": list(change.closes),
        "sources": list(change.sources),
    }
