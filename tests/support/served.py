"""A small table in memory that is served, and plain HTTP to ask for it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid4, uuid5

from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import PARTITION_METADATA, join
from framework.hudi.timeline.commit_metadata import CommitHead, WriteStat, write_commit
from framework.hudi.timeline.timeline import timeline_hash
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.stores.port import MemoryStore
from framework.timeline_service.access import Access, Limits
from framework.timeline_service.marker_routes import MARKER_PREFIX, MarkerRoutes
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import ServedTable, Tables
from framework.vocabulary import ServiceAuth
from tests.support.asking import Response, ask_server
from tests.support.storage_suite import put

__all__ = ["ServedScene", "a_table", "commit", "file_id"]

FIRST = "20261101000000001"
TOKEN = "1-0-1"  # noqa: S105 - a write token


def file_id(name: str) -> str:
    """Return a file id that looks like those of tables."""
    return f"{uuid5(NAMESPACE_URL, name)}-0"


def commit(storage: Storage, instant: str, files: Iterable[tuple[str, str]]) -> None:
    """Write base files, named by partition path and file id, and the commit that names them."""
    stats: dict[str, list[WriteStat]] = {}
    for partition, group in files:
        name = str(BaseFileName(file_id=group, write_token=TOKEN, instant=instant))
        path = join(partition, name)
        put(storage, path, b"x" * 100)
        marker = join(partition, PARTITION_METADATA)
        if storage.stat(marker) is None:
            put(storage, marker, b"m")
        stat = WriteStat(file_id=group, path=path, partition_path=partition, rows=1, size=100)
        stats.setdefault(partition, []).append(stat)
    out = io.BytesIO()
    write_commit(out, CommitHead(operation="UPSERT"), stats.items())
    put(storage, f".hoodie/{instant}.commit", out.getvalue())


def a_table(partitions: Iterable[str] = ("p=1", "p=2"), groups: int = 3) -> MemoryStorage:
    """Return a table with one commit."""
    storage = MemoryStorage(uuid4().hex)
    names = [(path, file_id(f"{path}/{n}")) for path in partitions for n in range(groups)]
    commit(storage, FIRST, names)
    return storage


class ServedScene:
    """A table, its view and a server; used as a context manager."""

    def __init__(
        self,
        storage: Storage | None = None,
        *,
        auth: ServiceAuth = ServiceAuth.LOOPBACK,
        limits: Limits | None = None,
        markers: bool = False,
    ) -> None:
        self.storage = storage or a_table()
        self.view = IncrementalView(self.storage, MemoryStore())
        self.tables = Tables()
        self.table: ServedTable = self.tables.register(self.storage.location, self.view)
        self.access = Access(auth=auth)
        routes = MarkerRoutes(self.tables, kept=markers)
        self.service = Service(self.tables, self.access, further={MARKER_PREFIX: routes.answer})
        self.server = EmbeddedServer(self.service, limits=limits)

    def __enter__(self) -> Self:
        """Begin to serve."""
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more."""
        self.server.stop()
        self.tables.close()

    def connections(self) -> Iterator[Any]:
        """Yield the protocols of the connections that are open now."""
        yield from list(self.server._server.server_state.connections)  # noqa: SLF001 - none asks else

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        /,
        **parameters: str,
    ) -> Response:
        """Ask over a connection of its own."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        return ask_server(self.server, method, target, body, headers)

    def hudi(
        self, route: str, method: str = "GET", body: bytes | None = None, /, **more: str
    ) -> Response:
        """Ask one of Apache Hudi's routes, as its clients do."""
        return self.call(method, f"/v1/hoodie/view/{route}", body, **{**self.claims(), **more})

    def claims(self) -> dict[str, str]:
        """Return what a client at the view's own timeline says."""
        timeline = self.view.facts.timeline
        return {
            "basepath": self.storage.location,
            "lastinstantts": timeline.last_requested_time or "",
            "timelinehash": timeline_hash(timeline),
        }
