"""The head of a request: its line and headers, parsed strictly and within limits.

Input that two parsers could read differently is refused (RFC 9112, section 11.2): a second
`Content-Length` or `Host`, a folded line, a bare line feed, a space before a colon. Bodies need a
declared length; a transfer coding gets a 411, as section 6.3 allows, since no client needs one.
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
"""The characters of a target; a pattern takes four times as long to find others."""
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
"""Headers about the connection, which are not passed to the handler."""
_SEEN_BYTES: Final = 1 << 10


class _Fields(NamedTuple):
    """The headers of a request; attributes as in `Head`."""

    headers: Mapping[bytes, bytes]
    length: int
    ends: bool
    expects: bool


class Head(NamedTuple):
    """The part of a request before its body.

    Attributes:
        method: HTTP method.
        target: path and query as sent, starting with `/`.
        headers: names in lower case; the last one of a repeated name.
        length: bytes of the body that follows.
        ends: whether the connection closes after the response, by HTTP/1.0 or by the sender's
            header.
        expects: whether the caller waits for `100 Continue` before sending the body.
    """

    method: bytes
    target: str
    headers: Mapping[bytes, bytes]
    length: int
    ends: bool
    expects: bool

    @property
    def is_plain(self) -> bool:
        """Whether it is a `GET` without a body on a persistent connection."""
        return self.method == b"GET" and not self.length and not self.ends

    def request(self) -> Request:
        """Return the request, without its body."""
        path, _, query = self.target.partition("?")
        return Request(self.method.decode("ascii"), path, query, self.headers)

    def as_sent(self) -> bytes:
        """Return the head in normalized form."""
        said = (each for each in self.headers.items() if each[0] not in _OF_CONNECTION)
        lines = b"".join(b"%b: %b\r\n" % each for each in said)
        end = b"connection: close\r\n" if self.ends else b""
        return b"%b %b HTTP/1.1\r\n%b%b\r\n" % (self.method, self.target.encode(), lines, end)


class HeadReader:
    """Parser of heads within the limits of a server.

    Args:
        limits: the server's limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seen = lru_cache(maxsize=64)(self._fields)  # a client repeats its headers

    def read(self, data: bytes) -> Head:
        """Parse a head.

        Args:
            data: the whole head, without the empty line at its end.

        Raises:
            RequestRefusedError: 400 invalid HTTP/1.1, 411 a body without a length,
                417, 421 an absolute target of another host, 431 too many or too long headers,
                501 an unknown method, 505 another version.
        """
        line, _, rest = data.partition(b"\r\n")
        words = line.split(b" ")
        if len(words) != 3 or not words[1] or words[1].translate(None, _OF_TARGET):  # noqa: PLR2004
            raise RequestRefusedError(400, "the request line is not a method, target and version")
        method, target, version = words[0], words[1].decode("ascii"), words[2]
        if method not in _METHODS or version not in _VERSIONS:
            raise _unknown(method, version)
        found = self._seen(rest) if len(rest) <= _SEEN_BYTES else self._fields(rest)
        if not target.startswith("/"):
            target = _own_target(target, found.headers)
        ends = found.ends or version == b"HTTP/1.0"
        return Head(method, target, found.headers, found.length, ends, found.expects)

    def _fields(self, lines: bytes) -> _Fields:
        """Parse header lines."""
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
                raise RequestRefusedError(400, f"the header {name.decode()} is repeated")
            headers[name] = value
        if not is_host(headers.get(b"host", b"")):
            raise RequestRefusedError(400, "the header Host is missing or not a host and port")
        return _Fields(
            headers=MappingProxyType(headers),
            length=_length(headers),
            ends=b"close" in _tokens(headers.get(b"connection", b"")),
            expects=_expects(headers.get(b"expect", b"")),
        )


def _unknown(method: bytes, version: bytes) -> RequestRefusedError:
    """Return the refusal of an unsupported method or version."""
    if _METHOD.fullmatch(method) is None or _VERSION.fullmatch(version) is None:
        return RequestRefusedError(400, "the request line is not a method, target and version")
    if version not in _VERSIONS:
        return RequestRefusedError(505, "this service supports only HTTP/1.1")
    return RequestRefusedError(501, "this method is not supported")


def _field(row: bytes) -> tuple[bytes, bytes]:
    match = _FIELD.fullmatch(row)
    if match is None:
        raise RequestRefusedError(400, "a header is not a name, colon and value in one line")
    return match[1].lower(), match[2].strip(b" \t")


def _length(headers: Mapping[bytes, bytes]) -> int:
    length = headers.get(b"content-length", b"0")
    if _LENGTH.fullmatch(length) is None:
        raise RequestRefusedError(400, "Content-Length is not a number of bytes")
    if b"transfer-encoding" in headers:
        status = 400 if b"content-length" in headers else 411
        raise RequestRefusedError(status, "a body needs Content-Length and no Transfer-Encoding")
    return int(length)


def _expects(value: bytes) -> bool:
    """Return whether the caller waits for `100 Continue`."""
    if value.lower() not in {b"", b"100-continue"}:
        raise RequestRefusedError(417, "only 100-continue can be expected")
    return bool(value)


def _tokens(value: bytes) -> list[bytes]:
    """Return the items of a list header, in lower case."""
    return [each.strip() for each in value.lower().split(b",")]


def _own_target(target: str, headers: Mapping[bytes, bytes]) -> str:
    """Return the path and query of an absolute target, whose host must match `Host`.

    "A server MUST accept the absolute-form in requests" (RFC 9112, section 3.2.2).
    """
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        raise RequestRefusedError(400, "the target is not a path")
    if match[1].lower() != headers[b"host"].decode().lower():
        raise RequestRefusedError(421, "the target's host differs from the header Host")
    return match[2] or "/"
