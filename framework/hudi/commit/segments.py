"""Statuses of written files in segments, and the driver's journal of the segments it received.

A segment is an Arrow IPC stream of `SEGMENT_SCHEMA` with the statuses of one task, sorted by
`number`, those of one partition together. The driver holds one `SegmentRef` per task, however many
files, and streams the rows when needed. A journal record appears whole or not at all, and is
durable before the driver continues.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, Where
from framework.hudi.commit.created import create_whole
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.checksum import Crc32cOutput, file_crc32c
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join

__all__ = [
    "SEGMENT_SCHEMA",
    "Journal",
    "SegmentRef",
    "merge_segments",
    "read_segment",
    "write_segment",
]

SEGMENT_SCHEMA: Final = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("mode", pa.string()),
        pa.field("file_id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("partition_path", pa.string(), nullable=False),
        pa.field("staged", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("crc32c", pa.uint32(), nullable=False),
        pa.field("source_path", pa.string()),
        pa.field("source_size", pa.int64()),
        pa.field("source_mtime_ns", pa.int64()),
        pa.field("min_key", pa.string()),
        pa.field("max_key", pa.string()),
        pa.field("order_first", pa.binary()),
        pa.field("order_last", pa.binary()),
        pa.field("increasing", pa.bool_()),
        pa.field("injective", pa.bool_()),
        pa.field("null_keys", pa.int64()),
        pa.field("previous", pa.string()),
        pa.field("inserts", pa.int64(), nullable=False),
        pa.field("updates", pa.int64(), nullable=False),
        pa.field("deletes", pa.int64(), nullable=False),
        pa.field("base_name", pa.string()),
    ]
)
"""One row per written file.

`number` is the file's place in the inventory, `staged` its path in the table's storage until it is
linked, `size` its bytes, `crc32c` the checksum of all of them. `min_key` and `max_key` are null in
files without rows.

A file written from one source file has a `mode`, a value of `BootstrapMode`: whether it is a
skeleton or holds all rows; its `source_path` is relative to the source root. `increasing`,
`injective` and the `order_*` bounds are as in `KeyFacts`. All of these are null for a file that a
load writes. `null_keys` counts the rows without a key that this write adds or changes, which is
refused; null if a service wrote the file.

`previous` is the instant of the previous slice, for a log file that of its own slice, null in a new
file group. `rows` counts all rows of the file; `inserts`, `updates` and `deletes` count the records
that this write changed. `base_name` is null for a base file; for a log file it is the name of its
slice's base file, `""` if the slice has none.
"""

_BATCH_ROWS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRef:
    """A segment and its totals.

    Attributes:
        path: relative to the table.
        crc32c: checksum of the segment file's bytes.
        files: rows of the segment; 0 is allowed.
        rows: total rows of its files.
        bytes: total size of its files.
        first: least `number`, -1 in an empty segment.
        last: greatest `number`, -1 in an empty segment.
    """

    path: str
    crc32c: int
    files: int
    rows: int
    bytes: int
    first: int
    last: int


def write_segment(
    storage: Storage, path: str, statuses: pa.Table, *, durable: bool = True
) -> SegmentRef:
    """Create the segment `path` from statuses in `SEGMENT_SCHEMA`, in any order.

    `durable` is as in `Storage.create`.

    Raises:
        CorruptFileError: `commit/duplicate-number` if a number occurs twice.
    """
    table = statuses.cast(SEGMENT_SCHEMA).sort_by("number")
    _check_numbers(table["number"], path)
    numbers, table = table["number"], _together(table)
    with storage.create(path, durable=durable) as out:
        checked = Crc32cOutput(out)
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(
            pa.PythonFile(checked, "w"), SEGMENT_SCHEMA, options=options
        ) as writer:
            writer.write_table(table, max_chunksize=_BATCH_ROWS)
    files = table.num_rows
    return SegmentRef(
        path=path,
        crc32c=checked.crc32c,
        files=files,
        rows=pc.sum(table["rows"]).as_py() or 0,
        bytes=pc.sum(table["size"]).as_py() or 0,
        first=numbers[0].as_py() if files else -1,
        last=numbers[-1].as_py() if files else -1,
    )


def read_segment(storage: Storage, segment: SegmentRef) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a segment after verifying its checksum.

    Raises:
        CorruptFileError: `commit/corrupt-segment`.
    """
    if file_crc32c(storage, segment.path) != segment.crc32c:
        raise _corrupt(segment.path, "its checksum differs from the recorded one")
    files = 0
    with storage.open_input(segment.path) as source, _typed(segment.path):
        reader = pa.ipc.open_stream(source)
        if not reader.schema.equals(SEGMENT_SCHEMA):
            raise _corrupt(segment.path, "its columns are not those of a segment")
        for batch in reader:
            files += batch.num_rows
            yield batch
    if files != segment.files:
        raise _corrupt(segment.path, f"it has {files} files, not {segment.files}")


