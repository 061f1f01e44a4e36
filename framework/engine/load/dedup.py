"""Deduplication of the input: each key of a share stays once, by the ordering, or is refused.

A bucket names record batches of Arrow files, each with rows of one partition, so that reading the
rows of one partition reads no others. Rows are read by partition or by place, a part at a time, and
numbered through all batches of a bucket. A batch is written again only if some of its rows lose to
others with their key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.audit.spill import SpillReader, SpillWriter, bucket_bits, scope_mix
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import BUCKET_ROWS, LoadJob
from framework.engine.load.key_input import FILE, PATH, ROW, Part, incoming_schema
from framework.engine.tasks import decode, encode
from framework.hudi.codecs.hash_sort import distinct, sort_hashes
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.filegroup.merge import ranks
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "Bucket",
    "GatherTask",
    "RepeatedKey",
    "bucket_rows",
    "gather_task",
    "read_batches",
    "taken_rows",
]

_SAMPLES: Final = 50
_HELD_HASHES: Final = 2 * BUCKET_ROWS
_KEEPS_ONE: Final = frozenset({WriteOperation.UPSERT, WriteOperation.DELETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherTask:
    """Shares that become one bucket: for each its parts, in the order of the input."""

    job: LoadJob
    shares: tuple[tuple[Part, ...], ...]


class RepeatedKey(NamedTuple):
    """A key that an operation refuses: how many rows have it, and (file, row) of some of them."""

    key: str
    occurrences: int
    rows: list[tuple[int, int]]


@dataclass(slots=True, kw_only=True)
class Bucket:
    """Rows of the input with no key of a scope twice; complete once its task has returned.

    Attributes:
        parts: the record batches; columns are those of `incoming_schema`.
        dropped: rows that lost to another row with their key.
        duplicates: some keys that occur more than once, for operations that refuse them.
        repeated: number of keys that occurred more than once.
    """

    parts: list[Part] = field(default_factory=list)
    dropped: int = 0
    duplicates: list[RepeatedKey] = field(default_factory=list)
    repeated: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.rows for part in self.parts)

    def starts(self) -> Iterator[tuple[str, int, int]]:
        """Yield (partition path, first row, row after the last) of each part."""
        at = 0
        for part in self.parts:
            yield part.partition_path, at, at + part.rows
            at += part.rows


def gather_task(descriptor: str) -> str:
    """Deduplicate the shares of a `GatherTask`; return the `Bucket` as JSON.

    Of rows with one key, upserts and deletes keep the one with the greatest ordering value, of
    equal ones the last in the input. Memory holds eight million key hashes, the deciding columns of
    keys that occur more than once, and one batch.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    task = decode(GatherTask, descriptor)
    job = task.job
    storage = job.storage()
    found = Bucket()
    for share in task.shares:
        found.parts += _once(job, storage, share, found)
    return encode(found)


def _read_parts(storage: Storage, parts: Sequence[Part], names: Sequence[str]) -> pa.Table:
    """Return some columns of the rows of at least one part."""
    return pa.Table.from_batches(list(read_batches(storage, parts, names)))


