"""Traces by OpenTelemetry, where `traces_url` names a receiver. Without it no module of OpenTelemetry is loaded.

The trace of a delivery goes on in its jobs and in what follows from them: each stored job holds the context of its cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from workers.errors import BadInput
from workers.settings import Settings

if TYPE_CHECKING:  # an optional part
    from opentelemetry.sdk.trace import TracerProvider

PARENT = "traceparent"
"""The name of the context in W3C's recommendation."""


@dataclass(slots=True)
class Traces:
    """Where the spans of this process go."""

    provider: TracerProvider | None = None


_traces = Traces()


def configure(settings: Settings, process: str) -> None:
    """Send the spans of this process to `traces_url`. Raises BadInput where OpenTelemetry is not installed."""
    if not settings.traces_url:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise BadInput(
            "APPRENTICE_TRACES_URL is set, and OpenTelemetry is not installed: install Apprentice with the extra otel"
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": f"apprentice-{process}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.traces_url)))
    _traces.provider = provider


def close() -> None:
    """Send what this process holds, and trace no more."""
    if _traces.provider is not None:
        _traces.provider.shutdown()
        _traces.provider = None


def context() -> str | None:
    """What a job that is made now follows from; None outside of a span, and without traces."""
    if _traces.provider is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = dict[str, str]()
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(PARENT)


@contextmanager
def span(name: str, *, parent: str | None = None, **attributes: str | int) -> Iterator[None]:
    """A span around the block, in the trace of `parent` or in a new one. The lines of the log name the trace."""
    if _traces.provider is None:
        yield
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    above = TraceContextTextMapPropagator().extract({PARENT: parent} if parent else {})
    named = {f"apprentice.{key}": value for key, value in attributes.items()}
    with (
        _traces.provider.get_tracer("apprentice").start_as_current_span(name, above, attributes=named) as current,
        structlog.contextvars.bound_contextvars(trace=format(current.get_span_context().trace_id, "032x")),
    ):
        yield


def annotate(**attributes: str | int) -> None:
    """Add to the span that is open."""
    if _traces.provider is not None:
        from opentelemetry.trace import get_current_span

        get_current_span().set_attributes({f"apprentice.{key}": value for key, value in attributes.items()})
