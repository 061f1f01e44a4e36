"""From pinned input files to keyed rows, split into shares for deduplication.

Every row gets its record key, its partition path and its origin. A share is deduplicated as a
whole: the rows of one partition, or of one range of key hashes if keys are unique in the whole
table. A share's rows of one partition, up to a million at a time, are one record batch of an Arrow
file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from framework.engine.load.input_rows import (
    KEY,
    NullKeys,
    Piece,
    by_code,
    paths_of,
    piece_columns,
    piece_keys,
    pieces_of,
)
from framework.engine.load.job import InputFile, LoadJob
from framework.engine.tasks import decode, encode
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.table.layout import MetaField, join

__all__ = [
    "FILE",
    "PATH",
    "ROW",
    "IncomingTask",
    "KeyedRows",
    "Part",
    "incoming_schema",
    "incoming_task",
]

PATH: Final = MetaField.PARTITION_PATH.value
FILE: Final = "_lakestrap_file"
ROW: Final = "_lakestrap_row"

_CHUNK_ROWS: Final = 1 << 20
_MOVED_BYTES: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTask:
    """Some input files to key."""

    job: LoadJob
    files: tuple[InputFile, ...]


class Part(NamedTuple):
    """A record batch with rows of one partition: `batch` is its place in the Arrow file `path`."""

    partition_path: str
    rows: int
    path: str
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows:
    """Keyed rows of some input files.

    Attributes:
        first: number of the first file.
        rows: number of rows.
        shares: the parts of each share, in the order of the input.
        nulls: rows without a key.
    """

    first: int
    rows: int
    shares: dict[str, list[Part]]
    nulls: NullKeys


def incoming_schema(job: LoadJob) -> pa.Schema:
    """Return the columns of keyed rows: key, partition path, file, row, then the table's."""
    places = [pa.field(KEY, pa.string()), pa.field(PATH, pa.string())]
    places += [pa.field(FILE, pa.int64()), pa.field(ROW, pa.int64())]
    return pa.schema([*places, *(field.with_nullable(True) for field in job.table_schema)])


def incoming_task(descriptor: str) -> str:
    """Key the files of an `IncomingTask`; return the `KeyedRows` as JSON.

    Holds a million rows in memory, or a row group if that has more.

    Raises:
        SourceDriftError: `input/drift`; an input file is not the one that was pinned.
        CorruptFileError: `input/corrupt-file`, `input/value-does-not-fit`,
            `partition/value-not-a-path`.
        PlanError: `key/column-missing`, `partition/column-missing`.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(IncomingTask, descriptor)
    job, nulls = task.job, NullKeys()
    path = join(job.folder, f"{uuid4().hex}.rows")
    with (
        job.storage().create(path, durable=False) as out,
        pa.ipc.new_file(out, incoming_schema(job)) as writer,
    ):
        sink = _Sink(job, writer, path)
        for file in task.files:
            for piece in pieces_of(job, file):
                sink.add(_keyed(job, piece, nulls))
        sink.flush()
    first = min((file.number for file in task.files), default=0)
    return encode(KeyedRows(first=first, rows=sink.rows, shares=sink.shares, nulls=nulls))


class _Sink:
    """Writes keyed rows as batches of one share and one partition each; `rows` counts them."""

    def __init__(self, job: LoadJob, writer: Any, path: str) -> None:
        self.rows = 0
        self.shares: dict[str, list[Part]] = {}
        self._path = path
        self._job = job
        self._writer = writer
        self._batches = 0
        self._held: list[pa.Table] = []
        self._held_rows = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows; they are written with those before them once there are enough."""
        self._held.append(rows)
        self._held_rows += rows.num_rows
        if self._held_rows >= _CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the held rows."""
        rows = pa.concat_tables([incoming_schema(self._job).empty_table(), *self._held])
        self.rows += rows.num_rows
        self._held, self._held_rows = [], 0
        order, shares = _shares(self._job, rows)
        batches = _batches(rows, order, [each.rows for each in shares])
        for each, batch in zip(shares, batches, strict=True):
            self._writer.write_batch(batch)
            part = Part(each.path, batch.num_rows, self._path, self._batches)
            self.shares.setdefault(each.name, []).append(part)
            self._batches += 1


def _keyed(job: LoadJob, piece: Piece, nulls: NullKeys) -> pa.Table:
    """Return rows of one input file with their keys."""
    data = piece_columns(job, piece)
    keys = piece_keys(job, piece, data, nulls)
    rows = data.num_rows
    return pa.Table.from_arrays(
        [
            keys,
            paths_of(job, data).dictionary_decode(),
            pa.repeat(pa.scalar(piece.file.number, pa.int64()), rows),
            pa.array(piece.places),
            *data.columns,
        ],
        schema=incoming_schema(job),
    )


class _Share(NamedTuple):
    """The rows of one share and one partition: a stretch of the sorted rows."""

    name: str
    path: str
    rows: slice


def _shares(job: LoadJob, rows: pa.Table) -> tuple[np.ndarray | None, list[_Share]]:
    """Return the order that brings the rows of each share together, None as they are; and shares.

    Rows of a share stay in their order.
    """
    if not rows.num_rows:
        return None, []
    encoded = rows[PATH].combine_chunks().dictionary_encode()
    paths, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    if job.buckets:
        numbers = np.zeros(1, np.uint64)
        if job.buckets > 1:
            numbers = key_hashes(rows[KEY]) % np.uint64(job.buckets)
        codes = codes + numbers.astype(np.int64) * len(paths)
    groups = max(1, job.buckets) * len(paths)
    if groups == 1:
        return None, [_Share(_share(job, 0, paths[0]), paths[0], slice(0, rows.num_rows))]
    ends = np.cumsum(np.bincount(codes, minlength=groups)).tolist()
    found = []
    for group, (start, stop) in enumerate(pairwise([0, *ends])):
        if start < stop:
            bucket, at = divmod(group, len(paths))
            found.append(_Share(_share(job, bucket, paths[at]), paths[at], slice(start, stop)))
    return by_code(codes, groups), found


def _batches(
    rows: pa.Table, order: np.ndarray | None, stretches: Sequence[slice]
) -> Iterator[pa.RecordBatch]:
    """Yield stretches of the rows in their new order.

    All rows are moved at once: each `take` copies all chunks of a column first. A column of texts
    holds two gigabytes at most, so more rows than that are moved a stretch at a time.
    """
    if order is not None and rows.nbytes > _MOVED_BYTES:
        for each in stretches:
            yield _one_batch(rows.take(pa.array(order[each])))
        return
    whole = _one_batch(rows, None if order is None else pa.array(order))
    for each in stretches:
        yield whole.slice(each.start, each.stop - each.start)


def _share(job: LoadJob, bucket: int, path: str) -> str:
    """Return the name of a share."""
    return str(bucket) if job.buckets else path


def _one_batch(rows: pa.Table, order: pa.Array | None = None) -> pa.RecordBatch:
    """Return a table's rows as one record batch, in an order."""
    columns = []
    for column in rows.columns:
        whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        columns.append(whole if order is None else whole.take(order))
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
