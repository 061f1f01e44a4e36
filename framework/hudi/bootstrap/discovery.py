"""Discovery of a source's files: folders first, then partition by partition.

Names are hidden by the rule of Spark's own file index, so that we see the same files as a query on
the folder. Partition folders are found without listing them; then each is listed once, several at
a time, since a listing on a mount waits for its answer. The names of a few partitions are held at a
time (all names if there are no partitions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.storage.overlap import threads_for
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.partition_path import PartitionValue

__all__ = ["Ignored", "SourceFile", "check_folder_values", "discover", "is_hidden"]

_SAMPLES: Final = 10
_AHEAD: Final = 4
_DEEPEST: Final = 32  # a system follows at most 40 links


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of the source.

    Attributes:
        partition_path: the folder that is its partition, relative to the source root.
        path: relative to the source root.
        size: bytes.
        mtime_ns: last modification, nanoseconds since the epoch.
        etag: as of `Entry`.
    """

    partition_path: str
    path: str
    size: int
    mtime_ns: int
    etag: str = ""


@dataclass(slots=True)
class Ignored:
    """Counter of the files and folders that `discover` ignores.

    A hidden folder counts once, regardless of its contents. `samples` are a few of the paths.
    """

    count: int = 0
    samples: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Count one path."""
        self.count += 1
        if len(self.samples) < _SAMPLES:
            self.samples.append(path)

    def add_all(self, other: Ignored) -> None:
        """Count what another counter has counted."""
        self.count += other.count
        self.samples += other.samples[: _SAMPLES - len(self.samples)]


def is_hidden(name: str) -> bool:
    """Return whether Spark reads no data from a file or folder of this name.

    That is a leading `_` (but not `_column=value`), a leading `.`, or a trailing `._COPYING_`.
    """
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")


def discover(storage: Storage, levels: int, ignored: Ignored) -> Iterator[SourceFile]:
    """Yield the source's files by partition path, then by path, both as UTF-8 bytes.

    Costs one listing per folder; those of partitions run on a few threads.

    Args:
        storage: opened at the source root; links to files and folders are followed.
        levels: folder levels of a partition; 0 if all files are one partition.
        ignored: counts ignored files and folders.

    Raises:
        PlanError: `source/missing` if the root is not a folder; `source/file-beside-partitions`
            for a data file above or below the partition level; `source/too-deep`.
    """
    root = storage.stat("")
    if root is None or not root.is_folder:
        raise PlanError(
            "source/missing",
            "the source is not a folder",
            where=Where(file=storage.location),
            remedy="Set `bootstrap.path` to the folder that holds the Parquet files.",
        )
    if levels == 0:
        for entry in sorted(_files_below(storage, "", ignored), key=lambda each: each.path):
            yield _file("", entry)
        return
    partitions = sorted(_partitions(storage, "", levels, ignored))
    listed = partial(_listed, storage, levels)
    threads = threads_for(storage)
    window = _AHEAD * threads
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(partitions), window):
            for files, hidden in pool.map(listed, partitions[start : start + window]):
                ignored.add_all(hidden)
                yield from files


def _listed(storage: Storage, levels: int, partition: str) -> tuple[list[SourceFile], Ignored]:
    """Return the files of one partition folder, and what is ignored in it."""
    ignored = Ignored()
    return list(_partition_files(storage, partition, levels, ignored)), ignored


def _partitions(storage: Storage, folder: str, levels: int, ignored: Ignored) -> Iterator[str]:
    """Yield the folders `levels` below `folder`."""
    for entry in storage.list(folder):
        if is_hidden(entry.name):
            ignored.add(entry.path)
        elif not entry.is_folder:
            raise _misplaced(storage, entry, "above")
        elif levels == 1:
            yield entry.path
        else:
            yield from _partitions(storage, entry.path, levels - 1, ignored)


def _partition_files(
    storage: Storage, partition: str, levels: int, ignored: Ignored
) -> Iterator[SourceFile]:
    """Yield the files of one partition folder, by name."""
    for entry in storage.list(partition):
        if is_hidden(entry.name):
            ignored.add(entry.path)
        elif entry.is_folder:
            for deeper in _files_below(storage, entry.path, ignored, depth=levels + 1):
                raise _misplaced(storage, deeper, "below")
        else:
            yield _file(partition, entry)


def _files_below(
    storage: Storage, folder: str, ignored: Ignored, depth: int = 0
) -> Iterator[Entry]:
    """Yield the data files in `folder` and all folders below it."""
    if depth > _DEEPEST:
        raise PlanError(
            "source/too-deep",
            f"folders are more than {_DEEPEST} levels deep; does a link lead back up?",
            where=Where(file=f"{storage.location}/{folder}"),
            remedy="Remove the link.",
        )
    for entry in storage.list(folder):
        if is_hidden(entry.name):
            ignored.add(entry.path)
        elif entry.is_folder:
            yield from _files_below(storage, entry.path, ignored, depth + 1)
        else:
            yield entry


def _file(partition: str, entry: Entry) -> SourceFile:
    return SourceFile(
        partition_path=partition,
        path=entry.path,
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        etag=entry.etag,
    )


def _misplaced(storage: Storage, entry: Entry, side: str) -> PlanError:
    """Return the error for a data file outside partitions."""
    return PlanError(
        "source/file-beside-partitions",
        f"a data file is {side} the partition folders",
        where=Where(file=f"{storage.location}/{entry.path}"),
        remedy="Declare one column in `partition_by` for each folder level, or move the file away.",
    )


def check_folder_values(
    source: SourceReader, schema: Any, values: Mapping[str, PartitionValue], partition_path: str
) -> None:
    """Compare each partition column that the file has with its folder's value.

    Reads these columns, which are small since they hold one value.

    Args:
        source: the open file.
        schema: the table's Arrow schema.
        values: typed values of the folder; None means null or, for text, an empty string.
        partition_path: the folder, for errors.

    Raises:
        CorruptFileError: `source/value-is-not-its-folders`, or as in `SourceReader.batches`.
    """
    for name, value in values.items():
        if source.lacks(name):
            continue
        field = schema.field(name)
        for group in source.row_groups():
            if not _holds(source, group, field, value):
                raise CorruptFileError(
                    "source/value-is-not-its-folders",
                    f"column '{name}' has other values than its folder's {value!r}"
                    f" in row group {group}",
                    where=Where(file=source.file, partition=partition_path),
                    remedy="Correct the file or move its rows to their folders; or exclude the"
                    " partition with `mode: skip`.",
                )


def _holds(source: SourceReader, group: int, field: Any, value: PartitionValue) -> bool:
    """Return whether all rows of a row group have the value."""
    for batch in source.batches(group, pa.schema([field])):
        column = batch.column(0)
        if value is None:
            blank = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
            same = pc.or_kleene(column.is_null(), pc.equal(column, "")) if blank else None
            same = column.is_null() if same is None else same
        else:
            same = pc.fill_null(pc.equal(column, pa.scalar(value, field.type)), fill_value=False)
        if not pc.all(same).as_py():
            return False
    return True
