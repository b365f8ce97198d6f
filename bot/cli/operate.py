"""The processes of the GitHub App, and its database and files: `apprentice serve`, `worker`, `sweep`, `mint`, `up`, `prune`,
`backup` and `restore`.

A process ends at its start with 2 for a wrong setting: starting again does not help. For what is temporary it ends with 75, so that a supervisor starts it again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import BAD_INPUT, AsJson, complain, note, print_line, private_settings, refusing, worker_settings
from memory.errors import StoreError, StoreUnavailable
from workers.errors import ApprenticeError, Retryable

TEMPORARY = 75
"""EX_TEMPFAIL of sysexits.h."""


@contextmanager
def starting() -> Iterator[None]:
    """Print an error of ours, or of this machine as a full disk, as one line; exit with 75 for a temporary one, else with 2."""
    try:
        yield
    except (ApprenticeError, StoreError, OSError) as error:
        from workers.logs import fail
        from workers.settings import PREFIX, variable

        say = fail if variable(f"{PREFIX}LOG_FORMAT") == "json" else complain
        say(
            f"this machine refused: {error}; `apprentice doctor` may say more"
            if isinstance(error, OSError)
            else str(error)
        )
        raise typer.Exit(
            TEMPORARY if isinstance(error, StoreUnavailable | Retryable | OSError) else BAD_INPUT
        ) from error


def serve() -> None:
    """Run the web process: receive webhooks and store the jobs that follow from them."""
    from bot.web.app import serve as run
    from workers import logs, traces
    from workers.settings import WebSettings

    with starting():
        settings = private_settings(WebSettings)
        logs.configure(settings)
        traces.configure(settings, "web")
        run(settings)


def worker() -> None:
    """Run a worker: it does the jobs."""
    import structlog

    from workers import logs, traces
    from workers.context import check_worker
    from workers.flows import FLOWS
    from workers.home import scratch
    from workers.job_context import open_job_context
    from workers.queue.worker import run_worker
    from workers.sandbox.tiers import log_sandbox

    with starting():
        settings = worker_settings()
        logs.configure(settings)
        traces.configure(settings, "worker")
        progress = logs.lines(settings, note)
        with scratch(settings.home):
            check_worker(settings, structlog.get_logger().warning)
            log_sandbox(settings)
            code = run_worker(settings, lambda: open_job_context(settings, progress=progress, flows=FLOWS))
    raise typer.Exit(code)


def sweep() -> None:
    """Run the sweeper: it finds lost jobs and polls reactions."""
    from workers.logs import configure
    from workers.queue.sweeper import run_sweeper
    from workers.settings import SweeperSettings

    with starting():
        settings = private_settings(SweeperSettings)
        configure(settings)
        run_sweeper(settings)


def mint() -> None:
    """Run the minting process: it alone reads the App's private key, and gives workers their tokens."""
    from workers.github.minting import run_minting
    from workers.logs import configure
    from workers.settings import MintSettings

    with starting():
        settings = private_settings(MintSettings)
        configure(settings)
        run_minting(settings)


def up() -> None:
    """Run web process, worker, sweeper and minting process on this machine, supervised."""
    from bot.processes import up as run
    from workers import logs
    from workers.settings import MintSettings, SweeperSettings, WebSettings, load

    with starting():
        web = private_settings(WebSettings)
        logs.configure(web)
        worker_settings()  # a wrong setting of any process is refused before anything starts
        load(SweeperSettings)
        code = run(web, load(MintSettings), logs.lines(web, note))
    raise typer.Exit(code)


def prune(as_json: AsJson = False) -> None:
    """Remove what is older than the settings keep: deliveries, jobs, effects, mirrors, environments, scratch files."""
    from memory.store import open_store
    from workers.queue.pruning import prune_files, retention
    from workers.settings import Settings

    with refusing():
        settings = private_settings(Settings)
        with open_store(settings.database()) as store:
            rows = store.upkeep.prune(retention(settings), now=store.clock())
        files = prune_files(settings)
    found = asdict(rows) | asdict(files)
    line = "pruned: " + ", ".join(f"{name} {count}" for name, count in found.items())
    print_line(found, line, as_json=as_json)


def backup(file: Annotated[Path, typer.Argument(show_default=False)], as_json: AsJson = False) -> None:
    """Write everything that is stored into a new file, while everything runs."""
    from memory.store import open_store
    from memory.store.backup import back_up
    from workers.settings import Settings

    with refusing(), open_store(private_settings(Settings).database()) as store:
        copied = back_up(store, file)
    line = f"{copied.rows} rows in {file}; the table's digest is {copied.digest}"
    print_line({"path": str(file.absolute())} | asdict(copied), line, as_json=as_json)


def restore(file: Annotated[Path, typer.Argument(show_default=False)], as_json: AsJson = False) -> None:
    """Copy a backup into the database of the settings, which has to be empty. Stop all processes before."""
    from memory.store import open_store
    from memory.store.backup import restore as copy_back
    from workers.home import scratch
    from workers.settings import Settings

    with refusing():
        settings = private_settings(Settings)
        with scratch(settings.home), open_store(settings.database()) as store:
            copied = copy_back(file, store)
    line = f"{copied.rows} rows from {file}; the table's digest is {copied.digest}"
    print_line({"path": str(file.absolute())} | asdict(copied), line, as_json=as_json)
