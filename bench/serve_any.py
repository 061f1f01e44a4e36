"""Lakestrap's timeline service for benches: `serve_any.py STORE BOUND_MB PORT [TOKEN]`.

Serves any requested table, like Apache Hudi's service; the product serves registered tables only.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from framework.hudi.storage.local import LocalStorage
from framework.hudi.view.incremental import IncrementalView
from framework.timeline_service.access import Access
from framework.timeline_service.host import store_of
from framework.timeline_service.marker_routes import MARKER_PREFIX, MarkerRoutes
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import ServedTable, Tables
from framework.vocabulary import ServiceAuth, ViewStore

_UNBOUNDED = 1 << 40


class AnyTables(Tables):
    """Tables that are registered on their first request."""

    def __init__(self, store: ViewStore, bound: int) -> None:
        super().__init__()
        self._make = (store, bound)

    def by_path(self, base_path: str) -> ServedTable:
        """Return the table of a base path, registering it if needed."""
        found = self.find(base_path)
        if found is None:
            store, bound = self._make
            location = "/" + base_path.removeprefix("file:").lstrip("/")
            view = IncrementalView(LocalStorage(location), store_of(store, bound))
            found = self.register(location, view)
        return found


def main() -> int:
    """Serve until SIGTERM."""
    store, bound_mb, port, *token = sys.argv[1:]
    kind = ViewStore(store)
    bound = int(bound_mb) << 20 if kind is not ViewStore.MEMORY else _UNBOUNDED
    tables = AnyTables(kind, bound)
    markers = MarkerRoutes(tables, kept=True)
    further = {MARKER_PREFIX: markers.answer}
    access = Access(token=token[0]) if token else Access(auth=ServiceAuth.LOOPBACK)
    service = Service(tables, access, further=further)
    server = EmbeddedServer(service, port=int(port))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.start().wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
