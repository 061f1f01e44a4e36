"""One stored file, opened again and compared with the status of the task that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, FrameworkError, StorageError, Where
from framework.hudi.codecs.hash_sort import sort_hashes
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.hudi.filegroup.log_changes import every_change
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import MetaField, join

__all__ = ["StoredFacts", "StoredFile", "facts_of"]

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


def facts_of(storage: Storage, file: StoredFile) -> StoredFacts:
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
    paths = (file.staged, join(file.partition_path, file.name))
    found = next((path for path in paths if storage.stat(path) is not None), None)
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
