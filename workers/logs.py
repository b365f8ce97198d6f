"""The log, on standard error: lines for readers, or JSON for collectors. Records of libraries go the same way.

The handler redacts each record: its message, arguments, exception and traceback. Lines for readers hold no control
characters: no text forges another line. Tracebacks keep their lines.
"""

import asyncio
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from workers.redaction import redact
from workers.settings import Settings

_STAMPED = structlog.processors.TimeStamper(fmt="iso", utc=True)

OURS = "apprentice"
"""The name of our logger; of libraries only warnings and errors are written."""


def configure(settings: Settings) -> None:
    """Configure the log of this process. Standard output belongs to the commands."""
    _configure(as_json=settings.log_format == "json")


def fail(line: str) -> None:
    """The last line of a process that ends before it has a log, for collectors."""
    _configure(as_json=True)
    structlog.get_logger().critical(line)


def _configure(*, as_json: bool) -> None:
    handler = _RedactingHandler(sys.stderr)
    handler.setFormatter(
        _formatter(*([structlog.processors.JSONRenderer()] if as_json else [_spelled_out, _for_terminals()]))
    )
    handler.addFilter(lambda record: record.name == OURS or record.levelno >= logging.WARNING)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(OURS).setLevel(logging.INFO)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: logging.getLogger(OURS),
        cache_logger_on_first_use=False,
    )
    logging.captureWarnings(capture=True)
    sys.excepthook = lambda *error: logging.getLogger(OURS).critical("process ended by an error", exc_info=error)
    threading.excepthook = lambda failed: logging.getLogger(OURS).error(
        "thread ended by an error", exc_info=failed.exc_value
    )


class FrequentLog:
    """A log for lines that come by the thousand, within an event loop: structlog's steps would cost them more than their event.

    Lines of one turn of the event loop are written with one call. Each call lets other threads run, and waits for them.
    """

    def __init__(self, settings: Settings) -> None:
        self._as_json = settings.log_format == "json"
        self._lines: list[str] = []

    def info(self, event: str, **fields: str | float) -> None:
        """Write a line with these fields, and those that are bound. Texts among them hold no blanks."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write)
        named = _redacted(None, "info", {**structlog.contextvars.get_contextvars(), **fields})
        named = named if self._as_json else _spelled_out(None, "info", named)
        time = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        if self._as_json:
            line = msgspec.json.encode({**named, "event": event, "level": "info", "timestamp": time}).decode()
        else:
            line = f"{time} [info     ] {event:<30} {' '.join(f'{name}={value}' for name, value in named.items())}"
        self._lines.append(line + "\n")

    def _write(self) -> None:
        lines, self._lines = self._lines, []  # before the write: after one that fails the next line writes again
        sys.stderr.write("".join(lines))
        sys.stderr.flush()


def lines(settings: Settings, plain: Callable[[str], None]) -> Callable[[str], None]:
    """What writes lines of progress: `plain`, or the log where collectors read it."""
    return structlog.get_logger().info if settings.log_format == "json" else plain


class _RedactingHandler(logging.StreamHandler):  # type: ignore[type-arg]  # generic in its stubs alone
    """A record that cannot be formatted is reported without its arguments."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        problem = f"a record of {record.name} cannot be written:\n{traceback.format_exc()}"
        self.stream.write(_IN_TRACEBACKS.sub(_escaped, redact(problem)))


def _formatter(*renderers: Processor) -> logging.Formatter:
    stamps: list[Processor] = [
        structlog.stdlib.add_log_level,
        _STAMPED,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    ending = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *stamps, _redacted, *renderers]
    return structlog.stdlib.ProcessorFormatter(processors=ending, use_get_message=True)


def _redacted(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """The record with every value redacted; what is no plain value is written as `repr` writes it."""
    plain = (int, float, type(None))
    return {
        name: value if isinstance(value, plain) else redact(value if isinstance(value, str) else repr(value))
        for name, value in record.items()
    }


_IN_LINES, _IN_TRACEBACKS = re.compile(r"[^\x20-\x7e]"), re.compile(r"[^\n\t\x20-\x7e]")


def _spelled_out(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """The record with each control and each invisible character as Python writes it."""
    of_traceback = ("exception", "stack")
    return {
        name: (_IN_TRACEBACKS if name in of_traceback else _IN_LINES).sub(_escaped, value)
        if isinstance(value, str)
        else value
        for name, value in record.items()
    }


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else found[0].encode("unicode_escape").decode()


def _for_terminals() -> structlog.dev.ConsoleRenderer:
    """Renders plain tracebacks: structlog's own show every local variable, tokens included."""
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
