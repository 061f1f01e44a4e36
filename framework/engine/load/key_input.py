"""From pinned input files to keyed rows, split into shares for deduplication.

Every row gets its record key, its partition path and its origin. A share is deduplicated as a
whole: the rows of one partition, or of one range of key hashes if keys are unique in the whole
table. A share's rows of one partition, up to a million at a time, are one record batch of an Arrow
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.audit.screen import excluded_rows
from framework.engine.load.job import InputFile, LoadJob
from framework.engine.tasks import decode, encode
from framework.errors import CorruptFileError, SourceDriftError, Where
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.codecs.parquet_seal import UNREADABLE, naming_bad_chunks
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.text import null_rows, record_keys
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import MetaField, join, name_of, parent_of
from framework.hudi.table.schema_check import fitted_column
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "FILE",
    "KEY",
    "PATH",
    "ROW",
    "IncomingTask",
    "KeyedRows",
    "NullKeys",
    "Part",
    "incoming_schema",
    "incoming_task",
]

KEY: Final = MetaField.RECORD_KEY.value
PATH: Final = MetaField.PARTITION_PATH.value
FILE: Final = "_lakestrap_file"
ROW: Final = "_lakestrap_row"

_NULLS_SHOWN: Final = 50
_NUMBERED_ROWS: Final = 1 << 20
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


@dataclass(slots=True, kw_only=True)
class NullKeys:
    """Rows without a key: their number, and (file, row) of the first of them."""

    rows: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, number: int, rows: np.ndarray) -> None:
        """Add rows of one file."""
        self.rows += rows.size
        left = _NULLS_SHOWN - len(self.places)
        self.places += [(number, row) for row in rows[:left].tolist()]


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
            gone = excluded_rows(job.storage(), file.gone)
            for start, raw in _chunks(file, [KEY, *job.table_schema.names]):
                piece = _Piece.of(file, raw, start, gone)
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


def _keyed(job: LoadJob, piece: _Piece, nulls: NullKeys) -> pa.Table:
    """Return rows of one input file with their keys."""
    file = piece.file
    columns = [fitted_column(piece.raw, field, _misfit(piece)) for field in job.table_schema]
    data = pa.Table.from_arrays(columns, names=job.table_schema.names)
    keys = _keys(job, piece, data, nulls)
    rows = data.num_rows
    return pa.Table.from_arrays(
        [
            keys,
            _paths(job, data),
            pa.repeat(pa.scalar(file.number, pa.int64()), rows),
            pa.array(piece.places),
            *data.columns,
        ],
        schema=incoming_schema(job),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Rows as read from an input file, and their places in it, ascending."""

    file: InputFile
    raw: pa.Table
    places: np.ndarray

    @classmethod
    def of(cls, file: InputFile, raw: pa.Table, start: int, gone: np.ndarray) -> _Piece:
        """Return consecutive rows from `start` on, without the excluded ones."""
        end = start + raw.num_rows
        places = np.arange(start, end)
        first, last = np.searchsorted(gone, [start, end]).tolist()
        if first == last:
            return cls(file=file, raw=raw, places=places)
        stays = np.ones(raw.num_rows, dtype=bool)
        stays[gone[first:last] - start] = False
        return cls(file=file, raw=raw.filter(pa.array(stays)), places=places[stays])


def _keys(job: LoadJob, piece: _Piece, data: pa.Table, nulls: NullKeys) -> pa.ChunkedArray:
    """Return the record keys of rows; automatic ones are numbers of the file's rows."""
    rule, file, raw = job.rule, piece.file, piece.raw
    if not rule.is_automatic:
        nulls.add(file.number, piece.places[null_rows(rule, data, {})])
        found = record_keys(rule, data, {})
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    if job.operation is WriteOperation.DELETE:
        brought = fitted_column(raw, pa.field(KEY, pa.string()), _misfit(piece))
        nulls.add(file.number, piece.places[pc.is_null(brought).to_numpy().nonzero()[0]])
        return brought
    numbers = RowNumbers(instant=job.instant, number=file.number)
    numbered = _numbered(numbers, piece.places)
    if not job.names_keys or KEY not in raw.schema.names:
        return numbered
    brought = fitted_column(raw, pa.field(KEY, pa.string()), _misfit(piece))
    return pc.coalesce(brought, numbered)


def _numbered(numbers: RowNumbers, places: np.ndarray) -> pa.ChunkedArray:
    """Return the automatic keys of the rows at some places of a file, ascending."""
    if not places.size:
        return pa.chunked_array([], pa.string())
    first, end = int(places[0]), int(places[-1]) + 1
    starts = range(first, end, _NUMBERED_ROWS)
    parts = [numbers.texts(at, min(_NUMBERED_ROWS, end - at)) for at in starts]
    found = pa.chunked_array(parts, pa.string())
    return found if len(found) == places.size else found.take(pa.array(places - first))


def _paths(job: LoadJob, data: pa.Table) -> pa.Array:
    """Return the partition path of each row; a delete over all partitions needs none."""
    rule = job.rule
    anywhere = job.operation is WriteOperation.DELETE and rule.scope is KeyScope.TABLE
    if anywhere or not rule.partition:
        return pa.repeat(pa.scalar("", pa.string()), data.num_rows)
    return partition_paths(rule, data).dictionary_decode()


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
    return np.argsort(codes, kind="stable"), found


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


def _chunks(file: InputFile, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
    """Yield the columns that an input file has, some row groups at a time, and the first row.

    The file must be the one that was pinned.
    """
    folder = open_storage(parent_of(file.path))
    entry = folder.stat(name_of(file.path))
    if entry is None or (entry.size, entry.mtime_ns) != (file.size, file.mtime_ns):
        raise SourceDriftError(
            "input/drift",
            "an input file is missing" if entry is None else "an input file has changed",
            where=Where(file=file.path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name_of(file.path)) as stream:
            parquet = pq.ParquetFile(
                stream, coerce_int96_timestamp_unit="us", page_checksum_verification=True
            )
            present = [name for name in parquet.schema_arrow.names if name in names]
            calendar = LegacyCalendar.of(parquet, file.path)
            start = 0
            for groups in _row_groups(parquet.metadata):
                with naming_bad_chunks(parquet, groups, present):
                    rows = parquet.read_row_groups(groups, columns=present, use_threads=False)
                yield start, rows if calendar is None else calendar.gregorian(rows)
                start += rows.num_rows
    except UNREADABLE as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=file.path),
            remedy="Restore the file, or remove it from the source.",
        ) from error


def _row_groups(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield numbers of consecutive row groups that are read together."""
    groups: list[int] = []
    rows = 0
    for number in range(metadata.num_row_groups):
        more = metadata.row_group(number).num_rows
        if groups and rows + more > _CHUNK_ROWS:
            yield groups
            groups, rows = [], 0
        groups.append(number)
        rows += more
    if groups:
        yield groups


def _misfit(piece: _Piece) -> Callable[[str, int], CorruptFileError]:
    """Return a function for the error of a value that does not fit the table's type."""

    def fault(message: str, row: int) -> CorruptFileError:
        return CorruptFileError(
            "input/value-does-not-fit",
            f"row {piece.places[row]}, counted from 0: {message}",
            where=Where(file=piece.file.path),
            remedy="Correct the value, or exclude the row in a transform.",
        )

    return fault
