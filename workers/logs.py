"""The log, on standard error: lines for readers, or JSON for collectors."""

from __future__ import annotations

import logging
import sys

import structlog

from workers.settings import Settings


def configure(settings: Settings) -> None:
    """Configure the log of this process. Standard output belongs to the commands."""
    lines = settings.log_format == "json"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if lines else structlog.processors.StackInfoRenderer(),
            structlog.processors.JSONRenderer() if lines else _for_terminals(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


def _for_terminals() -> structlog.dev.ConsoleRenderer:
    """Renders plain tracebacks: structlog's own show every local variable, tokens included."""
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
