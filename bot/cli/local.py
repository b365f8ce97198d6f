"""`apprentice fix`, `review` and `where`: repair, review and search on this machine, without GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import (
    BAD_INPUT,
    INTERRUPTED,
    AsJson,
    Detail,
    FailOn,
    Format,
    Json,
    Progress,
    complain,
    fields,
    notes,
    out,
    print_exactly,
    print_json,
    print_page,
    refuse,
    refusing,
    worker_settings,
)
from memory.errors import StoreError
from workers.errors import ApprenticeError, BadInput

if TYPE_CHECKING:
    from workers.localisation.locate import LikelyPlace, Located
    from workers.localisation.past_changes import EarlierChange
    from workers.repair.result import Repaired


NOT_FIXED, UNDECIDED = 1, 3

Python = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Interpreter of the project. Default: your environment for it.")
]
Budget = Annotated[
    float | None,
    typer.Option(
        min=1.0,
        help="Seconds to spend at most, proofs included: a third of them to find what fails. "
        "Default: 120, or APPRENTICE_BUDGET_SECONDS.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of every random choice. Default: another one each time.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict alone, and no progress.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print everything: all tests, findings, attempts and odds.")
]


def fix(
    path: Annotated[Path, typer.Argument(help="Root of a Python project.", show_default=False)],
    test_command: Annotated[
        str | None, typer.Option(help="How to run the tests, variables first. Default: python -m pytest")
    ] = None,
    python: Python = None,
    budget: Budget = None,
    seed: Seed = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the proven patch into PATH.")] = False,
    patch: Annotated[
        bool, typer.Option("--patch", help="Print the proven patch and nothing else, for `git apply`.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Repair what fails in a project, with proof. PATH is not changed unless --apply is given.

    Exit codes: 0 fixed or nothing fails, 1 not fixed, 2 cannot run, 3 undecided: the tests fit several changes, it is an unlikely one, the time was too short for the proof, or the change uses what a repair has no use for; 130 interrupted.
    """
    detail = _detail(quiet=quiet, verbose=verbose)
    if patch and (apply or as_json):
        refuse("--patch prints the patch and nothing else; leave out --apply and --json")
    with _working("no file of yours was changed; what was learned so far is kept", quiet=quiet) as progress:
        from bot.cli import fix_output, json_output
        from bot.local import fix as fix_directory
        from bot.local import patch_for_git
        from workers.context import open_context

        try:
            options = {"budget_seconds": budget, "seed": seed}
            given = {name: value for name, value in options.items() if value is not None}
            context = open_context(worker_settings(**given), progress=progress)
            result = fix_directory(path, context, test_command=test_command, apply=apply, python=python)
            whole = patch_for_git(result, path) if patch else ""
        except (ApprenticeError, StoreError) as error:
            if as_json:
                print_json(json_output.cannot_run(str(error)))
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from error
    if as_json:
        print_json(json_output.repaired_json(result))
    elif patch:
        notes.print(fix_output.verdict(result, progress.seconds), markup=False)
        print_exactly(whole)
    else:
        fix_output.print_repaired(result, out, seconds=progress.seconds, applied=apply, detail=detail)
    raise typer.Exit(_exit_code(result))


def review(
    path: Annotated[Path, typer.Argument(help="Root of a Python project.")] = Path(),
    base: Annotated[
        str | None, typer.Option(help="The commit that the change starts from. Default: the main branch.")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="The commit that the change ends at. Default: the work tree, uncommitted or not.")
    ] = None,
    python: Python = None,
    fail_on: Annotated[
        FailOn, typer.Option(help="What ends with 1: broken tests, or findings as severe as this too.")
    ] = FailOn.TESTS,
    format_: Annotated[Format | None, typer.Option("--format", help="What to print. Default: text")] = None,
    report: Annotated[
        list[str] | None, typer.Option(metavar="FORMAT=FILE", help="Write the same review to FILE too. Repeatable.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Review your work, or the change from BASE to HEAD: run the tests of both, read it, and try out every suggestion.

    Exit codes: 0 nothing to fail on, 1 a broken test, or a finding that --fail-on names, 2 cannot run, or no test could tell, 130 interrupted.
    """
    detail = _detail(quiet=quiet, verbose=verbose)
    with _working("no file of yours was changed", quiet=quiet) as progress, refusing():
        from bot.cli import review_output
        from bot.local import review as review_directory
        from workers.context import open_context

        printed = review_output.printed_as(format_, as_json=as_json)
        files = review_output.files_of(report or ())
        with review_output.failure_in(printed):
            context = open_context(worker_settings(), progress=progress)
            result = review_directory(path, context, base=base, head=head, python=python)
        seconds = progress.seconds
        code = review_output.write(result, printed, files, fail_on, seconds=seconds, detail=detail)
    raise typer.Exit(code)


def _detail(*, quiet: bool, verbose: bool) -> Detail:
    if quiet and verbose:
        refuse("give one of --quiet and --verbose")
    return Detail.VERDICT if quiet else Detail.ALL if verbose else Detail.USUAL


@contextmanager
def _working(kept: str, *, quiet: bool) -> Iterator[Progress]:
    """The progress of a command, which ends with one line where its user interrupts it; `kept` is a part of the line."""
    with Progress(notes, quiet=quiet) as progress:
        try:
            yield progress
        except KeyboardInterrupt as error:
            complain(progress.interrupted(kept))
            raise typer.Exit(INTERRUPTED) from error


def _exit_code(result: Repaired) -> int:
    from workers.repair.result import RepairStatus

    if result.proven is not None:
        return 0 if result.settled else UNDECIDED
    return NOT_FIXED if result.status is RepairStatus.NOT_FIXED else 0


def where(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The issue in words; - reads it from standard input.")],
    path: Annotated[Path, typer.Argument(help="A git repository with its history.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Name the files and functions that an issue in words is likely about, similar issues that were resolved, and tests.

    It reads the last commit and what came before it, and runs nothing.
    """
    with refusing():
        given = typer.get_binary_stream("stdin").read().decode(errors="replace") if text == "-" else text
        found = located(path, given)
    print_page(as_document(found), lambda: lines(found), as_json=as_json)


def located(path: Path, text: str) -> Located:
    """What is found at the last commit of the repository at a path; raises BadInput without words or a repository."""
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


def as_document(found: Located) -> Json:
    """The result for scripts."""
    return {
        "commit": found.sha,
        "clue": found.clue,
        "files": [
            {
                "path": place.file.path,
                "score": round(place.file.score, 4),
                "named": place.file.is_named,
                "defines": place.file.defines,
                "change": _reference(place.file.change) if place.file.change else None,
                "functions": [fields(each, "name", "line", "end_line") for each in place.functions],
            }
            for place in found.places
        ],
        "resolved": [_reference(change) for change in found.resolved],
        **fields(found, "tests", "tests_unknown"),
        "files_read": found.read,
        "files_found": found.of,
        "changes_read": found.changes,
    }


def _reference(change: EarlierChange) -> Json:
    from workers.messages.locating import short_title

    return {
        "commit": change.sha,
        "at": change.at.isoformat(),
        "title": short_title(change),
        **fields(change, "closes", "sources"),
    }
