"""Counters of a service, in the text form that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.timeline_service.tables import ServedTable

__all__ = ["Metrics", "prometheus_text"]

CONTENT_TYPE: Final = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")

_VIEW_COUNTS: Final = {
    "listings": "Folders of the table that were listed.",
    "looks": "Listings of the timeline.",
    "syncs": "Looks that found something new.",
    "instants": "Instants whose metadata was read for a sync.",
    "rebuilt": "Partitions that were forgotten since an instant did not tell enough of them.",
    "resets": "How often all partitions were forgotten.",
}
_STORE_SIZES: Final = {
    "partitions": "Partitions that are loaded.",
    "groups": "File groups in them.",
    "memory_bytes": "Memory that the store holds, by its own reckoning.",
    "disk_bytes": "Bytes of the store's files.",
    "evicted": "Partitions that left memory.",
}


class Metrics:
    """What a service did: answers by route and status, and the seconds that they took."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.cached = 0
        self.refused = 0

    def count(self, route: str, status: int) -> None:
        """Count one answer."""
        self.answers[route, status] += 1


def prometheus_text(metrics: Metrics, tables: tuple[ServedTable, ...]) -> str:
    """Return all counters of a service and of its tables' views."""
    return "\n".join([*_service_lines(metrics), *_table_lines(tables), ""])


def _service_lines(metrics: Metrics) -> Iterator[str]:
    """Yield what the service counts itself."""
    name = "lakestrap_answers_total"
    yield f"# HELP {name} Answers by route and status.\n# TYPE {name} counter"
    for (route, status), count in sorted(metrics.answers.items()):
        yield f'{name}{{route="{_escaped(route)}",status="{status}"}} {count}'
    name = "lakestrap_answers_encoded_before_total"
    yield f"# HELP {name} Answers whose bytes were there already.\n# TYPE {name} counter"
    yield f"{name} {metrics.cached}"


def _table_lines(tables: tuple[ServedTable, ...]) -> Iterator[str]:
    """Yield what each table's view counts."""
    for member, text in _VIEW_COUNTS.items():
        name = f"lakestrap_view_{member}_total"
        yield f"# HELP {name} {text}\n# TYPE {name} counter"
        for table in tables:
            yield f"{name}{_label(table)} {getattr(table.view.counts, member)}"
    usages = [table.view.usage() for table in tables]
    for member, text in _STORE_SIZES.items():
        name = f"lakestrap_store_{member}"
        yield f"# HELP {name} {text}\n# TYPE {name} gauge"
        for table, usage in zip(tables, usages, strict=True):
            yield f"{name}{_label(table)} {getattr(usage, member)}"


def _label(table: ServedTable) -> str:
    """Return a table's label."""
    return f'{{table="{_escaped(table.location)}"}}'


def _escaped(text: str) -> str:
    """Return a label's value as Prometheus reads it back."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
