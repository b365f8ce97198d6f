"""`apprentice fix` and `review`: repair and review on this machine, without GitHub."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import BAD_INPUT, AsJson, complain, notes, out, print_json, refusing, worker_settings
from memory.errors import StoreError
from workers.errors import ApprenticeError

NOT_FIXED, UNDECIDED = 1, 3
FAILED = 1


class Format(StrEnum):
    """What a review is written as."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    RDJSONL = "rdjsonl"
    GITHUB = "github"


class FailOn(StrEnum):
    """What a review fails on, each with all before it."""

    NEVER = "never"
    TESTS = "tests"
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    ANY = "any"


Python = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Interpreter of the project. Default: your environment for it.")
]


def fix(
    path: Annotated[Path, typer.Argument(help="Root of a Python project.", show_default=False)],
    test_command: Annotated[str | None, typer.Option(help="How to run the tests. Default: python -m pytest")] = None,
    python: Python = None,
    budget: Annotated[
        float | None,
        typer.Option(min=1.0, help="Seconds to spend at most, proofs included: a third of them to find what fails."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the proven patch into PATH.")] = False,
    as_json: AsJson = False,
) -> None:
    """Repair what fails in a project, with proof. PATH is not changed unless --apply is given.

    Exit codes: 0 fixed or nothing fails, 1 not fixed, 2 cannot run, 3 undecided: the tests fit several changes, or the time was too short for the proof.
    """
    from bot import local
    from bot.cli import local_output
    from workers.context import open_context
    from workers.repair.result import RepairStatus

    given = {name: value for name, value in (("budget_seconds", budget), ("seed", seed)) if value is not None}
    try:
        context = open_context(worker_settings(**given), progress=local_output.Progress(notes))
        result = local.fix(path, context, test_command=test_command, apply=apply, python=python)
    except (ApprenticeError, StoreError) as error:
        if as_json:
            print_json(local_output.cannot_run(str(error)))
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from error
    if as_json:
        print_json(local_output.repaired_json(result))
    else:
        local_output.print_repaired(result, out, applied=apply)
    raise typer.Exit({RepairStatus.NOT_FIXED: NOT_FIXED, RepairStatus.UNDECIDED: UNDECIDED}.get(result.status, 0))


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
    as_json: AsJson = False,
) -> None:
    """Review your work, or the change from BASE to HEAD: run the tests of both, read it, and try out every suggestion.

    Exit codes: 0 nothing to fail on, 1 a broken test, or a finding that --fail-on names, 2 cannot run, or no test could tell.
    """
    from bot import local
    from bot.cli import local_output, review_output
    from workers.context import open_context

    with refusing():
        printed = review_output.printed_as(format_, as_json=as_json)
        files = review_output.files_of(report or ())
        with review_output.failure_in(printed):
            context = open_context(worker_settings(), progress=local_output.Progress(notes))
            result = local.review(path, context, base=base, head=head, python=python)
        code = review_output.write(result, printed, files, fail_on)
    raise typer.Exit(code)
