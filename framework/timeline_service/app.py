"""The service as an ASGI application: the interface by a short way, pages by Starlette."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from framework.timeline_service.marker_routes import is_marker_route
from framework.timeline_service.messages import Answer, Request, RequestRefusedError
from framework.timeline_service.metrics import prometheus_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request as PageRequest
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from framework.timeline_service.service import Service

__all__ = ["TimelineApp"]

_INTERFACE: Final = "/v1/"
_THREADS: Final = 8
_MARKER_THREADS: Final = 64
"""They wait for the disk, and share batches: none of them is to keep a look-up waiting."""
_NO_BODY: Final = frozenset({"GET", "HEAD"})


class TimelineApp:
    """Serves one `Service` by ASGI.

    Args:
        service: answers the interface.
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
        """Let go of threads; those at work go on to their end."""
        for each in (self._pool, self._markers):
            each.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """Return the answer to one call of the interface."""
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
        """Return what lets one call of a table be answered at a time, in the order they came.

        A view answers one at a time in any case; threads that wait for its lock would take turns
        with the one that has it, at each file it looks at, and all would be slower by half.
        """
        table = self._service.table_of(request)
        return nullcontext() if table is None else self._lanes[table.id]

    async def _health(self, _: PageRequest) -> Response:
        """Tell that the service answers; no more, since anybody may ask."""
        return JSONResponse({"status": "ok", "driver": self._service.tables.driver})

    async def _metrics(self, request: PageRequest) -> Response:
        """Return the counters, for who may ask."""
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
    """Return a request's body; the protocol gives it whole, and within limits."""
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return b"".join(parts)
