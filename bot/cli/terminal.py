"""What a terminal would act upon is spelled out here, before anything is printed: text from elsewhere may hold any character."""

import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_SUSPICIOUS = re.compile(r"\r\n|[^\n\t\x20-\x7e]")


def visible(text: str) -> str:
    r"""The text with each control and each invisible character as JSON writes it (`\u001b`): no cursor moves, nothing hides.

    Line ends, tabs and spaces of any width stay. JSON stays valid JSON of the same meaning.
    """
    return _SUSPICIOUS.sub(_spelled_out, text)


def _spelled_out(match: re.Match[str]) -> str:
    found = match[0]
    if found == "\r\n" or found.isprintable() or unicodedata.category(found) == "Zs":
        return found
    units = found.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


class Terminal(Console):
    """A console whose own styles are all that a terminal acts upon."""

    def on_broken_pipe(self) -> NoReturn:
        """Leave the error, which rich is handling, to `ending_with_its_reader`."""
        self.quiet = True
        raise

    def render_str(self, text: str, **options: object) -> Text:
        return super().render_str(visible(text), **options)  # type: ignore[arg-type]

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class VisibleStream:
    """A stream of a process without styles: usage errors, tracebacks, warnings and the log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def isatty(self) -> bool:
        """False, so that no library sends styles here."""
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


CLOSED_PIPE = 128 + signal.SIGPIPE


@contextmanager
def ending_with_its_reader() -> Iterator[None]:
    """End quietly, as other programs do, once nothing reads what this process prints (`| head`)."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        pass
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # typer ends with 1 then
            raise
    else:
        return
    with Path(os.devnull).open("w") as nowhere:
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                os.dup2(nowhere.fileno(), stream.fileno())
    sys.exit(CLOSED_PIPE)


def make_output_visible(*consoles: Terminal) -> None:
    """From now on this process prints visible text alone, and styles through these consoles.

    A character that the locale cannot write is spelled out.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for console in consoles:
        console.file = sys.stderr if console.stderr else sys.stdout
    sys.stdout, sys.stderr = (cast("TextIO", VisibleStream(each)) for each in (sys.stdout, sys.stderr))
