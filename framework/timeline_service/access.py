"""Access control: loopback or a token, and never a page of another site.

The token is this process's own and is sent only in a header, so that it never appears in logs of
URLs. The `Host` check protects against a browser that was given another name for this machine.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from framework.timeline_service.messages import RequestRefusedError
from framework.vocabulary import ServiceAuth

__all__ = ["Access", "Limits", "is_host", "is_loopback"]

_BEARER: Final = b"Bearer "
_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
"""Name or address, and port (RFC 9110, section 7.2); nothing else."""
_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resource limits of a caller.

    Attributes:
        header_bytes: of a request's line and headers together.
        header_line_bytes: of one header.
        headers: of a request.
        body_bytes: of a request's body.
        header_seconds: until a request's headers are complete, from its connection or the previous
            response.
        body_seconds: until its body is complete.
        send_seconds: in each such period, a caller must read some of its response.
        connections: at a time; a further one closes the connection that has waited longest before
            its first request, or is closed itself if all have sent a request.
        queued_bytes: of requests that a caller sends before its response; beyond it, reading
            pauses, except for the rest of one system read, at most 256 KiB.
        received_bytes: of unanswered requests of all connections together; a connection that
            exceeds it is closed.
        unsent_bytes: of unread responses of all connections together; beyond it, the connection
            that has read nothing for longest is closed.
    """

    header_bytes: int = 64 << 10
    header_line_bytes: int = 8 << 10
    headers: int = 64
    body_bytes: int = 16 << 20
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    send_seconds: float = 30.0
    connections: int = 512
    queued_bytes: int = 64 << 10
    received_bytes: int = 32 << 20
    unsent_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The rules of one service.

    Attributes:
        auth: the credentials a caller needs.
        token: this process's own.
        hosts: further names allowed in a `Host` header besides loopback ones, without ports.
    """

    auth: ServiceAuth = ServiceAuth.TOKEN
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    hosts: frozenset[str] = frozenset()

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Check a call.

        Raises:
            RequestRefusedError: 401 without the token, 421 for another host.
        """
        self.check_host(headers)
        if self.auth is ServiceAuth.LOOPBACK:
            return
        shown = headers.get(b"authorization", b"")
        expected = _BEARER + self.token.encode()
        if not secrets.compare_digest(shown, expected):
            raise RequestRefusedError(401, "the header Authorization: Bearer <token> is required")

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Check that a call's `Host` is this machine.

        Raises:
            RequestRefusedError: 421.
        """
        if not _is_named(headers.get(b"host", b""), self.hosts):
            raise RequestRefusedError(421, "this service does not serve that host name")


@lru_cache(maxsize=64)
def _is_named(host: bytes, hosts: frozenset[str]) -> bool:
    """Return whether a `Host` header, with or without a port, names this machine."""
    match = _HOST.fullmatch(host)
    if match is None or not is_host(host):
        return False
    name = match[1].decode().lower()
    return is_loopback(name) or name.strip("[]") in {each.lower().strip("[]") for each in hosts}


def is_host(host: bytes) -> bool:
    """Return whether a `Host` header is a name or an address, with or without a port."""
    match = _HOST.fullmatch(host)
    return match is not None and int(match[2] or b"0") <= _LAST_PORT


def is_loopback(host: str) -> bool:
    """Return whether a host name or address (IPv6 with or without `[]`) is this machine."""
    if host == "localhost":
        return True
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return False
