"""The service on its own thread in this process (RFC-03: embedded in the driver).

It listens before the thread starts, so the port is known at once, no other process can take it in
between, and early callers are not rejected.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as PageRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from framework.errors import PlanError
from framework.timeline_service.access import Limits, is_loopback
from framework.timeline_service.marker_routes import is_marker_route
from framework.timeline_service.messages import Answer, Request, RequestRefusedError
from framework.timeline_service.metrics import prometheus_text
from framework.timeline_service.protocol import limited_protocol
from framework.timeline_service.service import Service
from framework.vocabulary import ServiceAuth

__all__ = ["EmbeddedServer", "TimelineApp"]


_INTERFACE: Final = "/v1/"
_THREADS: Final = 8
_MARKER_THREADS: Final = 64
"""They wait for the disk and share batches, and must not delay lookups."""
_NO_BODY: Final = frozenset({"GET", "HEAD"})

_STOP_SECONDS: Final = 5.0
_BACKLOG: Final = 1024


class TimelineApp:
    """ASGI application of one `Service`.

    Args:
        service: handles the interface.
        pages: further routes, such as those of the status page.
    """

    def __init__(self, service: Service, pages: Sequence[BaseRoute] = ()) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="timeline-service")
        self._markers = ThreadPoolExecutor(_MARKER_THREADS, thread_name_prefix="timeline-markers")
        self._lanes: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        own = (Route("/health", self._health), Route("/metrics", self._metrics))
        self._pages = Starlette(routes=[*own, *pages])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not scope["path"].startswith(_INTERFACE):
            await self._pages(scope, receive, send)
            return
        answer = await self._answer(scope, receive)
        length = (b"content-length", b"%d" % len(answer.body))
        start = {"status": answer.status, "headers": [*answer.headers, length]}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": answer.body})

    def close(self) -> None:
        """Release threads; running ones finish."""
        for each in (self._pool, self._markers):
            each.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """Return the response to one call of the interface."""
        request = Request(
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode("latin-1"),
            headers=dict(scope["headers"]),
        )
        if request.method in _NO_BODY:
            quick = self._service.quick(request)
            if quick is not None:
                return quick
        else:
            request = request._replace(body=await _body(receive))
        pool = self._markers if is_marker_route(request.path) else self._pool
        async with self._lane(request):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(pool, self._service.answer, request)

    def _lane(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Return a lock that serializes a table's calls in order of arrival.

        A view answers one call at a time anyway. Threads waiting for its lock would take turns with
        the holder at each file it reads, and slow down all calls by half.
        """
        table = self._service.table_of(request)
        return nullcontext() if table is None else self._lanes[table.id]

    async def _health(self, _: PageRequest) -> Response:
        """Report that the service runs, and no more, since access is open."""
        return JSONResponse({"status": "ok", "driver": self._service.tables.driver})

    async def _metrics(self, request: PageRequest) -> Response:
        """Return the counters to authorized callers."""
        try:
            self._service.access.check(dict(request.scope["headers"]))
        except RequestRefusedError as refusal:
            return JSONResponse({"error": refusal.message}, status_code=refusal.status)
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(
            self._pool, prometheus_text, self._service.metrics, self._service.tables.all()
        )
        return PlainTextResponse(text)


async def _body(receive: Receive) -> bytes:
    """Return a request's body; the protocol delivers it whole and within limits."""
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return b"".join(parts)


class EmbeddedServer:
    """A server on its own thread; also a context manager that stops it.

    Args:
        service: handles requests.
        host: address to listen on.
        port: TCP port; 0 takes a free one.
        limits: resource limits of a caller.
        pages: further routes.

    Raises:
        PlanError: `timeline-service/open-to-all` for a non-loopback address without a token;
            `timeline-service/address` if it cannot listen there.
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
                f"without a token, the service listens only on a loopback address, not on {host}",
                remedy="Listen on 127.0.0.1, or require a token: auth: token.",
            )
        self._service = service
        self._limits = limits or Limits()
        self._socket = _bound(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._app = TimelineApp(service, pages)
        self._server = uvicorn.Server(self._config())
        self._thread = threading.Thread(target=self._run, name="timeline-service", daemon=True)

    def start(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; calls in progress get some seconds to finish."""
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
        """Return uvicorn's settings."""
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
    """Return a listening socket; early connections wait until the thread starts.

    With `SO_REUSEADDR`, two may bind one port, but only one of them may listen.

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
