"""The head of a request: its line and headers, read strictly and within limits, on every way.

What two readers could take for two different things is refused (RFC 9112, section 11.2): a second
`Content-Length` or `Host`, a folded line, a bare line feed, a space before a colon. Bodies have a
length that is known before they come; a coding of the transfer is answered with 411, as section 6.3
allows, since none of the clients needs one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from framework.timeline_service.access import Limits, is_host
from framework.timeline_service.messages import Request, RequestRefusedError

__all__ = ["Head", "HeadReader"]

_OF_TARGET: Final = bytes(range(0x21, 0x7F)).replace(b"#", b"")
"""What a target may have; a pattern takes four times as long to look for anything else."""
_METHOD: Final = re.compile(rb"[A-Z]{1,16}")
_VERSION: Final = re.compile(rb"HTTP/[0-9]\.[0-9]")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t -~\x80-\xff]*)")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_ABSOLUTE: Final = re.compile(r"http://([^/?]*)(/.*)?", re.IGNORECASE)
_METHODS: Final = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
_VERSIONS: Final = frozenset({b"HTTP/1.0", b"HTTP/1.1"})
_ONCE: Final = frozenset(
    {b"host", b"content-length", b"transfer-encoding", b"authorization", b"expect"}
)
_OF_CONNECTION: Final = frozenset(
    {b"connection", b"expect", b"http2-settings", b"keep-alive", b"upgrade"}
)
"""They say how to talk, not what is asked; whoever answers does not see them."""
_SEEN_BYTES: Final = 1 << 10


class _Fields(NamedTuple):
    """The headers of a request; attributes as of `Head`."""

    headers: Mapping[bytes, bytes]
    length: int
    ends: bool
    expects: bool


class Head(NamedTuple):
    """What a request says before its body.

    Attributes:
        method: of HTTP.
        target: path and query as they were sent, beginning with `/`.
        headers: names in lower case; of one that was sent twice, the last.
        length: bytes of the body that follows.
        ends: whether the connection is closed after the answer, as of HTTP/1.0 or as its sender
            says.
        expects: whether the caller waits for `100 Continue` before it sends the body.
    """

    method: bytes
    target: str
    headers: Mapping[bytes, bytes]
    length: int
    ends: bool
    expects: bool

    @property
    def is_plain(self) -> bool:
        """Whether it asks for something, without a body, on a connection that stays."""
        return self.method == b"GET" and not self.length and not self.ends

    def request(self) -> Request:
        """Return the request, without its body."""
        path, _, query = self.target.partition("?")
        return Request(self.method.decode("ascii"), path, query, self.headers)

    def as_sent(self) -> bytes:
        """Return the head in its plainest form."""
        said = (each for each in self.headers.items() if each[0] not in _OF_CONNECTION)
        lines = b"".join(b"%b: %b\r\n" % each for each in said)
        end = b"connection: close\r\n" if self.ends else b""
        return b"%b %b HTTP/1.1\r\n%b%b\r\n" % (self.method, self.target.encode(), lines, end)


class HeadReader:
    """Reads heads within the limits of a server.

    Args:
        limits: of the server.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seen = lru_cache(maxsize=64)(self._fields)  # a client sends the same ones each time

    def read(self, data: bytes) -> Head:
        """Return what a head says.

        Args:
            data: all of it, without the empty line at its end.

        Raises:
            RequestRefusedError: 400 it is not as HTTP/1.1 wants it, 411 a body without a length,
                417, 421 an absolute target of another host, 431 too many or too long headers,
                501 an unknown method, 505 another version.
        """
        line, _, rest = data.partition(b"\r\n")
        words = line.split(b" ")
        if len(words) != 3 or not words[1] or words[1].translate(None, _OF_TARGET):  # noqa: PLR2004
            raise RequestRefusedError(400, "the request line is no method, target and version")
        method, target, version = words[0], words[1].decode("ascii"), words[2]
        if method not in _METHODS or version not in _VERSIONS:
            raise _unknown(method, version)
        found = self._seen(rest) if len(rest) <= _SEEN_BYTES else self._fields(rest)
        if not target.startswith("/"):
            target = _own_target(target, found.headers)
        ends = found.ends or version == b"HTTP/1.0"
        return Head(method, target, found.headers, found.length, ends, found.expects)

    def _fields(self, lines: bytes) -> _Fields:
        """Return what some lines of headers say."""
        rows = lines.split(b"\r\n") if lines else []
        if len(rows) > self._limits.headers:
            raise RequestRefusedError(431, f"a request has at most {self._limits.headers} headers")
        headers: dict[bytes, bytes] = {}
        for row in rows:
            if len(row) > self._limits.header_line_bytes:
                most = self._limits.header_line_bytes
                raise RequestRefusedError(431, f"a header has at most {most} bytes")
            name, value = _field(row)
            if name in headers and name in _ONCE:
                raise RequestRefusedError(400, f"the header {name.decode()} comes twice")
            headers[name] = value
        if not is_host(headers.get(b"host", b"")):
            raise RequestRefusedError(400, "the header Host is missing, or no host and port")
        return _Fields(
            headers=MappingProxyType(headers),
            length=_length(headers),
            ends=b"close" in _tokens(headers.get(b"connection", b"")),
            expects=_expects(headers.get(b"expect", b"")),
        )


def _unknown(method: bytes, version: bytes) -> RequestRefusedError:
    """Return why a request with another method or version is refused."""
    if _METHOD.fullmatch(method) is None or _VERSION.fullmatch(version) is None:
        return RequestRefusedError(400, "the request line is no method, target and version")
    if version not in _VERSIONS:
        return RequestRefusedError(505, "this service speaks HTTP/1.1")
    return RequestRefusedError(501, "this method is unknown here")


def _field(row: bytes) -> tuple[bytes, bytes]:
    """Return name and value of a header."""
    match = _FIELD.fullmatch(row)
    if match is None:
        raise RequestRefusedError(400, "a header is no name, colon and value in one line")
    return match[1].lower(), match[2].strip(b" \t")


def _length(headers: Mapping[bytes, bytes]) -> int:
    """Return the length of the body."""
    length = headers.get(b"content-length", b"0")
    if _LENGTH.fullmatch(length) is None:
        raise RequestRefusedError(400, "Content-Length is no number of bytes")
    if b"transfer-encoding" in headers:
        status = 400 if b"content-length" in headers else 411
        raise RequestRefusedError(status, "a body is sent with Content-Length alone")
    return int(length)


def _expects(value: bytes) -> bool:
    """Return whether `100 Continue` is waited for."""
    if value.lower() not in {b"", b"100-continue"}:
        raise RequestRefusedError(417, "nothing but 100-continue can be expected")
    return bool(value)


def _tokens(value: bytes) -> list[bytes]:
    """Return the words of a header that is a list, in lower case."""
    return [each.strip() for each in value.lower().split(b",")]


def _own_target(target: str, headers: Mapping[bytes, bytes]) -> str:
    """Return the path and query of an absolute target, which has to be of the host that is asked.

    "A server MUST accept the absolute-form in requests" (RFC 9112, section 3.2.2).
    """
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        raise RequestRefusedError(400, "the target is no path")
    if match[1].lower() != headers[b"host"].decode().lower():
        raise RequestRefusedError(421, "the target is of another host than the header Host")
    return match[2] or "/"
