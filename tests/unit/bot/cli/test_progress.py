"""What people read in the terminal."""

from __future__ import annotations

import io
import signal
import threading

import pytest
from rich.console import Console

from bot.cli.console import Progress


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


def test_a_quiet_progress_says_nothing() -> None:
    """It keeps the last step, for the line of an interrupt."""
    shown = io.StringIO()
    progress = Progress(Console(file=shown), quiet=True)
    for line in ("one", "two"):
        progress(line)
    assert (shown.getvalue(), progress.step) == ("", "two")


class Listened(io.StringIO):
    """A stream that lets a test wait for a line."""

    def __init__(self) -> None:
        super().__init__()
        self.repeated = threading.Event()

    def write(self, text: str) -> int:
        if ", still: " in text:
            self.repeated.set()
        return super().write(text)


def test_a_long_step_is_printed_again() -> None:
    """Nothing is silent for long, also where the first line waits for the second; the thread ends with the command."""
    shown = Listened()
    with Progress(Console(file=shown), silent_at_most=0.01) as progress:
        progress("running all tests")
        assert shown.repeated.wait(300)
    first, again, *_ = shown.getvalue().splitlines()
    assert first == "running all tests"
    assert again.startswith("after 0 s, still: running all tests")


def test_the_second_interrupt_is_ignored() -> None:
    """The first one ends the command, and what the user had set for the signal is back after it."""
    before = signal.getsignal(signal.SIGINT)
    with Progress(Console(file=io.StringIO())) as progress:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before
    assert progress.interrupted("nothing was changed").endswith(" s; nothing was changed")
