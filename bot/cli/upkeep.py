"""`apprentice prune`, `backup` and `restore`: what an operator does with the database and the files of the App."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import AsJson, print_line, private_settings, refusing


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
