"""`apprentice serve`, `worker`, `sweep`, `mint` and `up`: the processes of the GitHub App, and how each ends at its start.

A wrong setting ends with 2: starting again does not help. What is temporary ends with 75, so that a supervisor starts it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from bot.cli.console import BAD_INPUT, complain, note, private_settings, worker_settings
from memory.errors import StoreError, StoreUnavailable
from workers.errors import ApprenticeError, Retryable

TEMPORARY = 75
"""EX_TEMPFAIL of sysexits.h."""


@contextmanager
def starting() -> Iterator[None]:
    """Print an error of ours as one line, and exit with 75 for a temporary one, with 2 for any other."""
    try:
        yield
    except (ApprenticeError, StoreError) as error:
        from workers.logs import fail
        from workers.settings import PREFIX, variable

        say = fail if variable(f"{PREFIX}LOG_FORMAT") == "json" else complain
        say(str(error))
        raise typer.Exit(TEMPORARY if isinstance(error, StoreUnavailable | Retryable) else BAD_INPUT) from error


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
    from workers.queue.celery_app import make_celery, run_worker
    from workers.sandbox.tiers import log_sandbox

    with starting():
        settings = worker_settings()
        logs.configure(settings)
        traces.configure(settings, "worker")
        progress = logs.lines(settings, note)
        with scratch(settings.home):
            check_worker(settings, structlog.get_logger().warning)
            make_celery(settings)  # refuses a wrong broker before anything is tried
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