def read_batches(
    storage: Storage, parts: Sequence[Part], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of the rows of each part; opens each file once."""
    files: dict[str, tuple[Any, Any]] = {}
    try:
        for part in parts:
            if part.path not in files:
                stream = storage.open_input(part.path)
                files[part.path] = stream, _reader(stream, names)
            yield files[part.path][1].get_batch(part.batch).select(names)
    finally:
        for stream, _ in files.values():
            stream.close()


def _reader(stream: Any, names: Sequence[str]) -> Any:
    """Return a reader of some columns of an Arrow file; other columns are not read."""
    whole = pa.ipc.open_file(stream)
    places = sorted(whole.schema.get_field_index(name) for name in names)
    options = pa.ipc.IpcReadOptions(included_fields=places)
    return pa.ipc.open_file(stream, options=options)


def _once(job: LoadJob, storage: Storage, share: Sequence[Part], found: Bucket) -> Sequence[Part]:
    """Return the parts of a share with each key once; record keys that occur more often."""
    places, codes = _repeated(job, storage, share)
    if not places.size:
        return share
    found.repeated += distinct(codes).size
    if job.operation not in _KEEPS_ONE:
        _note_duplicates(_rows_at(storage, share, [KEY, FILE, ROW], places), codes, found)
        return share
    keep = np.ones(sum(part.rows for part in share), dtype=bool)
    keep[places] = _best(job, storage, share, places, codes)
    found.dropped += int(np.count_nonzero(~keep))
    return _kept(job, storage, share, keep)


def _repeated(
    job: LoadJob, storage: Storage, share: Sequence[Part]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of rows whose key occurs more than once, and a number for each key.

    Rows with equal hashes are found first; only their keys are held and compared.
    """
    twice = _equal_hashes(job, storage, share)
    if not twice.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    near = [
        start + np.flatnonzero(_holds(twice, some))
        for start, some in _share_hashes(job, storage, share)
    ]
    places = np.concatenate(near)
    codes = _codes(job, _rows_at(storage, share, [KEY, PATH], places))
    repeated = np.bincount(codes)[codes] > 1
    return places[repeated], codes[repeated]


def _equal_hashes(job: LoadJob, storage: Storage, share: Sequence[Part]) -> np.ndarray:
    """Return the hashes of more than one row, ascending.

    Those of a large share go to storage by their highest bits, and are compared a part at a time.
    """
    rows = sum(part.rows for part in share)
    if rows <= _HELD_HASHES:
        hashes = np.empty(rows, np.uint64)
        for start, some in _share_hashes(job, storage, share):
            hashes[start : start + some.size] = some
        return _repeats(hashes)
    path, bits = join(job.folder, f"{uuid4().hex}.hashes"), bucket_bits(rows)
    with storage.create(path, durable=False) as out:
        spill = SpillWriter(out, bits)
        for _, some in _share_hashes(job, storage, share):
            spill.add(0, some)
        spill.finish()
    reader = SpillReader(storage, path)
    found = [_repeats(np.concatenate([*reader.hashes(at)])) for at in range(1 << bits)]
    storage.delete(path)
    return np.concatenate(found)


def _repeats(hashes: np.ndarray) -> np.ndarray:
    """Return the values that occur more than once, ascending; sorts the array."""
    sort_hashes(hashes)
    return distinct(hashes[1:][hashes[1:] == hashes[:-1]])


def _share_hashes(
    job: LoadJob, storage: Storage, share: Sequence[Part]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first row of each part of a share, and the hashes of its keys."""
    at = 0
    for part, rows in zip(share, read_batches(storage, share, [KEY]), strict=True):
        yield at, _hashes(job, part.partition_path, rows.column(KEY))
        at += part.rows


def _holds(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which values are among some sorted ones, at least one."""
    places = np.searchsorted(ordered, values).clip(max=ordered.size - 1)
    found: np.ndarray = ordered[places] == values
    return found


def _hashes(job: LoadJob, path: str, keys: pa.Array) -> np.ndarray:
    """Return a hash for each key of a partition, the same for one key in one scope."""
    mix = scope_mix(path, by_partition=job.rule.scope is KeyScope.PARTITION)
    mixed: np.ndarray = key_hashes(keys) ^ mix
    return mixed


def _rows_at(
    storage: Storage, share: Sequence[Part], names: Sequence[str], places: np.ndarray
) -> pa.Table:
    """Return some columns of the rows at ascending places of a share, at least one."""
    parts: list[Part] = []
    mine: list[np.ndarray] = []
    at = 0
    for part in share:
        first, last = np.searchsorted(places, [at, at + part.rows]).tolist()
        if first < last:
            parts.append(part)
            mine.append(places[first:last] - at)
        at += part.rows
    batches = zip(read_batches(storage, parts, names), mine, strict=True)
    return pa.Table.from_batches([rows.take(pa.array(some)) for rows, some in batches])


def _best(
    job: LoadJob,
    storage: Storage,
    share: Sequence[Part],
    places: np.ndarray,
    codes: np.ndarray,
) -> np.ndarray:
    """Return which of some rows win: one per code."""
    ordering = None if job.operation is WriteOperation.DELETE else job.ordering
    names = [FILE, ROW, *([ordering] if ordering else [])]
    rows = _rows_at(storage, share, names, places)
    rank = np.zeros(places.size, np.int64)
    if ordering:
        rank = ranks(rows[ordering].combine_chunks())
    order = np.lexsort([rows[ROW].to_numpy(), rows[FILE].to_numpy(), rank, codes])
    ordered = codes[order]
    best = np.zeros(places.size, dtype=bool)
    best[order] = np.append(ordered[1:] != ordered[:-1], np.ones(1, dtype=bool))
    return best


def _kept(
    job: LoadJob, storage: Storage, share: Sequence[Part], keep: np.ndarray
) -> Sequence[Part]:
    """Return the parts without the losing rows; only parts that lose some are written."""
    path = join(job.folder, f"{uuid4().hex}.rows")
    schema = incoming_schema(job)
    kept: list[Part] = []
    at = written = 0
    with storage.create(path, durable=False) as out, pa.ipc.new_file(out, schema) as writer:
        for part in share:
            stays = keep[at : at + part.rows]
            at += part.rows
            if stays.all():
                kept.append(part)
                continue
            rows = _read_parts(storage, [part], schema.names).filter(pa.array(stays))
            if rows.num_rows:
                writer.write_batch(rows.combine_chunks().to_batches()[0])
                kept.append(Part(part.partition_path, rows.num_rows, path, written))
                written += 1
    return kept


def _codes(job: LoadJob, rows: pa.Table) -> np.ndarray:
    """Return a number for each row, the same for rows with one key in one scope."""
    codes = _encoded(rows[KEY])
    if job.rule.scope is KeyScope.TABLE:
        return codes
    paths = _encoded(rows[PATH])
    if not paths.size or not paths.any():
        return codes
    _, together = np.unique(codes * (int(paths.max()) + 1) + paths, return_inverse=True)
    return together


def _encoded(column: pa.ChunkedArray) -> np.ndarray:
    """Return a number for each text, the same for equal ones."""
    encoded: Any = pc.dictionary_encode(column.combine_chunks())
    found: np.ndarray = encoded.indices.to_numpy().astype(np.int64)
    return found


def _note_duplicates(rows: pa.Table, codes: np.ndarray, found: Bucket) -> None:
    """Record some keys that occur more than once, with some of their rows."""
    shown = distinct(codes)[: max(0, _SAMPLES - len(found.duplicates))]
    samples: Mapping[int, list[int]] = defaultdict(list)
    for place in np.flatnonzero(np.isin(codes, shown)).tolist():
        samples[int(codes[place])].append(place)
    for group in samples.values():
        some = rows.take(pa.array(group[:5]))
        where = zip(some[FILE].to_pylist(), some[ROW].to_pylist(), strict=True)
        found.duplicates.append(RepeatedKey(some[KEY][0].as_py(), len(group), list(where)))


def bucket_rows(
    storage: Storage, bucket: Bucket, paths: frozenset[str] | None, names: Sequence[str]
) -> tuple[pa.Table | None, np.ndarray]:
    """Return some columns of a bucket's rows in some partitions, and the rows' places in it.

    `paths` None means all of them. The table is None if there are no rows.
    """
    parts, places = [], [np.empty(0, np.int64)]
    for part, (path, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        if paths is None or path in paths:
            parts.append(part)
            places.append(np.arange(start, stop))
    found = _read_parts(storage, parts, names) if parts else None
    return found, np.concatenate(places)


def taken_rows(
    storage: Storage, bucket: Bucket, names: Sequence[str], rows: np.ndarray
) -> pa.Table | None:
    """Return some columns of the rows at some places of a bucket, in their order; None for none.

    Parts without such rows are not read, the others one at a time.
    """
    order = np.argsort(rows, kind="stable")
    asked = rows[order]
    parts: list[Part] = []
    mine: list[np.ndarray] = []
    for part, (_, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        first, last = np.searchsorted(asked, [start, stop]).tolist()
        if first < last:
            parts.append(part)
            mine.append(asked[first:last] - start)
    if not parts:
        return None
    batches = zip(read_batches(storage, parts, names), mine, strict=True)
    found = pa.Table.from_batches([_taken(batch, some) for batch, some in batches])
    if (order[:-1] < order[1:]).all():
        return found
    return found.take(pa.array(np.argsort(order)))


def _taken(batch: pa.RecordBatch, places: np.ndarray) -> pa.RecordBatch:
    """Return the rows at some ascending places, without a copy if they are all."""
    if places.size == batch.num_rows and (places == np.arange(places.size)).all():
        return batch
    return batch.take(pa.array(places))
