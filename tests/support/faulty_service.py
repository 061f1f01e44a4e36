"""Servers that fail in every way that a client must survive, and views that send tasks to them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from framework.engine.reading.table import Table
from framework.engine.reading.views import Views
from framework.hudi.view.port import FileSystemView
from framework.hudi.view.remote import ServiceAddress

__all__ = ["FAULTS", "FaultyServer", "Misled", "faulty_server"]

_CHUNK: Final = 1 << 16


@dataclass
class FaultyServer:
    """Listens, and deals with each connection as its fault says.

    Attributes:
        calls: connections that came; a test has to see that there were some.
        port: of TCP on loopback.
    """

    behave: Callable[[socket.socket, FaultyServer], None]
    calls: int = 0
    port: int = 0
    honest: ServiceAddress | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def serve(self, listening: socket.socket) -> None:
        """Deal with connections until the socket is closed."""
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            self.calls += 1
            self._open.append(caller)
            threading.Thread(target=self._deal, args=(caller,), daemon=True).start()

    def _deal(self, caller: socket.socket) -> None:
        with suppress(OSError):
            self.behave(caller, self)

    def close(self) -> None:
        """End all connections."""
        for each in self._open:
            each.close()


@contextmanager
def faulty_server(fault: str) -> Iterator[FaultyServer]:
    """Run a server with one of `FAULTS`."""
    server = FaultyServer(behave=FAULTS[fault])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.port = listening.getsockname()[1]
        threading.Thread(target=server.serve, args=(listening,), daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            server.close()


class Misled:
    """The driver's views are right; tasks are sent to another port."""

    def __init__(self, views: Views, server: FaultyServer) -> None:
        self._views = views
        self._server = server

    def opened(self, table: Table) -> AbstractContextManager[FileSystemView]:
        """Give the view of the honest service."""
        return self._views.opened(table)

    def address(self, table: Table) -> ServiceAddress | None:
        """Return the faulty server's address, with little patience."""
        honest = self._views.address(table)
        assert honest is not None
        self._server.honest = honest
        return replace(honest, port=self._server.port, seconds=0.3, attempts=2)


def _read_request(caller: socket.socket) -> bytes:
    """Read one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = caller.recv(_CHUNK)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-l")),
        0,
    )
    while len(body) < length:
        body += caller.recv(_CHUNK)
    return head + b"\r\n\r\n" + body


def _answered(status: bytes, body: bytes, headers: bytes = b"") -> bytes:
    length = b"content-length: %d\r\n" % len(body)
    return b"HTTP/1.1 " + status + b"\r\n" + headers + length + b"\r\n" + body


def _hang(caller: socket.socket, _: FaultyServer) -> None:
    _read_request(caller)
    time.sleep(30)


def _close(caller: socket.socket, _: FaultyServer) -> None:
    _read_request(caller)
    caller.close()


def _fail(caller: socket.socket, _: FaultyServer) -> None:
    while _read_request(caller):
        caller.sendall(_answered(b"500 Internal Server Error", b'{"error":"no"}'))


def _garbage(caller: socket.socket, _: FaultyServer) -> None:
    _read_request(caller)
    caller.sendall(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
    caller.close()


def _drip(caller: socket.socket, _: FaultyServer) -> None:
    _read_request(caller)
    for byte in _answered(b"200 OK", b"[[]]"):
        caller.sendall(bytes([byte]))
        time.sleep(0.05)


def _cut(caller: socket.socket, _: FaultyServer) -> None:
    _read_request(caller)
    caller.sendall(_answered(b"200 OK", b"[[]]")[:-2])
    caller.close()


def _forwarded(
    caller: socket.socket, server: FaultyServer, change: Callable[[bytes], bytes]
) -> None:
    """Answer what the honest service answers, changed."""
    honest = server.honest
    assert honest is not None
    with socket.create_connection((honest.host, honest.port)) as there:
        while request := _read_request(caller):
            there.sendall(request)
            caller.sendall(change(_read_request(there)))


def _replacing(name: bytes, value: bytes) -> Callable[[socket.socket, FaultyServer], None]:
    """A service that is honest but for one header."""

    def change(answer: bytes) -> bytes:
        head, end, body = answer.partition(b"\r\n\r\n")
        lines = [
            name + b": " + value if line.lower().startswith(name) else line
            for line in head.split(b"\r\n")
        ]
        return b"\r\n".join(lines) + end + body

    return lambda caller, server: _forwarded(caller, server, change)


def _no_json(caller: socket.socket, server: FaultyServer) -> None:
    def change(answer: bytes) -> bytes:
        head, end, body = answer.partition(b"\r\n\r\n")
        return head + end + b"x" * len(body)

    _forwarded(caller, server, change)


def _broken_records(caller: socket.socket, server: FaultyServer) -> None:
    def change(answer: bytes) -> bytes:
        head, end, body = answer.partition(b"\r\n\r\n")
        return head + end + body.replace(b".parquet", b".porquet")

    _forwarded(caller, server, change)


def _saying(
    other: Callable[[list[Any]], list[Any]],
) -> Callable[[socket.socket, FaultyServer], None]:
    """Return what answers with another list, in as many bytes."""

    def change(answer: bytes) -> bytes:
        head, end, body = answer.partition(b"\r\n\r\n")
        return head + end + json.dumps(other(json.loads(body))).encode().ljust(len(body))

    return lambda caller, server: _forwarded(caller, server, change)


FAULTS: Final[dict[str, Callable[[socket.socket, FaultyServer], None]]] = {
    "hangs": _hang,
    "closes": _close,
    "answers 500": _fail,
    "sends garbage": _garbage,
    "sends a byte at a time": _drip,
    "cuts its answer off": _cut,
    "is behind": _replacing(b"x-lakestrap-timeline", b"0" * 64),
    "serves another table": _replacing(b"x-lakestrap-table", b"0" * 16),
    "is another driver on the same port": _replacing(b"x-lakestrap-driver", b"0" * 16),
    "sends no JSON": _no_json,
    "sends broken records": _broken_records,
    "sends numbers for records": _saying(lambda records: [1] * len(records)),
    "answers for fewer groups": _saying(lambda records: records[1:]),
    "says that groups are not there": _saying(lambda records: [None] * len(records)),
}
"""A server's misbehaviour, by a name that completes "the service …"."""
