"""Which rows of many slices have divided incoming keys: one lot after the other, exactly.

The keys of the slices are divided like the incoming ones. A lot of one side is then compared with
the lot of the same number, and what is found goes to storage, grouped by slice. So each key is read
a fixed number of times, and memory does not depend on the number of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.input_rows import KEY
from framework.engine.load.key_lots import (
    OWNER,
    PLACE,
    KeyLots,
    LotsReader,
    LotsWriter,
    lots_writer,
)
from framework.engine.reading.slice_rows import SliceKeys
from framework.engine.tasks import release_memory
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join

__all__ = ["Matches", "SliceMatches", "lot_matches"]

_ADDED_KEYS: Final = 1 << 20
_PROBED_KEYS: Final = 4_000_000
_HELD_MATCHES: Final = 4_000_000
_DELETED: Final = (1 << 32) - 1
"""The place of a base row that a log file deletes."""
_NONE: Final = np.uint32((1 << 32) - 1)
_MATCH: Final = np.dtype([("position", "<u4"), ("bucket", "<u4"), ("row", "<u4")])


class Matches(NamedTuple):
    """Positions of existing rows, ascending, and bucket and row of the incoming ones."""

    positions: np.ndarray
    buckets: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceMatches:
    """The outcome of a slice.

    Attributes:
        rows: its records.
        found: those with incoming keys.
        hidden: number of incoming keys that only deleted rows of its base file have.
    """

    rows: int
    found: Matches
    hidden: int


def lot_matches(
    storage: Storage, folder: str, lots: KeyLots, slices: Iterable[SliceKeys]
) -> Iterator[SliceMatches]:
    """Yield the outcome of each slice, in their order, after all of them have been read.

    Holds the keys of one slice, then one lot and the matches of four million keys.

    Args:
        storage: of the table; files are created there and deleted again.
        folder: for these files.
        lots: the incoming keys.
        slices: the keys of each slice, read when they are taken.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    name = uuid4().hex
    divided, grouped = join(folder, f"{name}.lots"), join(folder, f"{name}.matches")
    sizes = []
    with lots_writer(storage, divided, lots.count) as writer:
        for number, keys in enumerate(slices):
            sizes.append(keys.rows)
            _add(writer, number, keys)
            if keys.rows >= _ADDED_KEYS:
                release_memory()
    with _grouped(storage, grouped, len(sizes)) as found:
        _compare(storage, lots, divided, found)
    storage.delete(divided)
    with storage.open_input(grouped) as stream:
        for number, rows in enumerate(sizes):
            matches = _in_order(found.read(stream, number), rows)
            yield SliceMatches(rows=rows, found=matches, hidden=int(found.hidden[number]))
    storage.delete(grouped)


def _add(writer: LotsWriter, number: int, keys: SliceKeys) -> None:
    """Add the keys of a slice; places are positions among its records."""
    stays = np.ones(len(keys.stored), dtype=bool)
    stays[keys.deleted] = False
    places = np.cumsum(stays, dtype=np.uint32) - np.uint32(1)
    places[~stays] = _DELETED
    for at in range(0, places.size, _ADDED_KEYS):
        some = keys.stored.slice(at, _ADDED_KEYS).combine_chunks()
        writer.add(some, number, places[at : at + _ADDED_KEYS])


def _compare(storage: Storage, lots: KeyLots, divided: str, found: _Grouped) -> None:
    """Find the equal keys of each lot."""
    count = lots.count
    with (
        LotsReader(storage, [file.path for file in lots.files], count) as incoming,
        LotsReader(storage, [divided], count) as existing,
    ):
        for number in range(count):
            batches = list(incoming.lot(number))
            if not batches:
                continue
            known = pa.Table.from_batches(batches).combine_chunks()
            for probed in _pieces(existing.lot(number)):
                found.add(*_equal(known, probed))
            release_memory()


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of some batches, a few million at a time: each look-up costs a hash table."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _PROBED_KEYS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _equal(known: pa.Table, probed: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the slices that have incoming keys, one entry a key, and their matches."""
    places = pc.index_in(probed[KEY], value_set=known[KEY].combine_chunks())
    is_known = pc.is_valid(places).to_numpy()
    places = pc.drop_null(places).to_numpy()
    matches = np.empty(places.size, _MATCH)
    matches["position"] = probed[PLACE].to_numpy()[is_known]
    matches["bucket"] = known[OWNER].to_numpy()[places]
    matches["row"] = known[PLACE].to_numpy()[places]
    return probed[OWNER].to_numpy()[is_known], matches


class _Grouped:
    """Writes matches grouped by slice, some millions at a time.

    `hidden` has for each slice the number of deleted rows that matched.
    """

    def __init__(self, out: BinaryIO, slices: int) -> None:
        self.hidden = np.zeros(slices, np.int64)
        self._out = out
        self._slices = slices
        self._held: list[tuple[np.ndarray, np.ndarray]] = []
        self._rows = 0
        self._written = 0
        self._starts: list[np.ndarray] = []

    def add(self, owners: np.ndarray, matches: np.ndarray) -> None:
        """Add matches of some slices."""
        is_deleted = matches["position"] == _NONE
        if is_deleted.any():
            self.hidden += np.bincount(owners[is_deleted], minlength=self._slices)
            owners, matches = owners[~is_deleted], matches[~is_deleted]
        self._held.append((owners, matches))
        self._rows += owners.size
        if self._rows >= _HELD_MATCHES:
            self.flush()

    def flush(self) -> None:
        """Write the held matches."""
        if not self._rows:
            return
        owners = np.concatenate([some for some, _ in self._held])
        matches = np.concatenate([some for _, some in self._held])
        self._held, self._rows = [], 0
        counts = np.bincount(owners, minlength=self._slices)
        self._starts.append(self._written + np.concatenate([[0], np.cumsum(counts)]))
        self._out.write(matches[np.argsort(owners, kind="stable")].view(np.uint8).data)
        self._written += matches.size

    def read(self, stream: Any, number: int) -> np.ndarray:
        """Return the matches of one slice, once all are written."""
        parts = [np.empty(0, _MATCH)]
        for starts in self._starts:
            first, last = starts[number : number + 2].tolist()
            if first < last:
                stream.seek(first * _MATCH.itemsize)
                data = stream.read((last - first) * _MATCH.itemsize)
                parts.append(np.frombuffer(data, _MATCH))
        return np.concatenate(parts)


@contextmanager
def _grouped(storage: Storage, path: str, slices: int) -> Iterator[_Grouped]:
    """Create a file of matches."""
    with storage.create(path, durable=False) as out:
        found = _Grouped(out, slices)
        yield found
        found.flush()


def _in_order(matches: np.ndarray, rows: int) -> Matches:
    """Return the matches of a slice with `rows` rows in the order of their positions."""
    places = np.full(rows, _NONE)
    places[matches["position"]] = np.arange(matches.size, dtype=np.uint32)
    positions = np.flatnonzero(places != _NONE)
    places = places[positions]
    return Matches(positions, matches["bucket"][places], matches["row"][places])
