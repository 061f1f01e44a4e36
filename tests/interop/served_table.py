"""A table that our service serves to Apache Hudi's clients, and that is compared with a listing."""

from __future__ import annotations

from pathlib import Path

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.port import MemoryStore
from framework.timeline_service.access import Access
from framework.timeline_service.marker_routes import MARKER_PREFIX, MarkerRoutes
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import Tables
from framework.vocabulary import ServiceAuth

__all__ = ["Served"]


class Served:
    """A table that is served, and compared with a listing."""

    def __init__(self, location: Path) -> None:
        self.storage = LocalStorage(str(location))
        self.view = IncrementalView(self.storage, MemoryStore())
        self.tables = Tables()
        self.table = self.tables.register(str(location), self.view)
        markers = MarkerRoutes(self.tables, kept=True)
        self.service = Service(
            self.tables,
            Access(auth=ServiceAuth.LOOPBACK),
            further={MARKER_PREFIX: markers.answer},
        )

    def options(self, server: EmbeddedServer) -> dict[str, str]:
        """Return what sends a client of Apache Hudi to us alone."""
        return {
            "hoodie.embed.timeline.server": "false",
            "hoodie.filesystem.view.type": "REMOTE_ONLY",
            "hoodie.filesystem.view.remote.host": "127.0.0.1",
            "hoodie.filesystem.view.remote.port": str(server.port),
            "hoodie.filesystem.remote.backup.view.enable": "false",
        }

    def asked(self, prefix: str) -> dict[str, int]:
        """Return how often each route below a prefix was answered; none at all with an error."""
        assert {status for _, status in self.service.metrics.answers} <= {200}
        return {
            route.removeprefix(prefix): count
            for (route, _), count in self.service.metrics.answers.items()
            if route.startswith(prefix)
        }

    def compare(self) -> None:
        """Every selection of every partition is what a listing of the same moment gives."""
        self.view.sync()
        timeline = load_timeline(self.storage)
        listed = ListingView(self.storage, timeline, BootstrapIndex.open(self.storage))
        times = [each.requested_time for each in timeline.completed]
        for selection in Selection:
            for instant in {times[0], times[-1], times[len(times) // 2]}:
                query = Query(
                    selection=selection,
                    instant=instant,
                    instants=frozenset({instant, times[-1]}),
                    include_pending=True,
                )
                assert self.view.select(query) == listed.select(query), query
