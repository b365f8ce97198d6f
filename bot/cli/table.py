"""Tables for people: with rules and colour on a terminal, as aligned lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A title, rows under column names, and notes below. Cells are plain text; without rows only title and notes are printed."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def print_tables(tables: Sequence[TextTable], out: Console) -> None:
    """Print them, one below the other."""
    for number, table in enumerate(tables):
        if number:
            out.print()
        (_drawn if out.is_terminal else _plain)(table, out)


def _drawn(table: TextTable, out: Console) -> None:
    out.print(f"[bold]{escape(table.title)}[/]")
    if table.rows:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
        for number, column in enumerate(table.columns):
            grid.add_column(escape(column), no_wrap=number == 0, overflow="fold")
        for row in table.rows:
            grid.add_row(*map(escape, row))
        out.print(grid)
    for note in table.notes:
        out.print(note, style="dim", markup=False)


def _plain(table: TextTable, out: Console) -> None:
    out.print(table.title, markup=False)
    lines = (table.columns, *table.rows) if table.rows else ()
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for row in lines:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(f"  {'  '.join(cells)}".rstrip(), markup=False)
    for note in table.notes:
        out.print(f"  {note}", markup=False)
