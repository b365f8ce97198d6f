"""The `apprentice` command: reads arguments, calls one function, prints. Heavy parts are imported when they are used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot import exchange, forgetting, judging, learned, pasts
from bot.console import BAD_INPUT, AsJson, complain, note, notes, out, print_json, refusing
from bot.model_server import command as model_server
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
app.add_typer(learned.commands)
app.add_typer(judging.commands)
app.add_typer(forgetting.commands)
app.add_typer(exchange.commands)
app.add_typer(pasts.commands)
app.add_typer(model_server.commands)

Project = Annotated[Path, typer.Argument(help="Root of a Python project.", show_default=False)]

NOT_FIXED = 1


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
            print_json(documents.cannot_run(str(error)))
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from error
    if as_json:
        print_json(documents.repaired(result))
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

    with refusing():
        context = build(load(WorkerSettings), progress=rendering.Progress(notes))
        result = local.review(path, context, base=base, head=head)
    if as_json:
        print_json(documents.reviewed(result))
    else:
        rendering.reviewed(result, out)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check what this machine has, and say what is missing and how to get it."""
    from bot.doctor import examine

    with refusing():
        checks = examine(load(WorkerSettings), load(WebSettings))
    if as_json:
        print_json({"checks": [{"name": c.name, "state": c.state, "detail": c.detail} for c in checks]})
    else:
        for check in checks:
            out.print(f"{check.state:8} {check.name}: {check.detail}", markup=False)
    raise typer.Exit(BAD_INPUT if any(check.state == "missing" for check in checks) else 0)


@app.command()
def serve() -> None:
    """Run the web process: receive webhooks and store what they imply."""
    from bot.app import serve as run

    with refusing():
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

    with refusing():
        settings = load(WorkerSettings)
        configure(settings)
        code = run_worker(settings, lambda: build(settings, progress=note, flows=FLOWS, teller=tell))
    raise typer.Exit(code)


@app.command()
def sweep() -> None:
    """Run the sweeper: find what got lost, and poll reactions."""
    from workers.sweeper import run_sweeper

    with refusing():
        settings = load(WorkerSettings)
        configure(settings)
        run_sweeper(settings)


@app.command()
def up() -> None:
    """Run web process, worker and sweeper on this machine, supervised."""
    from bot.supervisor import up as run

    with refusing():
        web = load(WebSettings)
        configure(web)
        code = run(web, load(WorkerSettings), note)
    raise typer.Exit(code)


@app.command()
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Leave everything running and print the addresses.")] = False,
) -> None:
    """The whole loop on this machine, against a stand-in for GitHub."""
    from bot.playground.demo import run

    with refusing():
        raise typer.Exit(run(out, stay=stay))


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
