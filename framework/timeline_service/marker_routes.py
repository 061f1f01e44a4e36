"""Apache Hudi's marker routes (format sheet, section 9.6), which make the service keep markers.

They are the only routes that change a table, so they are off by default. They reach only the marker
folders of registered tables. Browsers may not call them: a page of another site could send such a
`POST` to this machine, and would not need the response to do harm.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from framework.errors import StorageError
from framework.hudi.commit.markers import (
    MarkerType,
    batch_files,
    parse_marker,
    place_batch,
    read_batch,
    type_file,
)
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.locations import open_unlinked
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import LAKESTRAP, TEMP, crc_sidecar, join, name_of, temp_folder
from framework.timeline_service import messages
from framework.timeline_service.tables import Tables

Parameters = Mapping[str, str]
Handler = Callable[["KeptMarkers", Parameters], bool | list[str]]

__all__ = ["MARKER_PREFIX", "KeptMarkers", "MarkerRoutes", "is_marker_route"]

_LOG: Final = logging.getLogger(__name__)

_SMALL_BYTES: Final = 1 << 20
_SMALL_FILES: Final = 32
"""That many batches below that size are merged: few files to read, and few bytes written twice."""

MARKER_PREFIX: Final = "/v1/hoodie/marker/"
_FOLDER: Final = re.compile(rf"(.+)/{re.escape(TEMP)}/([0-9]{{1,17}})/?")
_LONGEST: Final = 4_096
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_KEPT: Final = 64
_OF_BROWSERS: Final = (b"origin", b"referer", b"sec-fetch-site")


class _Call:
    """A call that creates one marker.

    Attributes:
        name: the marker's name.
        leads: whether this call writes its batch; if not, another call of the batch does.
        noted: whether the marker is new; set once it is durable.
    """

    __slots__ = ("leads", "name", "noted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.leads: Future[bool] = Future()
        self.noted: Future[bool] = Future()


class KeptMarkers:
    """The markers of one instant of a table. Thread-safe.

    Names are as Apache Hudi's writers send them, such as `p=1/f_1-0-1_2.parquet.marker.CREATE`.
    Memory is only a cache: if the folder on disk is not the one that was read, it is read again.

    Attributes:
        instant: requested time, as the folder of its markers is named.
    """

    def __init__(self, storage: Storage, instant: str) -> None:
        self._storage = storage
        self.instant = instant
        self._scratch = join(LAKESTRAP, "markers", instant)
        self._waiting: list[_Call] = []
        self._is_led = False
        self._queueing = Lock()
        self._writing = Lock()
        self._known: set[str] = set()
        self._known_of: Entry | None = None
        self._batches = count(1)

    def create(self, name: str) -> bool:
        """Record that a file is about to be written; durable on return.

        Returns:
            False if the marker already existed.

        Raises:
            StorageError: the marker could not be written.
        """
        call = _Call(name)
        with self._queueing:
            self._waiting.append(call)
            if not self._is_led:
                self._is_led = True
                call.leads.set_result(True)
        if call.leads.result():
            self._write_waiting()
        return call.noted.result()

    def names(self) -> list[str]:
        """Return all markers on disk, sorted and unique; reads every batch."""
        with self._writing:
            return sorted(self._read())

    def is_there(self) -> bool:
        """Return whether the folder exists."""
        return self._storage.stat(temp_folder(self.instant)) is not None

    def delete(self) -> bool:
        """Delete the folder with all markers; return whether there was one."""
        with self._writing:
            was_there = self.is_there()
            self._storage.delete(temp_folder(self.instant), self._scratch)
            self._known, self._known_of = set(), None
            return was_there

    def _write_waiting(self) -> None:
        """Write a batch of all waiting calls, then let the first later call do the same."""
        with self._queueing:
            batch, self._waiting = self._waiting, []
        try:
            with self._writing:
                self._note(batch)
        finally:
            for call in batch:
                if not call.leads.done():
                    call.leads.set_result(False)
            with self._queueing:
                self._is_led = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].leads.set_result(True)

    def _note(self, batch: list[_Call]) -> None:
        """Write the new markers of a batch, and resolve each call."""
        try:
            self._follow()
            new = dict.fromkeys(call.name for call in batch if call.name not in self._known)
            if new:
                self._place(list(new))
                self._learn(new)
        except BaseException as error:  # noqa: BLE001  each call raises it, the leading one too
            for call in batch:
                call.noted.set_exception(error)
            return
        for call in batch:
            call.noted.set_result(call.name in new)
            new.pop(call.name, None)

    def _follow(self) -> None:
        """Read the folder again if it is not the known one."""
        found = type_file(self._storage, self.instant)
        if found is None or found != self._known_of:
            self._known = self._read()
            self._known_of = found

    def _learn(self, names: Iterable[str]) -> None:
        """Cache written markers; drop the cache if the folder was replaced meanwhile."""
        found = type_file(self._storage, self.instant)
        if found != self._known_of:
            self._known, self._known_of = set(), found
        self._known.update(names)

    def _read(self) -> set[str]:
        """Return the markers on disk."""
        batches = batch_files(self._storage, self.instant).values()
        return {line for each in batches for line in read_batch(self._storage, each.path)}

    def _place(self, names: list[str]) -> None:
        """Write a batch; merge small batches now and then."""
        self._add(names)
        if next(self._batches) % _SMALL_FILES:
            return
        try:
            self._merge()
        except StorageError as error:  # all markers still exist, in more files
            _LOG.warning("marker batches were not merged: %s", error)

    def _merge(self) -> None:
        """Merge the small batches into one, then delete them."""
        batches = batch_files(self._storage, self.instant).values()
        small = [each.path for each in batches if each.size < _SMALL_BYTES]
        self._add([line for path in small for line in read_batch(self._storage, path)])
        self._storage.delete(*small, *map(crc_sidecar, small))

    def _add(self, names: list[str]) -> None:
        place_batch(
            self._storage,
            self.instant,
            names,
            new_temporary=lambda: join(self._scratch, uuid4().hex),
        )


class MarkerRoutes:
    """Handler of requests below `MARKER_PREFIX`.

    Args:
        tables: the tables whose markers may be kept.
        kept: whether markers are kept; if not, every call is refused with a remedy.
    """

    def __init__(self, tables: Tables, *, kept: bool) -> None:
        self._tables = tables
        self._is_on = kept
        self._kept: OrderedDict[tuple[str, str], KeptMarkers] = OrderedDict()
        self._lock = Lock()

    def answer(self, request: messages.Request) -> messages.Answer:
        """Answer one request; it may take as long as writing and syncing a file.

        Raises:
            RequestRefusedError: 400 a parameter is missing or invalid, 403 markers are not
                kept or a browser calls, 404 no such route or table, 405 another method.
            StorageError: markers cannot be read or written.
        """
        found = _ROUTES.get(_route(request.path))
        if found is None:
            raise messages.RequestRefusedError(404, "there is no such route")
        method, handler = found
        if request.method != method:
            raise messages.RequestRefusedError(405, f"this route requires {method}")
        if any(name in request.headers for name in _OF_BROWSERS):
            raise messages.RequestRefusedError(403, "browsers may not use markers")
        if not self._is_on:
            raise messages.RequestRefusedError(
                403, "this service does not keep markers; start it with --markers"
            )
        said = messages.parameters(request.query)
        return messages.Answer.of(handler(self._markers(said), said))

    def _markers(self, said: Parameters) -> KeptMarkers:
        """Return the markers of a call's folder."""
        match = _FOLDER.fullmatch(said.get("markerdirpath", ""))
        if match is None:
            raise messages.RequestRefusedError(
                400, "markerdirpath is not <table>/.hoodie/.temp/<instant>"
            )
        table = self._tables.by_path(match[1])
        if said.get("basepath") and self._tables.by_path(said["basepath"]) is not table:
            raise messages.RequestRefusedError(400, "basepath and markerdirpath differ in table")
        key = table.location, match[2]
        with self._lock:
            found = self._kept.pop(key, None) or KeptMarkers(open_unlinked(key[0]), key[1])
            self._kept[key] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def is_marker_route(path: str) -> bool:
    """Return whether a path is a marker route, even if markers are not kept."""
    return path.startswith(MARKER_PREFIX) and _route(path) in _ROUTES


def _route(path: str) -> str:
    """Return the route's name in `_ROUTES`."""
    return path.removeprefix(MARKER_PREFIX).rstrip("/")


def _create(markers: KeptMarkers, said: Parameters) -> bool:
    """Create a marker; the name of a file in the table's root may start with `/`."""
    name = said.get("markername", "").removeprefix("/")
    marker = None if len(name) > _LONGEST or _CONTROL.search(name) else parse_marker(name)
    if marker is None or not _is_of(markers.instant, name_of(marker[0])):
        raise messages.RequestRefusedError(
            400, "markername is not <partition>/<base or log file of the instant>.marker.<TYPE>"
        )
    return markers.create(messages.inside_table(name))


def _is_of(instant: str, file: str) -> bool:
    """Return whether a writer at an instant could create a file of this name.

    A rollback deletes base files named by markers, so one of another instant is never this
    writer's. The instant in a log file's name is that of its slice.
    """
    base = BaseFileName.parse(file)
    return LogFileName.parse(file) is not None if base is None else base.instant == instant


def _names(*, appends: bool | None = None) -> Handler:
    """Return a handler that lists markers: of log files, of base files, or (None) of both."""

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
