"""The metrics of the web process, in their own registry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from bot.web.events import KNOWN
from memory.measures import MEASURES, SUM, CounterMeasure, DurationMeasure, Labels
from memory.model.jobs import JobState

OTHER_EVENT = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigures:
    """What a page shows of the database: jobs that are not done now, jobs whose worker left them, seconds that the oldest
    ready job has waited, processes that are alive by kind, and all that processes measured."""

    unfinished: Mapping[JobState, int] = field(default_factory=dict)
    expired_leases: int = 0
    oldest_ready_seconds: float = 0.0
    alive: Mapping[str, int] = field(default_factory=dict)
    measured: Iterable[tuple[str, Labels, float]] = ()


Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


@dataclass(slots=True, eq=False)
class _StoredMetrics(Collector):
    """What the database keeps for all processes together."""

    figures: StoredFigures = field(default_factory=StoredFigures)

    def collect(self) -> Iterator[Family]:
        figures = self.figures
        unfinished = GaugeMetricFamily("apprentice_jobs", "Jobs that are not done, by state.", labels=["state"])
        alive = GaugeMetricFamily("apprentice_processes", "Processes that are alive, by kind.", labels=["kind"])
        unfinished_counts = {state.value: jobs for state, jobs in figures.unfinished.items()}
        for family, counts in ((unfinished, unfinished_counts), (alive, figures.alive)):
            for label, count in counts.items():
                family.add_metric([label], count)
            yield family
        waited, left = figures.oldest_ready_seconds, figures.expired_leases
        yield GaugeMetricFamily("apprentice_oldest_ready_seconds", "How long the oldest ready job has waited.", waited)
        yield GaugeMetricFamily("apprentice_expired_leases", "Jobs whose worker stopped renewing the lease.", left)
        yield from _measured(figures.measured)


def _measured(found: Iterable[tuple[str, Labels, float]]) -> Iterator[Family]:
    """A family for each measure, also for one that nothing was measured of."""
    by_name: dict[str, dict[Labels, float]] = {measure.name: {} for measure in MEASURES}
    for name, labels, value in found:
        if name in by_name:  # another version of this code may measure more
            by_name[name][labels] = value
    for measure in MEASURES:
        series = by_name[measure.name]
        if isinstance(measure, DurationMeasure):
            yield _histogram(measure, series)
            continue
        kind = CounterMetricFamily if isinstance(measure, CounterMeasure) else GaugeMetricFamily
        family = kind(measure.name.removesuffix("_total"), measure.meaning, labels=measure.labels)
        for labels, value in series.items():
            family.add_metric(labels, value)
        yield family


def _histogram(measure: DurationMeasure, series: Mapping[Labels, float]) -> HistogramMetricFamily:
    """Prometheus' buckets count all that is below their bound; ours count what is in them alone."""
    family = HistogramMetricFamily(measure.name, measure.meaning, labels=measure.labels)
    bounds = (*map(str, measure.bounds), "+Inf")
    for labels in sorted({labels[:-1] for labels in series}):
        count, buckets = 0.0, list[tuple[str, float]]()
        for bound in bounds:
            count += series.get((*labels, bound), 0.0)
            buckets.append((bound, count))
        family.add_metric(labels, buckets, series.get((*labels, SUM), 0.0))
    return family


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
        self._stored = _StoredMetrics()
        self.registry.register(self._stored)
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

    def page(self, stored: StoredFigures) -> bytes:
        """All metrics in Prometheus' text format."""
        self._stored.figures = stored
        return generate_latest(self.registry)
