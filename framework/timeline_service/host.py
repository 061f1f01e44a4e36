"""The service with its page and stores, running within a `with` block."""

from __future__ import annotations

import logging
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, assert_never

from framework.errors import FrameworkError
from framework.hudi.storage.locations import open_storage
from framework.hudi.view.checkpoint import Refusal, Reopened, reopen, write_checkpoint
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.port import GroupStore, MemoryStore
from framework.hudi.view.stores.spillable import SpillableStore
from framework.timeline_service.access import Access, is_loopback
from framework.timeline_service.marker_routes import MARKER_PREFIX, MarkerRoutes
from framework.timeline_service.page.data import PAGE_PREFIX, PageData
from framework.timeline_service.page.documents import page_routes
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import Tables, table_id
from framework.vocabulary import ServiceAuth, ViewStore

__all__ = ["DEFAULT_PORT", "Served", "ServiceOptions", "serving", "store_of"]

_LOG: Final = logging.getLogger(__name__)

DEFAULT_PORT: Final = 26754
"""Apache Hudi's default port."""
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """The settings of a service.

    Attributes:
        host: address to listen on.
        port: TCP port; 0 takes a free one.
        auth: the credentials a caller needs.
        store: the kind of store for file groups.
        memory_bytes: bound of all stores together.
        checkpoints: folder with a checkpoint for each view, read at the start and written at the
            end; None for no checkpoints.
        markers: whether to keep markers of Apache Hudi's writers in the tables; if not, the tables
            are not changed.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    auth: ServiceAuth = ServiceAuth.TOKEN
    store: ViewStore = ViewStore.MEMORY
    memory_bytes: int = 256 << 20
    checkpoints: Path | None = None
    markers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running service.

    Attributes:
        server: the server, which can be waited for.
        token: the token that callers need, None if they need none.
        refused: reasons why checkpoints were not used, by location; excludes missing ones.
    """

    server: EmbeddedServer
    token: str | None
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def address(self) -> str:
        """The address for a browser on this machine, without a trailing slash."""
        host = "127.0.0.1" if self.server.host in _EVERYWHERE else self.server.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server.port}"

    @property
    def page(self) -> str:
        """The page's address; the token is in the fragment, which a browser never sends."""
        return f"{self.address}/" + (f"#token={self.token}" if self.token else "")


@contextmanager
def serving(locations: Sequence[str], options: ServiceOptions) -> Iterator[Served]:
    """Serve tables within the block; a table need not exist yet.

    At its end, views are written to their checkpoints. A failed write is logged, and the next start
    lists that table again.

    Raises:
        PlanError: `timeline-service/open-to-all`, `timeline-service/address`, or a location that
            cannot be opened.
        NotYetBuiltError: an unsupported store or scheme.
    """
    tables = Tables()
    refused: dict[str, str] = {}
    try:
        for location in locations:
            found = _view(location, options, len(locations))
            tables.register(location, found.view)
            if found.refusal not in (None, Refusal.MISSING):
                refused[location] = found.refusal.value
        access = Access(auth=options.auth, hosts=_names_of(options.host))
        data = PageData(tables)
        try:
            markers = MarkerRoutes(tables, kept=options.markers)
            further = {PAGE_PREFIX: data.answer, MARKER_PREFIX: markers.answer}
            service = Service(tables, access, further=further)
            pages = page_routes(access)
            with EmbeddedServer(
                service, host=options.host, port=options.port, pages=pages
            ) as server:
                shown = access.token if options.auth is ServiceAuth.TOKEN else None
                yield Served(server=server, token=shown, refused=refused)
        finally:
            data.close()
            if options.checkpoints is not None:
                _write_checkpoints(tables, options.checkpoints)
    finally:
        tables.close()


def _view(location: str, options: ServiceOptions, tables: int) -> Reopened:
    """Return the view of a table with its share of the memory, from its checkpoint if any."""
    share = max(1, options.memory_bytes // tables)
    storage, store = open_storage(location), store_of(options.store, share)
    if options.checkpoints is None:
        return Reopened(view=IncrementalView(storage, store))
    return reopen(storage, store, _checkpoint(options.checkpoints, location))


def _write_checkpoints(tables: Tables, folder: Path) -> None:
    """Write checkpoints of the views that have synced."""
    for table in tables.all():
        if table.view.known is None:
            continue
        try:
            write_checkpoint(table.view, _checkpoint(folder, table.location))
        except FrameworkError as error:
            _LOG.warning("the checkpoint of %s was not written: %s", table.location, error)


def _checkpoint(folder: Path, location: str) -> Path:
    """Return the checkpoint file of a table's view."""
    return folder / f"{table_id(location)}.view"


def _names_of(host: str) -> frozenset[str]:
    """Return the allowed names of this machine, if it listens beyond loopback."""
    if is_loopback(host):
        return frozenset()
    own = socket.gethostname()
    names = {host, own}
    if host in _EVERYWHERE:
        with suppress(OSError):
            names |= {str(each[4][0]) for each in socket.getaddrinfo(own, None)}
    return frozenset(f"[{each}]" if ":" in each else each for each in names)


def store_of(kind: ViewStore, memory_bytes: int) -> GroupStore:
    """Return a new, empty store, whose temporary files are deleted when it is closed.

    Args:
        kind: the kind of store.
        memory_bytes: its memory bound.
    """
    match kind:
        case ViewStore.MEMORY:
            return MemoryStore(memory_bytes)
        case ViewStore.SPILLABLE:
            return SpillableStore(memory_bytes, _folder())
        case ViewStore.EMBEDDED_KV:
            return EmbeddedKvStore(memory_bytes, _folder())
        case _:
            assert_never(kind)


def _folder() -> str:
    """Return a new folder for a store's files."""
    return tempfile.mkdtemp(prefix="timeline-service-")
