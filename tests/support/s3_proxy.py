"""A proxy before a server of S3 that counts requests and injects faults."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from typing_extensions import override

from framework.hudi.storage.store_settings import StoreSettings
from tests.support.s3_server import S3Server

__all__ = ["Fault", "Proxy", "proxied"]

_HOP = frozenset({"connection", "transfer-encoding", "content-length", "date", "server"})


class Fault(Enum):
    """What happens to one request."""

    BUSY = auto()
    """It is refused with 503 SlowDown."""

    LOST_REQUEST = auto()
    """The connection ends before the server sees the request."""

    LOST_ANSWER = auto()
    """The server obeys, and the connection ends before the answer."""

    BUSY_BUT_DONE = auto()
    """The server obeys, and the client is told 503."""

    DENIED = auto()
    """It is refused with 403 AccessDenied."""

    BAD_KEY = auto()
    """It is refused with 403 InvalidAccessKeyId."""

    SKEWED = auto()
    """It is refused with 403 RequestTimeTooSkewed."""

    UNKNOWN = auto()
    """It is refused with 501 NotImplemented."""


_REFUSALS = {
    Fault.BUSY: (503, "SlowDown"),
    Fault.BUSY_BUT_DONE: (503, "SlowDown"),
    Fault.DENIED: (403, "AccessDenied"),
    Fault.BAD_KEY: (403, "InvalidAccessKeyId"),
    Fault.SKEWED: (403, "RequestTimeTooSkewed"),
    Fault.UNKNOWN: (501, "NotImplemented"),
}


@dataclass(slots=True, kw_only=True)
class Proxy:
    """A running proxy.

    Attributes:
        settings: those that reach the server through it.
        requests: how often each method was called, since `forget`.
        faults: of the next requests, in order; the rest is forwarded.
        always: the fault of each request, if any.
        drops: names of headers, in lower case, that the server does not get to see.
        refuses: likewise of headers that are refused with 501, as by stores that know none.
    """

    settings: StoreSettings
    requests: Counter[str] = field(default_factory=Counter)
    faults: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    drops: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    lock: Lock = field(default_factory=Lock)

    def forget(self) -> None:
        """Count from zero, without faults."""
        with self.lock:
            self.requests.clear()
            self.faults.clear()
            self.always = None

    def next_fault(self, method: str) -> Fault | None:
        """Count a request and return its fault."""
        with self.lock:
            self.requests[method] += 1
            return self.always or (self.faults.popleft() if self.faults else None)


class _Server(ThreadingHTTPServer):
    """Listens on the loopback for one proxy."""

    daemon_threads = True

    def __init__(self, proxy: Proxy, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy
        self.behind = port


class _Handler(BaseHTTPRequestHandler):
    """Forwards one connection's requests."""

    protocol_version = "HTTP/1.1"
    server: _Server  # type: ignore[mutable-override] # the base does not know its server

    def _handle(self) -> None:
        """Forward or spoil one request."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        fault = self.server.proxy.next_fault(self.command)
        if self.server.proxy.refuses & {name.lower() for name in self.headers}:
            fault = Fault.UNKNOWN
        if fault in {None, Fault.LOST_ANSWER, Fault.BUSY_BUT_DONE}:
            answer = self._forwarded(body)
            if fault is None:
                self._reply(*answer)
        if fault in _REFUSALS:
            status, code = _REFUSALS[fault]
            text = f"<Error><Code>{code}</Code><Message>as planned</Message></Error>"
            self._reply(status, [("content-type", "application/xml")], text.encode())
        elif fault is not None:
            self.close_connection = True

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _handle  # noqa: N815 - the base's names

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return the server's answer."""
        connection = HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        dropped = {"connection", *self.server.proxy.drops}
        headers = {k: v for k, v in self.headers.items() if k.lower() not in dropped}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        found = answer.status, answer.getheaders(), answer.read()
        connection.close()
        return found

    def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Send an answer; that to HEAD keeps the length that the server gave."""
        length = str(len(body))
        if self.command == "HEAD":
            length = next((v for k, v in headers if k.lower() == "content-length"), "0")
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def proxied(server: S3Server) -> Iterator[Proxy]:
    """Run a proxy on a free port of the loopback for the time of the context."""
    proxy = Proxy(settings=server.settings)
    http = _Server(proxy, server.port)
    proxy.settings = replace(
        server.settings, endpoint=f"http://127.0.0.1:{http.server_address[1]}", max_retries=4
    )
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        http.shutdown()
        http.server_close()
