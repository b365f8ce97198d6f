"""Tables for people: with rules and colour on a terminal, as aligned lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A heading, a table, and what is to be said below it. Cells are plain text; without rows there is no table."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def show(sheets: Sequence[Sheet], out: Console) -> None:
    """Print them, one below the other."""
    for number, sheet in enumerate(sheets):
        if number:
            out.print()
        (_drawn if out.is_terminal else _plain)(sheet, out)


def _drawn(sheet: Sheet, out: Console) -> None:
    out.print(f"[bold]{escape(sheet.title)}[/]")
    if sheet.rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
        for number, column in enumerate(sheet.columns):
            table.add_column(escape(column), no_wrap=number == 0, overflow="fold")
        for row in sheet.rows:
            table.add_row(*map(escape, row))
        out.print(table)
    for note in sheet.notes:
        out.print(note, style="dim", markup=False)


def _plain(sheet: Sheet, out: Console) -> None:
    out.print(sheet.title, markup=False)
    table = (sheet.columns, *sheet.rows) if sheet.rows else ()
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(f"  {'  '.join(cells)}".rstrip(), markup=False)
    for note in sheet.notes:
        out.print(f"  {note}", markup=False)
