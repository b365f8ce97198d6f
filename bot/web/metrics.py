"""The metrics of the web process, in their own registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from bot.web.events import KNOWN
from memory.model.jobs import JobState

OTHER_EVENT = "other"


class _EndedJobs(Collector):
    """A counter that the database keeps, for all processes together."""

    jobs: Mapping[JobState, int] = MappingProxyType({})

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily("apprentice_jobs_ended", "Jobs that have ended, by state.", labels=["state"])
        for state, count in self.jobs.items():
            family.add_metric([state], count)
        yield family


class Metrics:
    """Counters for one web process. Label values come from closed sets: a sender cannot create new series."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._deliveries = Counter(
            "apprentice_deliveries_total", "Deliveries stored, by event.", ["event"], registry=self.registry
        )
        self._duplicates = Counter(
            "apprentice_duplicate_deliveries_total", "Deliveries that are already stored.", registry=self.registry
        )
        self._rejected = Counter(
            "apprentice_rejected_requests_total", "Requests refused, by reason.", ["reason"], registry=self.registry
        )
        self._unsent = Counter(
            "apprentice_unsent_jobs_total",
            "Jobs that the queue refused and the sweeper sends later.",
            registry=self.registry,
        )
        self._jobs = Gauge("apprentice_jobs", "Jobs that are not done, by state.", ["state"], registry=self.registry)
        self._ended = _EndedJobs()
        self.registry.register(self._ended)
        self._oldest = Gauge(
            "apprentice_oldest_ready_seconds", "How long the oldest ready job has waited.", registry=self.registry
        )
        self._latency = Histogram(
            "apprentice_webhook_seconds",
            "Time to answer a webhook.",
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
        )

    def answered(self, event: str, *, duplicate: bool, seconds: float) -> None:
        """Count an accepted delivery, answered `seconds` after its arrival."""
        self._latency.observe(seconds)
        if duplicate:
            self._duplicates.inc()
        else:
            self._deliveries.labels(event if event in KNOWN else OTHER_EVENT).inc()

    def rejected(self, reason: str) -> None:
        """Count a rejected request; `reason` is one of a fixed set."""
        self._rejected.labels(reason).inc()

    def unsent(self, count: int) -> None:
        """Count jobs that the queue refused."""
        self._unsent.inc(count)

    def page(
        self, unfinished: Mapping[JobState, int], ended: Mapping[JobState, int], oldest_ready_seconds: float
    ) -> bytes:
        """All metrics in Prometheus' text format: the jobs that are not done now, and those that have ended so far."""
        for state, count in unfinished.items():
            self._jobs.labels(state).set(count)
        self._ended.jobs = ended
        self._oldest.set(oldest_ready_seconds)
        return generate_latest(self.registry)
