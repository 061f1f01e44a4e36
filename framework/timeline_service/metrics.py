"""Counters of a service, in Prometheus's text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from framework.timeline_service.tables import ServedTable

__all__ = ["Metrics", "prometheus_text"]

_VIEW_COUNTS: Final = {
    "listings": "Folders of the table that were listed.",
    "looks": "Listings of the timeline.",
    "syncs": "Listings of the timeline that found new instants.",
    "instants": "Instants whose metadata was read for a sync.",
    "rebuilt": "Partitions that were dropped because an instant's metadata was not exact.",
    "resets": "Number of times all partitions were dropped.",
}
_STORE_SIZES: Final = {
    "partitions": "Loaded partitions.",
    "groups": "File groups of loaded partitions.",
    "memory_bytes": "Memory held by the store, by its own estimate.",
    "disk_bytes": "Bytes of the store's files.",
    "evicted": "Partitions evicted from memory.",
}


class Metrics:
    """Counters of a service: responses by route and status, cached and refused ones."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.cached = 0
        self.refused = 0

    def count(self, route: str, status: int) -> None:
        """Count one response."""
        self.answers[route, status] += 1


def prometheus_text(metrics: Metrics, tables: tuple[ServedTable, ...]) -> str:
    """Return all counters of a service and of its tables' views, in the text format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics, tables))
    return generate_latest(registry).decode()


@dataclass(frozen=True, slots=True)
class _Collector:
    """Adapter that exposes our counters to Prometheus's library."""

    metrics: Metrics
    tables: tuple[ServedTable, ...]

    def collect(self) -> Iterator[Metric]:
        """Yield the service's own counters, then those of each table's view and store."""
        answers = CounterMetricFamily(
            "lakestrap_answers", "Responses by route and status.", labels=("route", "status")
        )
        for (route, status), count in sorted(self.metrics.answers.items()):
            answers.add_metric((route, str(status)), count)
        yield answers
        yield CounterMetricFamily(
            "lakestrap_answers_encoded_before",
            "Responses served from the cache.",
            value=self.metrics.cached,
        )
        for member, text in _VIEW_COUNTS.items():
            counter = CounterMetricFamily(f"lakestrap_view_{member}", text, labels=("table",))
            for table in self.tables:
                counter.add_metric((table.location,), getattr(table.view.counts, member))
            yield counter
        usages = [(table.location, table.view.usage()) for table in self.tables]
        for member, text in _STORE_SIZES.items():
            gauge = GaugeMetricFamily(f"lakestrap_store_{member}", text, labels=("table",))
            for location, usage in usages:
                gauge.add_metric((location,), getattr(usage, member))
            yield gauge
