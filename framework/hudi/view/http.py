"""HTTP calls over one kept connection, each with a deadline.

`http.client` bounds each read, so a server that sends a byte a second would block its caller for
hours; here every read gets the remaining time of the call.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["CallFailedError", "Reply", "ServiceConnection"]

_PIECE: Final = 1 << 20


class CallFailedError(Exception):
    """A call got no complete response in time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's response; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ServiceConnection:
    """A connection to one server, opened on demand and kept while it works.

    Not to be shared between threads.

    Args:
        host: name or address.
        port: TCP port.
        most_bytes: limit of a response body; a larger one is an error.
    """

    def __init__(self, host: str, port: int, *, most_bytes: int = 1 << 30) -> None:
        self._host = host
        self._port = port
        self._most = most_bytes
        self._connection: HTTPConnection | None = None

    def post(self, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """Return the response to a `POST`, of any status.

        Raises:
            CallFailedError: no response within `seconds`, or it is truncated, too long or not HTTP.
        """
        end = time.monotonic() + seconds
        try:
            connection = self._open(end)
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, said, self._read(answer))
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise CallFailedError(f"{type(error).__name__}: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, end: float) -> HTTPConnection:
        """Return the connection, with this call's deadline set."""
        found = self._connection
        if found is None or found.sock is None:  # the server may have closed the last one
            left = max(end - time.monotonic(), 0.001)
            plain = socket.create_connection((self._host, self._port), timeout=left)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = HTTPConnection(self._host, self._port)
            found.sock = _BoundedSocket(plain)
            self._connection = found
        bounded: Any = found.sock
        bounded.end = end
        return found

    def _read(self, answer: Any) -> bytes:
        """Return a response's body; raise if it is too long."""
        parts = []
        size = 0
        while part := answer.read(_PIECE):
            parts.append(part)
            size += len(part)
            if size > self._most:
                raise ValueError(f"the response has more than {self._most} bytes")
        return b"".join(parts)


class _BoundedSocket:
    """A socket whose sends and reads share one deadline.

    Attributes:
        end: deadline on the monotonic clock.
    """

    def __init__(self, plain: socket.socket) -> None:
        self._plain = plain
        self.end = 0.0

    def sendall(self, data: Buffer) -> None:
        """Send all of `data`."""
        self._bound()
        self._plain.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the reader for responses."""
        return io.BufferedReader(_BoundedReader(self))

    def recv_into(self, buffer: Buffer) -> int:
        """Receive some bytes."""
        self._bound()
        return self._plain.recv_into(buffer)

    def close(self) -> None:
        """Close the connection."""
        self._plain.close()

    def _bound(self) -> None:
        """Set the timeout of the next operation to the remaining time."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the call timed out")
        self._plain.settimeout(left)


class _BoundedReader(io.RawIOBase):
    """The reading end of a bounded socket; closing it leaves the connection open."""

    def __init__(self, bounded: _BoundedSocket) -> None:
        self._bounded = bounded

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Receive some bytes."""
        return self._bounded.recv_into(buffer)
