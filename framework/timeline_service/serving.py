"""The service with its page, for tables at some locations, until the block ends."""

from __future__ import annotations

import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framework.hudi.storage.opening import open_storage
from framework.hudi.view.incremental import IncrementalView
from framework.timeline_service.access import Access, is_loopback
from framework.timeline_service.page.data import PAGE_PREFIX, PageData
from framework.timeline_service.page.documents import page_routes
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.stores import store_of
from framework.timeline_service.tables import Tables
from framework.vocabulary import ServiceAuth, ViewStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["DEFAULT_PORT", "Served", "ServiceOrder", "serving"]

DEFAULT_PORT: Final = 26754
"""Apache Hudi's own."""
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - to know them, not to listen


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOrder:
    """How the service is to be.

    Attributes:
        host: address to listen on.
        port: of TCP; 0 takes a free one.
        auth: what a caller has to show.
        store: where file groups are kept.
        memory_bytes: bound of all stores together.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    auth: ServiceAuth = ServiceAuth.TOKEN
    store: ViewStore = ViewStore.MEMORY
    memory_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A service that answers.

    Attributes:
        server: to be waited for.
        token: what callers show, None where they need not.
    """

    server: EmbeddedServer
    token: str | None

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it, without a slash at the end."""
        host = "127.0.0.1" if self.server.host in _EVERYWHERE else self.server.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server.port}"

    @property
    def page(self) -> str:
        """The page's address; the token is in the fragment, which a browser never sends."""
        return f"{self.address}/" + (f"#token={self.token}" if self.token else "")


@contextmanager
def serving(locations: Sequence[str], order: ServiceOrder) -> Iterator[Served]:
    """Serve tables within the block; a table need not be there yet.

    Raises:
        PlanError: `timeline-service/open-to-all`, `timeline-service/address`, or a location that
            cannot be opened.
        NotYetBuiltError: a store or a scheme that this version refuses.
    """
    tables = Tables()
    try:
        for location in locations:
            tables.register(location, _view(location, order, len(locations)))
        access = Access(auth=order.auth, hosts=_names_of(order.host))
        data = PageData(tables)
        try:
            service = Service(tables, access, further={PAGE_PREFIX: data.answer})
            pages = page_routes(access)
            with EmbeddedServer(service, host=order.host, port=order.port, pages=pages) as server:
                shown = access.token if order.auth is ServiceAuth.TOKEN else None
                yield Served(server=server, token=shown)
        finally:
            data.close()
    finally:
        tables.close()


def _view(location: str, order: ServiceOrder, tables: int) -> IncrementalView:
    """Return the view of a table, with its share of the memory."""
    share = max(1, order.memory_bytes // tables)
    return IncrementalView(open_storage(location), store_of(order.store, share))


def _names_of(host: str) -> frozenset[str]:
    """Return the names that callers may call this machine, where it listens beyond itself."""
    if is_loopback(host):
        return frozenset()
    own = socket.gethostname()
    names = {host, own}
    if host in _EVERYWHERE:
        with suppress(OSError):
            names |= {str(each[4][0]) for each in socket.getaddrinfo(own, None)}
    return frozenset(f"[{each}]" if ":" in each else each for each in names)
