"""What people read in the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bot.cli.local_output import Progress


def progress_on(*, terminal: bool) -> tuple[Progress, io.StringIO]:
    shown = io.StringIO()
    return Progress(Console(file=shown, force_terminal=terminal, color_system=None)), shown


def test_progress_is_shown_at_once_to_people() -> None:
    """Who waits at a terminal reads what is being done."""
    progress, shown = progress_on(terminal=True)
    progress("reproducing")
    assert shown.getvalue() == "reproducing\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(["one"], ""), (["one", "two"], "one\ntwo\n"), (["one", "two", "three"], "one\ntwo\nthree\n")],
)
def test_progress_in_a_log_begins_with_the_second_step(lines: list[str], expected: str) -> None:
    """What ends at its first step says how it ended, and nothing else; no step is lost otherwise."""
    progress, shown = progress_on(terminal=False)
    for line in lines:
        progress(line)
    assert shown.getvalue() == expected


def test_progress_is_no_markup() -> None:
    """What a project's files are called is shown as it is."""
    progress, shown = progress_on(terminal=True)
    progress("tests/test_a.py::test_b[red]")
    assert shown.getvalue() == "tests/test_a.py::test_b[red]\n"
