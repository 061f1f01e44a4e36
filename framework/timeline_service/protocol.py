"""HTTP of one connection: uvicorn's, with limits, and a short way for look-ups.

A connection has so many seconds from its beginning, or from the first byte of a further request,
until that request's headers are whole; so a half-open caller, or one of a byte a second, holds no
place for long. One that says nothing for minutes is closed.

A look-up that comes in one piece, as clients send it, is answered where it was read: the way
through ASGI would cost thrice what finding the answer does. Whatever is not as plain as that goes
the long way: another method or version, a body, an unusual header, half a request or two.
"""

from __future__ import annotations

import os
import select
import time
from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from framework.timeline_service.access import Limits
from framework.timeline_service.messages import Request

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from framework.timeline_service.messages import Answer, Headers
    from framework.timeline_service.service import Service

__all__ = ["limited_protocol"]

_PLAIN: Final = b"GET /v1/hoodie/view/"
_END: Final = b"\r\n\r\n"
_VERSION: Final = b"HTTP/1.1"
_LONG_WAY: Final = frozenset(
    {b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection"}
)
_SEEN_BYTES: Final = 1 << 10
_IDLE_SECONDS: Final = 300.0
_AWAKE_SECONDS: Final = 0.0003
_STATUS_LINES: Final = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}


def limited_protocol(service: Service, limits: Limits) -> type[HttpToolsProtocol]:
    """Return the protocol of a server's connections."""

    class Protocol(_LimitedProtocol):
        """With the service and the limits of this server."""

        served = service
        bounds = limits

    return Protocol


class _LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    served: Service
    bounds = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many."""
        super().connection_made(transport)
        self._header_bytes = 0
        self._bytes = select.poll()
        self._bytes.register(transport.get_extra_info("socket"), select.POLLIN)
        self._deadline: asyncio.TimerHandle | None = None
        self._heard = self.loop.time()
        self._idle = self.loop.call_later(_IDLE_SECONDS, self._close_if_idle)
        if len(self.connections) > self.bounds.connections:
            transport.abort()
            return
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Take some bytes."""
        if self._is_between():
            if self._header_bytes == 0 and data.startswith(_PLAIN) and self._answered(data):
                return
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
        if self._header_bytes > 2 * self.bounds.header_bytes + self.bounds.body_bytes:
            self.transport.abort()
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are whole."""
        self._stop_waiting()
        self._header_bytes = 0
        self._heard = self.loop.time()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self._stop_waiting()
        self._idle.cancel()
        super().connection_lost(exc)

    def _answered(self, data: bytes) -> bool:
        """Answer a look-up that needs no waiting; False sends it the long way."""
        if not data.endswith(_END) or data.find(_END) != len(data) - len(_END):
            return False
        if len(data) > self.bounds.header_bytes:
            return False
        request = _plain_request(data)
        answer = None if request is None else self.served.quick(request)
        if answer is None:
            return False
        self._stop_waiting()
        self._heard = self.loop.time()
        self.transport.write(_bytes_of(answer))
        if len(self.connections) == 1:
            self._stay_awake()
        return True

    def _stay_awake(self) -> None:
        """Wait for the next look-up without sleep for a moment.

        One connection asks again as soon as it was answered, and to wake a core takes longer than
        to answer. Whoever else wants the core has it, and what is spent is bounded.
        """
        until = time.monotonic() + _AWAKE_SECONDS
        while not self._bytes.poll(0) and time.monotonic() < until:
            os.sched_yield()

    def _is_between(self) -> bool:
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

    def _close_if_idle(self) -> None:
        """Close where nothing was heard for long, else look again later."""
        left = self._heard + _IDLE_SECONDS - self.loop.time()
        if left <= 0 and self._is_between():
            self.transport.close()
            return
        self._idle = self.loop.call_later(max(left, 1.0), self._close_if_idle)


def _plain_request(data: bytes) -> Request | None:
    """Return the request that some bytes are, None where it is not a plain one."""
    first, _, rest = data[: -len(_END)].partition(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or words[2] != _VERSION:  # noqa: PLR2004 - method, target, version
        return None
    headers = _seen_headers(rest) if len(rest) <= _SEEN_BYTES else _plain_headers(rest)
    if headers is None:
        return None
    try:
        path, _, query = words[1].decode("ascii").partition("?")
    except UnicodeDecodeError:
        return None
    return Request(method="GET", path=path, query=query, headers=headers)


def _plain_headers(lines: bytes) -> Mapping[bytes, bytes] | None:
    """Return the headers that some lines are, None where one of them is not plain."""
    headers: dict[bytes, bytes] = {}
    for line in lines.split(b"\r\n") if lines else ():
        name, colon, value = line.partition(b":")
        key = name.lower()
        if not colon or key in headers or not _is_plain_name(key, value):
            return None
        headers[key] = value.strip()
    return MappingProxyType(headers)


_seen_headers: Final = lru_cache(maxsize=64)(_plain_headers)
"""A client sends the same headers with each look-up."""


def _is_plain_name(key: bytes, value: bytes) -> bool:
    """Return whether a header says nothing of how the request is to be read."""
    if key == b"connection":
        return value.strip().lower() == b"keep-alive"
    return bool(key) and key not in _LONG_WAY and not key.isspace() and b" " not in key


def _bytes_of(answer: Answer) -> bytes:
    """Return an answer as it is sent."""
    status, body, headers = answer
    return b"%b%d%b%b" % (_head_of(status, headers), len(body), _END, body)


@lru_cache(maxsize=64)
def _head_of(status: int, headers: Headers) -> bytes:
    """Return what comes before an answer's length; answers of one version of a view share it."""
    lines = b"".join(b"%b: %b\r\n" % each for each in headers)
    return b"%b%bcontent-length: " % (_STATUS_LINES[status], lines)
