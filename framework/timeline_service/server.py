"""The service in this process, on a thread of its own (RFC-03: embedded in the driver).

It listens on an address that is bound before the thread begins, so the port is known at once, and
no other process can take it in between.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from framework.errors import PlanError
from framework.timeline_service.access import Limits, is_loopback
from framework.timeline_service.app import TimelineApp
from framework.vocabulary import ServiceAuth

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from framework.timeline_service.service import Service

__all__ = ["EmbeddedServer"]

_STOP_SECONDS: Final = 5.0
_BACKLOG: Final = 1024


class EmbeddedServer:
    """Serves on a thread until it is stopped; also a context manager that stops it.

    Args:
        service: answers.
        host: address to listen on.
        port: of TCP; 0 takes a free one.
        limits: what one caller may cost.
        pages: further routes.

    Raises:
        PlanError: `timeline-service/open-to-all`: everybody is to be let in from everywhere;
            `timeline-service/address`: it cannot be listened on.
    """

    def __init__(
        self,
        service: Service,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Limits | None = None,
        pages: Sequence[BaseRoute] = (),
    ) -> None:
        if service.access.auth is ServiceAuth.LOOPBACK and not is_loopback(host):
            raise PlanError(
                "timeline-service/open-to-all",
                f"without a token the service listens on a loopback address alone, not on {host}",
                remedy="Listen on 127.0.0.1, or let callers show a token: auth: token.",
            )
        self._limits = limits or Limits()
        self._socket = _bound(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._app = TimelineApp(service, self._limits, pages)
        self._server = uvicorn.Server(self._config())
        self._thread = threading.Thread(target=self._run, name="timeline-service", daemon=True)

    def start(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Serve no more; calls that are being answered get some seconds to end."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)
        self._app.close()
        self._socket.close()

    def wait(self) -> None:
        """Wait until the service has ended."""
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _config(self) -> uvicorn.Config:
        """Return how the server works."""
        limits = self._limits

        class Protocol(_LimitedProtocol):
            """With the limits of this service."""

            bounds = limits

        return uvicorn.Config(
            self._app,
            http=Protocol,
            loop="uvloop",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=120,
            timeout_graceful_shutdown=1,
        )

    def _run(self) -> None:
        """Serve on this thread."""
        self._server.run(sockets=[self._socket])


class _LimitedProtocol(HttpToolsProtocol):
    """HTTP of one connection, which is closed where it asks too much or too slowly.

    A connection has so many seconds from its beginning, or from its last answer once a byte of the
    next request is there, until that request's headers are whole.
    """

    bounds = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many."""
        super().connection_made(transport)
        self._header_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        if len(self.connections) > self.bounds.connections:
            transport.abort()
            return
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Take some bytes."""
        if self._in_headers():
            if self._deadline is None:
                self._wait_for_headers()
            self._header_bytes += len(data)
            if self._header_bytes > self.bounds.header_bytes + self.bounds.body_bytes:
                self.transport.abort()
                return
        super().data_received(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > 2 * self.bounds.header_bytes:
            self.transport.abort()
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are whole."""
        self._stop_waiting()
        self._header_bytes = 0
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _in_headers(self) -> bool:
        """Whether no request is being read or answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _wait_for_headers(self) -> None:
        """Give the next request's headers their time."""
        seconds = self.bounds.header_seconds
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        """The time is no longer counted."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is listened on.

    Raises:
        PlanError: `timeline-service/address`.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)  # who calls before the thread runs waits, and is not refused
    except OSError as error:
        raise PlanError(
            "timeline-service/address",
            f"the service cannot listen on {host}:{port}: {error}",
            remedy="Choose another host or port; port 0 takes a free one.",
        ) from error
    return found
