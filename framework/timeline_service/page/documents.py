"""The page itself: a document, its styles and its scripts, which hold no data and are open to all.

They are read once, when the service begins. Their policy lets the browser run and fetch what comes
from this service, and nothing else; so the page works without a network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from framework.timeline_service.access import Access
from framework.timeline_service.messages import RequestRefusedError

__all__ = ["page_routes"]

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
        access: whose hosts are answered; the token is not asked for.
    """
    files = sorted(each for each in _FOLDER.iterdir() if each.suffix in _TYPES)
    return tuple(Route(_path(each), _served(each, access), methods=["GET"]) for each in files)


def _path(file: Path) -> str:
    """Return where a file is served."""
    return "/" if file.name == "page.html" else f"/page/{file.name}"


def _served(file: Path, access: Access) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers with a file, read now."""
    body, kind = file.read_bytes(), _TYPES[file.suffix]

    async def answer(request: Request) -> Response:
        try:
            access.check_host(dict(request.scope["headers"]))
        except RequestRefusedError as refusal:
            return PlainTextResponse(refusal.message, refusal.status, headers=_HEADERS)
        return Response(body, media_type=kind, headers=_HEADERS)

    return answer
