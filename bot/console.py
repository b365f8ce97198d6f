"""What every command shares: where it prints, how it refuses, and JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from memory.errors import StoreError
from workers.errors import ApprenticeError

out = Console(highlight=False, soft_wrap=True)
notes = Console(stderr=True, highlight=False, soft_wrap=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]

BAD_INPUT = 2


@contextmanager
def refusing() -> Iterator[None]:
    """Our own errors become one line on standard error and exit code 2."""
    try:
        yield
    except (ApprenticeError, StoreError) as error:
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from error


def complain(line: str) -> None:
    """One line on standard error, for something that went wrong."""
    notes.print(f"apprentice: {line}", markup=False)


def note(line: str) -> None:
    """One dim line on standard error, for something that goes on."""
    notes.print(line, style="dim", markup=False)


def print_json(document: object) -> None:
    """A document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
