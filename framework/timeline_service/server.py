"""The service in this process, on a thread of its own (RFC-03: embedded in the driver).

It listens on its address before the thread begins, so the port is known at once, no other process
can take it in between, and nobody who was told of it is turned away.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final, Self

import uvicorn

from framework.errors import PlanError
from framework.timeline_service.access import Limits, is_loopback
from framework.timeline_service.app import TimelineApp
from framework.timeline_service.protocol import limited_protocol
from framework.vocabulary import ServiceAuth

if TYPE_CHECKING:
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
        self._service = service
        self._limits = limits or Limits()
        self._socket = _bound(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._app = TimelineApp(service, pages)
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
        return uvicorn.Config(
            self._app,
            http=limited_protocol(self._service, self._limits),
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


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens: who connects before the thread begins waits for it.

    With `SO_REUSEADDR` two may bind one port; only one of them may listen.

    Raises:
        PlanError: `timeline-service/address`.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        raise PlanError(
            "timeline-service/address",
            f"the service cannot listen on {host}:{port}: {error}",
            remedy="Choose another host or port; port 0 takes a free one.",
        ) from error
