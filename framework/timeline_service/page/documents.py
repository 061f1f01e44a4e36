"""The page's document, styles and scripts, and the paging parameters of its requests.

The files hold no data and are public. They are read once, when the service starts. Their policy
lets the browser run and fetch only content of this service, so the page works without a network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from framework.timeline_service.access import Access
from framework.timeline_service.messages import RequestRefusedError

__all__ = ["Part", "page_routes"]

T = TypeVar("T")

_MOST: Final = 200
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a list.

    Attributes:
        offset: number of items before it.
        limit: maximum number of its items.
    """

    offset: int
    limit: int

    @classmethod
    def of(cls, said: Mapping[str, str], usual: int) -> Self:
        """Return the part that a query requests.

        Raises:
            RequestRefusedError: 400; a number is invalid or out of bounds.
        """
        offset = _number(said, "offset", 0)
        limit = _number(said, "limit", usual)
        if not 1 <= limit <= _MOST:
            raise RequestRefusedError(400, f"limit is a number from 1 to {_MOST}")
        return cls(offset=offset, limit=limit)

    def of_list(self, items: Sequence[T]) -> Sequence[T]:
        """Return the items of this part."""
        return items[self.offset : self.offset + self.limit]

    def document(self, items: Sequence[Any], total: int) -> dict[str, Any]:
        """Return the part as JSON: its items, their offset, and the total number."""
        return {
            "items": list(items),
            "offset": self.offset,
            "limit": self.limit,
            "total": total,
        }


def _number(said: Mapping[str, str], name: str, usual: int) -> int:
    """Return a non-negative integer parameter."""
    text = said.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS:
        raise RequestRefusedError(400, f"{name} is a non-negative integer")
    return int(text)


_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def page_routes(access: Access) -> Sequence[BaseRoute]:
    """Return the routes of the page: the document at `/`, the rest below `/page/`.

    Args:
        access: its host rules apply; no token is required.
    """
    files = sorted(each for each in _FOLDER.iterdir() if each.suffix in _TYPES)
    return tuple(Route(_path(each), _served(each, access), methods=["GET"]) for each in files)


def _path(file: Path) -> str:
    """Return the URL path of a file."""
    return "/" if file.name == "page.html" else f"/page/{file.name}"


def _served(file: Path, access: Access) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that serves a file, which is read now."""
    body, kind = file.read_bytes(), _TYPES[file.suffix]

    async def answer(request: Request) -> Response:
        try:
            access.check_host(dict(request.scope["headers"]))
        except RequestRefusedError as refusal:
            return PlainTextResponse(refusal.message, refusal.status, headers=_HEADERS)
        return Response(body, media_type=kind, headers=_HEADERS)

    return answer