def merge_segments(storage: Storage, segments: Iterable[SegmentRef]) -> Iterator[pa.RecordBatch]:
    """Yield the statuses of all segments by ascending `number`, those of one partition together.

    Partitions of segments with separate ranges are not brought together. Holds segments with
    overlapping ranges in memory together, others one batch at a time.

    Raises:
        CorruptFileError: `commit/duplicate-number` if two segments have the same number.
    """
    for cluster in _clusters(segments):
        if len(cluster) == 1:
            yield from read_segment(storage, cluster[0])
            continue
        batches = [batch for each in cluster for batch in read_segment(storage, each)]
        table = pa.Table.from_batches(batches, SEGMENT_SCHEMA).sort_by("number")
        _check_numbers(table["number"], cluster[0].path)
        yield from _together(table).to_batches(max_chunksize=_BATCH_ROWS)


def _together(statuses: pa.Table) -> pa.Table:
    """Return statuses with those of each partition together, partitions in order of their first."""
    paths: Any = pc.dictionary_encode(statuses["partition_path"].combine_chunks())
    codes = paths.indices.to_numpy()
    if (codes[:-1] <= codes[1:]).all():
        return statuses
    return statuses.take(pa.array(np.argsort(codes, kind="stable")))


def _clusters(segments: Iterable[SegmentRef]) -> Iterator[Sequence[SegmentRef]]:
    """Yield groups of segments whose ranges overlap, in ascending order."""
    cluster: list[SegmentRef] = []
    last = -1
    for segment in sorted((s for s in segments if s.files), key=lambda s: (s.first, s.last)):
        if cluster and segment.first > last:
            yield cluster
            cluster = []
        cluster.append(segment)
        last = max(last, segment.last)
    if cluster:
        yield cluster


def _check_numbers(numbers: pa.ChunkedArray, path: str) -> None:
    """Raise unless the sorted `numbers` strictly increase."""
    if len(numbers) < 2:  # noqa: PLR2004 # one number cannot repeat
        return
    flat = numbers.combine_chunks()
    if not pc.all(pc.less(flat[:-1], flat[1:])).as_py():
        raise CorruptFileError(
            "commit/duplicate-number",
            "one source file has two statuses",
            where=Where(file=path),
            remedy="Run again with --fresh.",
        )


@contextlib.contextmanager
def _typed(path: str) -> Iterator[None]:
    """Convert PyArrow's errors on bad bytes to the typed error."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _corrupt(path, str(error)) from error


def _corrupt(path: str, reason: str) -> CorruptFileError:
    """Return the error for a segment."""
    return CorruptFileError(
        "commit/corrupt-segment",
        f"a status segment cannot be used: {reason}",
        where=Where(file=path),
        remedy="Run again with --fresh; nothing was published.",
    )


_DIGITS: Final = 6


class Journal:
    """The driver's records of one run; the lease ensures one writer at a time."""

    def __init__(self, storage: Storage, staging: Staging) -> None:
        self._storage = storage
        self._staging = staging
        self._next: int | None = None

    def append(self, record: Mapping[str, object]) -> None:
        """Add a JSON-able record.

        Raises:
            StorageError: among others `storage/exists` if another writer is active.
        """
        number = self._next_number()
        target = join(self._staging.journal, f"{number:0{_DIGITS}}.json")
        data = json.dumps(record).encode()
        create_whole(self._storage, target, self._staging.new_publish(), data)
        self._next = number + 1

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all records in order; costs one listing and one read each.

        Raises:
            CorruptFileError: `commit/corrupt-journal` if a record is missing or damaged.
        """
        for place, entry in enumerate(self._storage.list(self._staging.journal), start=1):
            with self._storage.open_input(entry.path) as source:
                text = source.read()
            try:
                record = json.loads(text)
            except ValueError as error:
                raise _corrupt_record(entry.path) from error
            if entry.name != f"{place:0{_DIGITS}}.json" or not isinstance(record, dict):
                raise _corrupt_record(entry.path)
            yield record

    def _next_number(self) -> int:
        """Return the first free number; lists once per journal."""
        if self._next is None:
            self._next = 1 + sum(1 for _ in self._storage.list(self._staging.journal))
        return self._next


def _corrupt_record(path: str) -> CorruptFileError:
    """Return the error for one record."""
    return CorruptFileError(
        "commit/corrupt-journal",
        "the journal of the earlier run is damaged",
        where=Where(file=path),
        remedy="Run again with --fresh; nothing was published.",
    )
