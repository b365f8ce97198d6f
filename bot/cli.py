"""The `apprentice` command: reads arguments, calls one function, prints. Heavy parts are imported when they are used."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from memory.errors import StoreError
from workers.errors import ApprenticeError
from workers.logs import configure
from workers.settings import WebSettings, WorkerSettings, load

app = typer.Typer(
    name="apprentice",
    help="Reviews pull requests, repairs failing code, proves every suggestion, and learns from its maintainers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True)
notes = Console(stderr=True, highlight=False, soft_wrap=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Project = Annotated[Path, typer.Argument(help="Root of a Python project.", show_default=False)]

NOT_FIXED = 1
BAD_INPUT = 2


@contextmanager
def _refusing() -> Iterator[None]:
    """Our own errors become one line on standard error and exit code 2."""
    try:
        yield
    except (ApprenticeError, StoreError) as error:
        notes.print(f"apprentice: {error}", markup=False)
        raise typer.Exit(BAD_INPUT) from error


def _note(line: str) -> None:
    notes.print(line, style="dim", markup=False)


@app.command()
def fix(
    path: Project,
    test_command: Annotated[str | None, typer.Option(help="How to run the tests. Default: python -m pytest")] = None,
    budget: Annotated[float | None, typer.Option(min=1.0, help="Seconds to spend at most.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the proven patch into PATH.")] = False,
    as_json: AsJson = False,
) -> None:
    """Repair what fails in a project, with proof. PATH is not changed unless --apply is given."""
    from bot import documents, local, rendering
    from workers.context import build

    given = {name: value for name, value in (("budget_seconds", budget), ("seed", seed)) if value is not None}
    try:
        context = build(load(WorkerSettings, **given), progress=rendering.Progress(notes))
        result = local.fix(path, context, test_command=test_command, apply=apply)
    except (ApprenticeError, StoreError) as error:
        if as_json:
            _print_json(documents.cannot_run(str(error)))
        notes.print(f"apprentice: {error}", markup=False)
        raise typer.Exit(BAD_INPUT) from error
    if as_json:
        _print_json(documents.repaired(result))
    else:
        rendering.repaired(result, out, applied=apply)
    raise typer.Exit(NOT_FIXED if result.failure is not None and result.proven is None else 0)


@app.command()
def review(
    path: Project,
    base: Annotated[str, typer.Option(help="The commit that the change starts from.", show_default=False)],
    head: Annotated[str, typer.Option(help="The commit that the change ends at.")] = "HEAD",
    as_json: AsJson = False,
) -> None:
    """Review the change from BASE to HEAD of a git repository, and try out every suggestion."""
    from bot import documents, local, rendering
    from workers.context import build

    with _refusing():
        context = build(load(WorkerSettings), progress=rendering.Progress(notes))
        result = local.review(path, context, base=base, head=head)
    if as_json:
        _print_json(documents.reviewed(result))
    else:
        rendering.reviewed(result, out)


@app.command()
def why(
    reference: Annotated[str, typer.Argument(metavar="DECISION_ID|FINGERPRINT", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Explain a decision: the table's row, the evidence, the odds, what people made of it."""
    from memory.explain import explain
    from workers.context import build

    with _refusing():
        context = build(load(WorkerSettings))
        explanation = explain(context.store, context.learner, reference)
    if explanation is None:
        notes.print(
            f"apprentice: no decision or finding {reference!r}; `apprentice fix` and `review` print ids", markup=False
        )
        raise typer.Exit(BAD_INPUT)
    if as_json:
        _print_json(explanation.to_json())
    else:
        out.print(explanation.text(), markup=False)


@app.command()
def stats(as_json: AsJson = False) -> None:
    """What was done, what came of it, and what learning was worth against the control arm."""
    from memory.explain import stats as statistics
    from workers.context import build

    with _refusing():
        found = statistics(build(load(WorkerSettings)).store)
    if as_json:
        _print_json(found.to_json())
    else:
        out.print(found.text(), markup=False)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check what this machine has, and say what is missing and how to get it."""
    from bot.doctor import examine

    with _refusing():
        checks = examine(load(WorkerSettings), load(WebSettings))
    if as_json:
        _print_json({"checks": [{"name": c.name, "state": c.state, "detail": c.detail} for c in checks]})
    else:
        for check in checks:
            out.print(f"{check.state:8} {check.name}: {check.detail}", markup=False)
    raise typer.Exit(BAD_INPUT if any(check.state == "missing" for check in checks) else 0)


@app.command()
def rebuild() -> None:
    """Derive everything learned anew from the ledger; prints the table's digest."""
    from workers.context import build

    with _refusing():
        context = build(load(WorkerSettings))
        context.learner.rebuild()
    out.print(context.store.ledger.cells_digest())


@app.command()
def serve() -> None:
    """Run the web process: receive webhooks and store what they imply."""
    from bot.app import serve as run

    with _refusing():
        settings = load(WebSettings)
        configure(settings)
        run(settings)


@app.command()
def worker() -> None:
    """Run a worker: do the jobs."""
    from workers.context import build
    from workers.flows import FLOWS
    from workers.flows.telling import tell
    from workers.queue import run_worker

    with _refusing():
        settings = load(WorkerSettings)
        configure(settings)
        code = run_worker(settings, lambda: build(settings, progress=_note, flows=FLOWS, teller=tell))
    raise typer.Exit(code)


@app.command()
def sweep() -> None:
    """Run the sweeper: find what got lost, and poll reactions."""
    from workers.sweeper import run_sweeper

    with _refusing():
        settings = load(WorkerSettings)
        configure(settings)
        run_sweeper(settings)


@app.command()
def up() -> None:
    """Run web process, worker and sweeper on this machine, supervised."""
    from bot.supervisor import up as run

    with _refusing():
        web = load(WebSettings)
        configure(web)
        code = run(web, load(WorkerSettings), _note)
    raise typer.Exit(code)


@app.command()
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Leave everything running and print the addresses.")] = False,
) -> None:
    """The whole loop on this machine, against a stand-in for GitHub."""
    from bot.playground.demo import run

    with _refusing():
        raise typer.Exit(run(out, stay=stay))


def _print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
