"""The markers of one instant that writers send one by one, written down in batches.

Calls that come while a batch is being written share the next one, so a file and its two syncs serve
as many writers as wait. A call returns when its marker is durable: only then may its data file be
made (format sheet, section 10.1).
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from framework.errors import StorageError
from framework.hudi.commit.marker_folder import batch_files, place_batch, read_batch, type_file
from framework.hudi.table.layout import LAKESTRAP, crc_sidecar, join, temp_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.hudi.storage.port import Entry, Storage

__all__ = ["KeptMarkers"]

_LOG: Final = logging.getLogger(__name__)

_SMALL_BYTES: Final = 1 << 20
_SMALL_FILES: Final = 32
"""So many batches below that size become one: few files to read, and little written twice."""


class _Call:
    """One marker on its way.

    Attributes:
        name: of the marker.
        leads: whether this call writes the batch that it is in; another one of it otherwise.
        noted: whether the marker is new; it is durable then.
    """

    __slots__ = ("leads", "name", "noted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.leads: Future[bool] = Future()
        self.noted: Future[bool] = Future()


class KeptMarkers:
    """The markers of one instant of a table; may be used by several threads.

    Names are as Apache Hudi's writers send them, such as `p=1/f_1-0-1_2.parquet.marker.CREATE`.
    What is in memory only saves looking: when the folder on disk is another than the one that was
    read, it is read again.

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
        """Note that a file is about to be made; durable on return.

        Returns:
            False where the marker was there before.

        Raises:
            StorageError: it is not written down.
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
        """Return all markers on disk, sorted, each once; reads every batch."""
        with self._writing:
            return sorted(self._read())

    def is_there(self) -> bool:
        """Return whether the folder is there."""
        return self._storage.stat(temp_folder(self.instant)) is not None

    def delete(self) -> bool:
        """Delete the folder with all markers; return whether there was one."""
        with self._writing:
            was_there = self.is_there()
            self._storage.delete(temp_folder(self.instant), self._scratch)
            self._known, self._known_of = set(), None
            return was_there

    def _write_waiting(self) -> None:
        """Write a batch of all calls that wait, then let the first that came since do the same."""
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
        """Write down what is new in a batch, and tell each call of it."""
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
        """Read the folder again where it is not the one that is known."""
        found = type_file(self._storage, self.instant)
        if found is None or found != self._known_of:
            self._known = self._read()
            self._known_of = found

    def _learn(self, names: Iterable[str]) -> None:
        """Know markers that were written; those of a folder that went meanwhile no longer."""
        found = type_file(self._storage, self.instant)
        if found != self._known_of:
            self._known, self._known_of = set(), found
        self._known.update(names)

    def _read(self) -> set[str]:
        """Return the markers on disk."""
        batches = batch_files(self._storage, self.instant).values()
        return {line for each in batches for line in read_batch(self._storage, each.path)}

    def _place(self, names: list[str]) -> None:
        """Write a batch; after some of them small ones become one."""
        self._add(names)
        if next(self._batches) % _SMALL_FILES:
            return
        try:
            self._merge()
        except StorageError as error:  # all markers are there still, in more files
            _LOG.warning("batches of markers are not merged: %s", error)

    def _merge(self) -> None:
        """Make one batch of the small ones; they go when it is there."""
        batches = batch_files(self._storage, self.instant).values()
        small = [each.path for each in batches if each.size < _SMALL_BYTES]
        self._add([line for path in small for line in read_batch(self._storage, path)])
        self._storage.delete(*small, *map(crc_sidecar, small))

    def _add(self, names: list[str]) -> None:
        """Write one batch."""
        place_batch(
            self._storage,
            self.instant,
            names,
            new_temporary=lambda: join(self._scratch, uuid4().hex),
        )
