"""The read-back: stored files have the bytes, rows and keys that the writing tasks reported.

Tasks report what they had in memory. A storage that loses or alters bytes after a successful write,
and a status of an attempt whose files are not those in the table, are visible only in the files
themselves. So before the gate passes them, tasks open them again through the storage: a sample, or
all. The sample depends only on the statuses, so a run that is resumed reads the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.tasks import InProcessTasks, Tasks, decode, encode, shared
from framework.errors import CorruptFileError, FrameworkError, StorageError, Where
from framework.hudi.codecs.hash_sort import sort_hashes
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.hudi.commit.segments import SegmentRef, read_segment
from framework.hudi.commit.statuses import WrittenFiles
from framework.hudi.filegroup.log_changes import every_change
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import MetaField, join
from framework.vocabulary import AuditDepth

__all__ = ["ReadBack", "read_back", "read_back_task", "sample"]

_SAMPLE_FILES: Final = 64
_SAMPLE_BYTES: Final = 64 << 20
_SAMPLE_ROWS: Final = 1_000_000
"""Bounds of a sample: a fraction of a second of one core. At least one file is read."""
_LEAST_BYTES: Final = 4 << 20
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIELDS: Final = [
    *("number", "staged", "partition_path", "name", "size", "crc32c", "rows", "deletes"),
    *("min_key", "max_key", "previous", "null_keys"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Files of one segment: those with some numbers, or all; `bytes` is their size."""

    segment: SegmentRef
    numbers: tuple[int, ...] | None
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBackTask:
    """Some files to open again, and the location of their table."""

    table: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """The stored files that were opened again, all of which are as reported.

    Attributes:
        depth: whether these are a sample or all.
        files: their number.
        rows: rows or records in them.
        bytes: their size; every byte was read.
        null_keys: rows in them without a key.
        repeated_keys: rows in files of new rows whose key an earlier row of the same file has.
    """

    depth: AuditDepth
    files: int = 0
    rows: int = 0
    bytes: int = 0
    null_keys: int = 0
    repeated_keys: int = 0

    def as_json(self) -> dict[str, str | int]:
        """Return what the proof records."""
        return {
            "depth": self.depth.value,
            "files": self.files,
            "rows": self.rows,
            "bytes": self.bytes,
        }


def read_back(tasks: Tasks, written: WrittenFiles, table: str, depth: AuditDepth) -> ReadBack:
    """Open stored files again and compare them with their statuses; return what they contain.

    Compares size and CRC-32C of the whole file, the footer with its seal, rows, and of the key
    column: nulls, least and greatest key, and that no key repeats in a file of new rows.

    Args:
        tasks: read the files, each one whole file at a time; few bytes are read in this process.
        written: the files; they are staged, or already have their names.
        table: location of their table.
        depth: which files.

    Raises:
        CorruptFileError: `audit/stored-differs`, `audit/unreadable-file`.
    """
    chosen = _stretches(written, table, depth)
    parts = shared(chosen, lambda each: each.bytes, tasks.parallelism, least=_LEAST_BYTES)
    descriptors = [encode(ReadBackTask(table=table, stretches=tuple(part))) for part in parts]
    nearby = tasks if len(descriptors) > 1 else InProcessTasks(1)
    found = StoredFacts()
    for status in nearby.run(read_back_task, descriptors) if chosen else ():
        found += decode(StoredFacts, status)
    return ReadBack(
        depth=depth,
        files=found.files,
        rows=found.rows,
        bytes=found.bytes,
        null_keys=found.null_keys,
        repeated_keys=found.repeated_keys,
    )


def read_back_task(descriptor: str) -> str:
    """Read the files of a `ReadBackTask`; return their `StoredFacts` as JSON.

    Raises:
        CorruptFileError: as of `read_back`.
    """
    task = decode(ReadBackTask, descriptor)
    storage = open_storage(task.table)
    found = StoredFacts()
    for stretch in task.stretches:
        for batch in read_segment(storage, stretch.segment):
            chosen = _chosen(batch, stretch.numbers).select(_FIELDS).to_pylist()
            files = (StoredFile(**status) for status in chosen)
            facts_of = partial(_facts_of, storage)
            for facts in overlapped(storage, facts_of, files, size=lambda file: file.size):
                found += facts
    return encode(found)


