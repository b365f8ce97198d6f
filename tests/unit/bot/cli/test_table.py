"""Tables: rules and colour on a terminal, aligned lines elsewhere, and nothing in a cell acts."""

from __future__ import annotations

import io

from inline_snapshot import snapshot
from rich.console import Console

from bot.cli.console import TextTable, print_tables

ODDS = TextTable(
    title="Options",
    columns=("option", "odds"),
    rows=(("guard", "0.75"), ("[red]swap[/]", "0.25")),
    notes=("two of them",),
)


def shown(*sheets: TextTable, terminal: bool, width: int = 60) -> str:
    printed = io.StringIO()
    print_tables(sheets, Console(file=printed, force_terminal=terminal, color_system=None, width=width, soft_wrap=True))
    return printed.getvalue()


def test_lines_for_a_file() -> None:
    """Columns are aligned, markup in a cell is text, and sheets are a line apart."""
    assert shown(ODDS, TextTable(title="Nothing"), terminal=False) == snapshot("""\
Options
  option        odds
  guard         0.75
  [red]swap[/]  0.25
  two of them

Nothing
""")


def test_a_table_for_people() -> None:
    """The same cells, with a rule below the head."""
    drawn = shown(ODDS, terminal=True)
    assert all(word in drawn for word in ("Options", "guard", "[red]swap[/]", "two of them", "────"))


def test_a_long_cell_is_folded_not_cut() -> None:
    """Nothing is lost where a table is wider than the terminal."""
    long = TextTable(title="x", columns=("a", "b"), rows=(("1", "word " * 40),))
    assert shown(long, terminal=True).count("word") == 40


def test_a_table_on_a_narrow_terminal() -> None:
    """Where the names of columns would be cut into syllables, each row names its cells."""
    columns, row = ("strategy", "probability", "candidates", "outcome"), ("names", "0.37", "2", "nothing plausible")
    table = TextTable(title="attempts", columns=columns, rows=(row,), notes=("[all] of them",))
    assert shown(table, terminal=True, width=30) == snapshot("""\
attempts
  names: probability 0.37, candidates 2, outcome nothing plausible
[all] of them
""")
    assert "────" in shown(table, terminal=True)
