"""The `apprentice` command: every subcommand by name, and what runs on this machine alone."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bot.cli import data, history, jobs, local, operate, stats
from bot.cli.console import (
    BAD_INPUT,
    AsJson,
    complain,
    fields,
    missing_extra,
    notes,
    out,
    print_line,
    refuse,
    refusing,
    worker_settings,
)
from bot.cli.terminal import ending_with_its_reader, make_output_visible

app = typer.Typer(
    name="apprentice",
    help="Reviews pull requests, repairs failing code, proves every suggestion, and learns from its maintainers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
Command = TypeVar("Command", bound=Callable[..., None])

HERE, LEARN, OPERATE, TRY = "Use it here", "Learn, and ask why", "Run the GitHub App", "Try it out"
"""The groups of commands in the help."""


def command(group: str, *examples: str, name: str | None = None) -> Callable[[Command], Command]:
    """A command of a group, whose help ends with examples."""
    shown = "\n\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  $ {each}" for each in examples)])
    return app.command(name, rich_help_panel=group, epilog=shown)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"apprentice {version('apprentice')}", markup=False)
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """The options of the command itself."""


command(
    HERE,
    "apprentice fix .",
    "apprentice fix . --test-command 'python -m pytest tests/test_till.py'",
    "apprentice fix . --patch | git apply",
)(local.fix)
command(HERE, "apprentice review", "apprentice review . --base HEAD~1 --head HEAD --verbose")(local.review)
command(
    HERE,
    "apprentice where 'a redirect to another port drops the header'",
    "gh issue view 41 | apprentice where - .",
)(local.where)


@command(HERE, "apprentice doctor")
def doctor(as_json: AsJson = False) -> None:
    """Check what this machine has; say what is missing and how to get it."""
    from bot.doctor import examine
    from workers.home import scratch
    from workers.settings import MintSettings, WebSettings, load

    with refusing():
        settings = worker_settings()
        with scratch(settings.home):
            checks = examine(settings, load(WebSettings), load(MintSettings))
    lines = "\n".join(f"{check.state:8} {check.name}: {check.detail}" for check in checks)
    print_line({"checks": [fields(each, "name", "state", "detail") for each in checks]}, lines, as_json=as_json)
    raise typer.Exit(BAD_INPUT if any(check.state == "missing" for check in checks) else 0)


command(LEARN, "apprentice learn .", "apprentice learn . --most 500")(history.learn)
command(LEARN, "apprentice backtest .", "apprentice backtest . --rule UP")(history.backtest)
command(LEARN, "apprentice why 4e46c8a8375842c5", "apprentice why .")(stats.why)
command(LEARN, "apprentice stats")(stats.stats)
command(LEARN, "apprentice evaluate", "apprentice evaluate --policy greedy --since 2026-01-31")(stats.evaluate)
command(LEARN, "apprentice audit")(stats.audit)
command(LEARN, "apprentice preferences --train")(stats.preferences)
command(LEARN, "apprentice forget --teacher maya", "apprentice forget --teacher maya --yes")(stats.forget)
command(LEARN, "apprentice rebuild")(stats.rebuild)
command(LEARN, "apprentice export learnings learnings.json --repository maya/shop")(data.export)
command(LEARN, "apprentice import learnings.json", "apprentice import", name="import")(data.import_)


command(OPERATE, "apprentice serve")(operate.serve)
command(OPERATE, "apprentice worker")(operate.worker)
command(OPERATE, "apprentice sweep")(operate.sweep)
command(OPERATE, "apprentice mint")(operate.mint)
command(OPERATE, "apprentice up")(operate.up)
command(OPERATE, "apprentice jobs list", "apprentice jobs show 4e46c8a83758", "apprentice jobs retry --state dead")(
    jobs.jobs
)
command(OPERATE, "apprentice prune")(operate.prune)
command(OPERATE, "apprentice backup /backup/apprentice.db")(operate.backup)
command(OPERATE, "apprentice restore /backup/apprentice.db")(operate.restore)


@command(TRY, "apprentice demo", "apprentice demo --stay")
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Leave everything running and print the addresses.")] = False,
    log: Annotated[bool, typer.Option("--log", help="Print the whole log of all processes too.")] = False,
) -> None:
    """Show the whole loop on this machine, against a stand-in for GitHub."""
    from bot.playground.demo import run
    from workers.home import scratch
    from workers.sandbox.tiers import open_sandbox

    with refusing(), scratch((settings := worker_settings()).home):
        open_sandbox(settings)  # else the demo would wait for a repair that never comes
        raise typer.Exit(run(out, stay=stay, log=log))


@command(TRY, "apprentice model-server --script answers.yaml --port 8080", name="model-server")
def model_server(
    script: Annotated[Path | None, typer.Option(metavar="FILE", help="Answer by this script, YAML or JSON.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 0,
) -> None:
    """A stand-in for a model: speaks OpenAI's protocol and answers by a script."""
    from bot.model_server.script import read_script
    from bot.model_server.server import ModelServer

    with refusing():
        if script is None:
            refuse("give --script FILE")
        server = ModelServer(read_script(script), host=host, port=port)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
        try:
            with server:
                out.print(f"{server.url}: a protocol stand-in, not a model; Ctrl-C ends it", markup=False)
                threading.Event().wait()
        except KeyboardInterrupt:
            out.print("ended")


def main() -> None:
    """Entry point. No other user may read what a command writes, and nothing that it prints moves the cursor.

    An error in Apprentice has an exit code of its own: 1 would say that a review found something, and with 2 no supervisor
    starts a process again.
    """
    os.umask(0o077)
    make_output_visible(out, notes)
    try:
        with ending_with_its_reader():
            app()
    except SystemExit as ended:
        _end_without_the_model(ended)
        raise
    except Exception as error:  # noqa: BLE001  the edge of the process: it is shown in full
        line = missing_extra(error) if isinstance(error, ModuleNotFoundError) else ""
        if line:
            complain(line)
            sys.exit(BAD_INPUT)
        traceback.print_exc()
        complain("this is an error in Apprentice, not in your code; please report it with the lines above")
        sys.exit(os.EX_SOFTWARE)


def _end_without_the_model(ended: SystemExit) -> None:
    """End at once where the embedding model is still being loaded, which nothing needs any more: it takes up to a minute."""
    embeddings = sys.modules.get("memory.retrieval.embeddings")
    if embeddings is not None and embeddings.is_loading() and isinstance(ended.code, int | None):
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(ended.code or 0)