def sample(written: WrittenFiles, table: str) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the files that a sample reads, by the path of their segment.

    Every writing task has about the same number of files in it, as far as the bounds allow.
    """
    each = -(-_SAMPLE_FILES // max(1, sum(1 for s in written.segments if s.files)))
    picked = [_least(segment, table, each) for segment in written.segments if segment.files]
    if not picked:
        return {}
    found = pa.concat_tables(picked).sort_by([("turn", "ascending"), ("mixed", "ascending")])
    kept: dict[str, tuple[int, ...]] = {}
    files = size = rows = 0
    for row in found.to_pylist():
        over = size + row["size"] > _SAMPLE_BYTES or rows + row["rows"] > _SAMPLE_ROWS
        if files and (over or files == _SAMPLE_FILES):
            continue
        files, size, rows = files + 1, size + row["size"], rows + row["rows"]
        kept[row["segment"]] = (*kept.get(row["segment"], ()), row["number"])
    return kept


def _stretches(written: WrittenFiles, table: str, depth: AuditDepth) -> Sequence[Stretch]:
    """Return the files to read."""
    if depth is AuditDepth.DEEP:
        return [
            Stretch(segment=each, numbers=None, bytes=each.bytes)
            for each in written.segments
            if each.files
        ]
    chosen = sample(written, table)
    return [
        Stretch(
            segment=each,
            numbers=chosen[each.path],
            bytes=each.bytes * len(chosen[each.path]) // each.files,
        )
        for each in written.segments
        if each.path in chosen
    ]


def _chosen(batch: Any, numbers: tuple[int, ...] | None) -> Any:
    """Return the statuses with these numbers, all if None."""
    if numbers is None:
        return batch
    return batch.filter(pc.is_in(batch["number"], pa.array(numbers, pa.int64())))


def _least(segment: SegmentRef, table: str, most: int) -> pa.Table:
    """Return the few files of a segment whose mixed numbers are least, with their order."""
    kept = pa.concat_tables(_mixed(open_storage(table), segment)).sort_by("mixed").slice(0, most)
    turns = pa.array(range(kept.num_rows), pa.int64())
    names = pa.array([segment.path] * kept.num_rows, pa.string())
    return kept.append_column("turn", turns).append_column("segment", names)


def _mixed(storage: Any, segment: SegmentRef) -> Iterator[pa.Table]:
    """Yield number, size and rows of the files, with a number that scatters them."""
    for batch in read_segment(storage, segment):
        found = pa.Table.from_batches([batch.select(["number", "size", "rows"])])
        with np.errstate(over="ignore"):
            mixed = batch["number"].to_numpy().astype(np.uint64) * _GOLDEN
        yield found.append_column("mixed", pa.array(mixed))


_KEY: Final = MetaField.RECORD_KEY.value
_KEYS: Final = pa.schema([pa.field(_KEY, pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as its task reported it; attributes as in `SEGMENT_SCHEMA`."""

    number: int
    staged: str
    partition_path: str
    name: str
    size: int
    crc32c: int
    rows: int
    deletes: int
    min_key: str | None
    max_key: str | None
    previous: str | None
    null_keys: int | None

    @property
    def is_log(self) -> bool:
        """Whether it is a log file."""
        return self.name.startswith(".")

    @property
    def is_new(self) -> bool:
        """Whether all its rows are new; those of services and older slices may repeat keys."""
        return self.previous is None and self.null_keys is not None and not self.is_log


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFacts:
    """Totals of stored files; as in `ReadBack`."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    null_keys: int = 0
    repeated_keys: int = 0

    def __add__(self, other: StoredFacts) -> StoredFacts:
        """Return the totals of both."""
        return StoredFacts(
            files=self.files + other.files,
            rows=self.rows + other.rows,
            bytes=self.bytes + other.bytes,
            null_keys=self.null_keys + other.null_keys,
            repeated_keys=self.repeated_keys + other.repeated_keys,
        )


def _facts_of(storage: Storage, file: StoredFile) -> StoredFacts:
    """Return what a stored file contains; reads every byte once, and decodes its keys.

    Raises:
        CorruptFileError: `audit/stored-differs`, `audit/unreadable-file`.
    """
    path = _path(storage, file)
    where = Where(file=f"{storage.location}/{path}", partition=file.partition_path or None)
    try:
        with storage.open_input(path) as stream:
            data = stream.read_buffer()
        _compare(where, "its size", file.size, data.size)
        _compare(where, "its checksum", file.crc32c, int(google_crc32c.value(data)))
        keys = _logged(storage, path, file, where) if file.is_log else _keys(data, file, where)
    except StorageError as error:
        if error.condition != "storage/not-found":
            raise
        _refuse(where, "it is described, but not there")
    except UNREADABLE as error:
        raise _unreadable(where, error) from error
    return _checked(file, keys, where, data.size)


def _path(storage: Storage, file: StoredFile) -> str:
    """Return where the file is: staged, or in a resumed run already at its name.

    Raises:
        CorruptFileError: `audit/stored-differs`; it is nowhere.
    """
    placed = join(file.partition_path, file.name)
    if file.staged == placed:  # in a store: whoever opens it finds out
        return placed
    found = next((p for p in (file.staged, placed) if storage.stat(p) is not None), None)
    if found is None:
        where = Where(file=f"{storage.location}/{file.staged}")
        _refuse(where, "a task wrote it, and it is not there")
    return found


def _keys(data: pa.Buffer, file: StoredFile, where: Where) -> pa.ChunkedArray:
    """Return the keys of a base file, after comparing its footer."""
    source = pa.BufferReader(data)
    footer = SealedFooter.read(source)
    _compare(where, "the row count of its footer", file.rows, footer.metadata.num_rows)
    read: pa.Table = footer.opened(source, [_KEY]).read(columns=[_KEY], use_threads=False)
    return read[_KEY]


def _logged(storage: Storage, path: str, file: StoredFile, where: Where) -> pa.ChunkedArray:
    """Return the keys of the records in a log file, after comparing its number of deletes."""
    try:
        changes = list(every_change(storage, path, _KEYS))
    except StorageError:
        raise
    except FrameworkError as error:
        raise _unreadable(where, error) from error
    if any(each is None for each in changes):
        _refuse(where, "one of its blocks is torn")
    deletes = sum(len(each.deleted) for each in changes if each)
    _compare(where, "its number of deleted keys", file.deletes, deletes)
    rows = [each.rows for each in changes if each and each.rows is not None]
    return pa.concat_tables([_KEYS.empty_table(), *(each.select([_KEY]) for each in rows)])[_KEY]


def _checked(file: StoredFile, keys: pa.ChunkedArray, where: Where, size: int) -> StoredFacts:
    """Return the facts of the keys, after comparing them with the status."""
    _compare(where, "its number of keys", file.rows, len(keys))
    _compare(where, "its number of rows without a key", 0, keys.null_count)
    found = pc.min_max(keys)
    _compare(where, "its least key", file.min_key, found["min"].as_py())
    _compare(where, "its greatest key", file.max_key, found["max"].as_py())
    repeated = _repeated(keys) if file.is_new else 0
    _compare(where, "its number of repeated keys", 0, repeated)
    return StoredFacts(
        files=1,
        rows=len(keys),
        bytes=size,
        null_keys=keys.null_count,
        repeated_keys=repeated,
    )


def _repeated(keys: pa.ChunkedArray) -> int:
    """Return how many keys are equal to an earlier one; texts are compared only if hashes are."""
    hashes = np.concatenate([np.empty(0, np.uint64), *_hashes(keys)])
    sort_hashes(hashes)
    if not (hashes[1:] == hashes[:-1]).any():
        return 0
    return len(keys) - int(pc.count_distinct(keys).as_py())


def _hashes(keys: pa.ChunkedArray) -> Iterator[np.ndarray]:
    for chunk in keys.chunks:
        yield key_hashes(chunk)


def _compare(where: Where, what: str, reported: object, stored: object) -> None:
    """Raise if a fact is not what the task reported.

    Raises:
        CorruptFileError: `audit/stored-differs`.
    """
    if reported != stored:
        _refuse(where, f"{what} is {stored!r}, not {reported!r}")


def _refuse(where: Where, reason: str) -> NoReturn:
    raise CorruptFileError(
        "audit/stored-differs",
        f"a stored file is not the one that was written: {reason}",
        where=where,
        remedy="Nothing was published. Check the disk or mount, then run again with --fresh.",
    )


def _unreadable(where: Where, error: Exception) -> CorruptFileError:
    return CorruptFileError(
        "audit/unreadable-file",
        f"a file just written cannot be read: {error}",
        where=where,
        remedy="Run again with --fresh; nothing was published.",
    )
