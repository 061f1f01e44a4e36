"""Apache Hudi's routes for markers (format sheet, section 9.6), where the service keeps them.

They are the only ones that change a table, so they are off unless asked for; they reach no other
folders than those of markers, of registered tables; and no browser may call them: a page of another
site could send such a `POST` to this machine, and needs no answer to do harm.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from framework.hudi.commit.markers import MarkerType, parse_marker
from framework.hudi.filegroup.names import BaseFileName, LogFileName
from framework.hudi.storage.locations import open_unlinked
from framework.hudi.table.layout import TEMP, name_of
from framework.timeline_service.kept_markers import KeptMarkers
from framework.timeline_service.messages import (
    Answer,
    RequestRefusedError,
    inside_table,
    parameters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.timeline_service.messages import Request
    from framework.timeline_service.tables import Tables

    Parameters = Mapping[str, str]
    Handler = Callable[[KeptMarkers, Parameters], bool | list[str]]

__all__ = ["MARKER_PREFIX", "MarkerRoutes", "is_marker_route"]

MARKER_PREFIX: Final = "/v1/hoodie/marker/"
_FOLDER: Final = re.compile(rf"(.+)/{re.escape(TEMP)}/([0-9]{{1,17}})/?")
_LONGEST: Final = 4_096
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_KEPT: Final = 64
_OF_BROWSERS: Final = (b"origin", b"referer", b"sec-fetch-site")


class MarkerRoutes:
    """Answers requests below `MARKER_PREFIX`.

    Args:
        tables: whose markers may be kept.
        kept: whether they are; otherwise every call is refused, with what to do.
    """

    def __init__(self, tables: Tables, *, kept: bool) -> None:
        self._tables = tables
        self._is_on = kept
        self._kept: OrderedDict[tuple[str, str], KeptMarkers] = OrderedDict()
        self._lock = Lock()

    def answer(self, request: Request) -> Answer:
        """Answer one request; it may take as long as a file and its syncs.

        Raises:
            RequestRefusedError: 400 a parameter is missing or leads elsewhere, 403 markers are not
                kept or a browser asks, 404 no such route or table, 405 another method.
            StorageError: markers cannot be read or written.
        """
        found = _ROUTES.get(_route(request.path))
        if found is None:
            raise RequestRefusedError(404, "there is no such route")
        method, handler = found
        if request.method != method:
            raise RequestRefusedError(405, f"this route is called by {method}")
        if any(name in request.headers for name in _OF_BROWSERS):
            raise RequestRefusedError(403, "markers are not for browsers")
        if not self._is_on:
            raise RequestRefusedError(
                403, "markers are not kept here; start the service with --markers"
            )
        said = parameters(request.query)
        return Answer.of(handler(self._markers(said), said))

    def _markers(self, said: Parameters) -> KeptMarkers:
        """Return the markers of the folder that a call names."""
        match = _FOLDER.fullmatch(said.get("markerdirpath", ""))
        if match is None:
            raise RequestRefusedError(400, "markerdirpath is no <table>/.hoodie/.temp/<instant>")
        table = self._tables.by_path(match[1])
        if said.get("basepath") and self._tables.by_path(said["basepath"]) is not table:
            raise RequestRefusedError(400, "basepath and markerdirpath are of two tables")
        key = table.location, match[2]
        with self._lock:
            found = self._kept.pop(key, None) or KeptMarkers(open_unlinked(key[0]), key[1])
            self._kept[key] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def is_marker_route(path: str) -> bool:
    """Return whether a path is one of these routes, whether or not markers are kept."""
    return path.startswith(MARKER_PREFIX) and _route(path) in _ROUTES


def _route(path: str) -> str:
    """Return the route's name in the table below."""
    return path.removeprefix(MARKER_PREFIX).rstrip("/")


def _create(markers: KeptMarkers, said: Parameters) -> bool:
    """Note that a file is about to be made; a file of the table itself may have a `/` before it."""
    name = said.get("markername", "").removeprefix("/")
    marker = None if len(name) > _LONGEST or _CONTROL.search(name) else parse_marker(name)
    if marker is None or not _is_of(markers.instant, name_of(marker[0])):
        raise RequestRefusedError(
            400, "markername is no <partition>/<base or log file of the instant>.marker.<TYPE>"
        )
    return markers.create(inside_table(name))


def _is_of(instant: str, file: str) -> bool:
    """Return whether a writer at an instant could make a file of this name.

    A rollback deletes base files that markers name: one of another instant is never this writer's.
    The instant in a log file's name is that of its slice.
    """
    base = BaseFileName.parse(file)
    return LogFileName.parse(file) is not None if base is None else base.instant == instant


def _names(*, appends: bool | None = None) -> Handler:
    """A route that lists markers: of log files, of base files, or (None) of both."""

    def handler(markers: KeptMarkers, _: Parameters) -> list[str]:
        found = markers.names()
        return [
            each
            for each in found
            if appends in (None, each.endswith(f".marker.{MarkerType.APPEND}"))
        ]

    return handler


_ROUTES: Final[Mapping[str, tuple[str, Handler]]] = MappingProxyType(
    {
        "all": ("GET", _names()),
        "create-and-merge": ("GET", _names(appends=False)),
        "append": ("GET", _names(appends=True)),
        "dir/exists": ("GET", lambda markers, _: markers.is_there()),
        "create": ("POST", _create),
        "dir/delete": ("POST", lambda markers, _: markers.delete()),
    }
)
