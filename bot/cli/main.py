"""The `apprentice` command: every subcommand by name, and those that start processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from bot.cli import data, evaluate, history, local, stats
from bot.cli.console import (
    BAD_INPUT,
    AsJson,
    complain,
    missing_extra,
    note,
    notes,
    out,
    print_line,
    private_settings,
    refuse,
    refusing,
    worker_settings,
)
from bot.cli.terminal import make_output_visible

app = typer.Typer(
    name="apprentice",
    help="Reviews pull requests, repairs failing code, proves every suggestion, and learns from its maintainers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(local.fix)
app.command()(local.review)


@app.command()
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
    print_line(
        {"checks": [{"name": c.name, "state": c.state, "detail": c.detail} for c in checks]}, lines, as_json=as_json
    )
    raise typer.Exit(BAD_INPUT if any(check.state == "missing" for check in checks) else 0)


@app.command()
def serve() -> None:
    """Run the web process: receive webhooks and store the jobs that follow from them."""
    from bot.web.app import serve as run
    from workers.logs import configure
    from workers.settings import WebSettings

    with refusing():
        settings = private_settings(WebSettings)
        configure(settings)
        run(settings)


@app.command()
def worker() -> None:
    """Run a worker: it does the jobs."""
    from workers.context import open_job_context
    from workers.flows import FLOWS
    from workers.flows.replies import publish_failure
    from workers.home import scratch
    from workers.logs import configure
    from workers.queue.celery_app import run_worker

    with refusing():
        settings = worker_settings()
        configure(settings)
        with scratch(settings.home):
            code = run_worker(
                settings, lambda: open_job_context(settings, progress=note, flows=FLOWS, notify=publish_failure)
            )
    raise typer.Exit(code)


@app.command()
def sweep() -> None:
    """Run the sweeper: it finds lost jobs and polls reactions."""
    from workers.logs import configure
    from workers.queue.sweeper import run_sweeper
    from workers.settings import SweeperSettings

    with refusing():
        settings = private_settings(SweeperSettings)
        configure(settings)
        run_sweeper(settings)


@app.command()
def mint() -> None:
    """Run the minting process: it alone reads the App's private key, and gives workers their tokens."""
    from workers.github.minting import run_minting
    from workers.logs import configure
    from workers.settings import MintSettings

    with refusing():
        settings = private_settings(MintSettings)
        configure(settings)
        run_minting(settings)


@app.command()
def up() -> None:
    """Run web process, worker, sweeper and minting process on this machine, supervised."""
    from bot.processes import up as run
    from workers.logs import configure
    from workers.settings import MintSettings, SweeperSettings, WebSettings, load

    with refusing():
        web = private_settings(WebSettings)
        configure(web)
        worker_settings()  # a wrong setting of any process is refused before anything starts
        load(SweeperSettings)
        code = run(web, load(MintSettings), note)
    raise typer.Exit(code)


@app.command()
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Leave everything running and print the addresses.")] = False,
) -> None:
    """Show the whole loop on this machine, against a stand-in for GitHub."""
    from bot.playground.demo import run
    from workers.home import scratch

    with refusing(), scratch(worker_settings().home):
        raise typer.Exit(run(out, stay=stay))


@app.command("model-server")
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


app.command()(stats.why)
app.command()(stats.stats)
app.command()(stats.rebuild)
app.command()(stats.forget)
app.command()(evaluate.evaluate)
app.command()(evaluate.audit)
app.command()(evaluate.preferences)
app.command()(history.learn)
app.command()(history.backtest)
app.command()(data.export)
app.command("import")(data.import_)


def main() -> None:
    """Entry point. No other user may read what a command writes, and nothing that it prints moves the cursor."""
    os.umask(0o077)
    make_output_visible(out, notes)
    try:
        app()
    except ModuleNotFoundError as error:
        if not (line := missing_extra(error)):
            raise
        complain(line)
        sys.exit(BAD_INPUT)
