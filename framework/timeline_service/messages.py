"""A request and its response, independent of the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, TypeVar
from urllib.parse import unquote_plus

import msgspec

__all__ = [
    "CLOSE",
    "JSON",
    "Answer",
    "Request",
    "RequestRefusedError",
    "decoded",
    "inside_table",
    "parameters",
]

T = TypeVar("T")

JSON: Final = (b"content-type", b"application/json")
CLOSE: Final = (b"connection", b"close")

_SEEN_LENGTH: Final = 256
_LONGEST_PATH: Final = 4_096
_LONGEST_SEGMENT: Final = 255
"""Linux's limit in bytes: a longer name cannot be a folder, and looking it up would fail."""
_ENDS_CONNECTION: Final = frozenset({401, 408, 411, 413, 417, 421, 431, 501, 503, 505})
"""Statuses after which the connection ends; further requests on it are not read."""

_NO_HEADERS: Final[Mapping[bytes, bytes]] = MappingProxyType({})

Headers = tuple[tuple[bytes, bytes], ...]


class Request(NamedTuple):
    """One call.

    Attributes:
        method: `GET`, `POST`, and so on.
        path: without the query, as sent.
        query: the part after `?`, as sent.
        headers: names in lower case; the last one of a repeated name.
        body: the whole body.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[bytes, bytes] = _NO_HEADERS
    body: bytes = b""


class Answer(NamedTuple):
    """A response; `headers` excludes the length."""

    status: int = 200
    body: bytes = b""
    headers: Headers = (JSON,)

    @classmethod
    def of(cls, value: Any, *, status: int = 200, headers: Headers = ()) -> Self:
        """Return a response in JSON."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return cls(status=status, body=text.encode(), headers=(JSON, *headers))


class RequestRefusedError(Exception):
    """A refused call, with its response.

    Attributes:
        status: HTTP status.
        message: one sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def answer(self, *, ends: bool = False) -> Answer:
        """Return the response.

        Args:
            ends: whether the connection ends with it, regardless of the status.
        """
        headers: Headers = (CLOSE,) if ends or self.status in _ENDS_CONNECTION else ()
        return Answer.of({"error": self.message}, status=self.status, headers=headers)


def inside_table(path: str) -> str:
    """Return a partition path after checking it.

    Raises:
        RequestRefusedError: 400; it leaves the table, or is too long for a file system.
    """
    if path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/")):
        raise RequestRefusedError(400, "a partition path leaves the table")
    if len(path) * 4 > _LONGEST_SEGMENT and not _is_short(path.encode()):
        raise RequestRefusedError(400, "a partition path is too long")
    return path


def _is_short(path: bytes) -> bool:
    """Return whether a path is short enough for a file system."""
    return len(path) <= _LONGEST_PATH and max(map(len, path.split(b"/"))) <= _LONGEST_SEGMENT


def decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a JSON body to the decoder's type.

    Raises:
        RequestRefusedError: 400; it is not JSON, of another form, or nested too deeply.
    """
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestRefusedError(400, f"the body is invalid: {error}") from error


def parameters(query: str) -> dict[str, str]:
    """Return the parameters of a query; the last one of a repeated name."""
    found = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        found[name] = _plain(value) if "%" in value or "+" in value else value
    return found


def _plain(value: str) -> str:
    """Return an unquoted value."""
    return _seen(value) if len(value) <= _SEEN_LENGTH else unquote_plus(value)


_seen = lru_cache(maxsize=8192)(unquote_plus)
"""Cached, since base paths and partitions repeat."""
