"""The bootstrap index, which maps skeletons to source files (format sheet, 4.4 to 4.6).

It is two HFiles, both required: one value per partition with all its files, and one value per file.
Hudi's readers only seek forward, so both must be in strict byte order of their whole keys, which
orders partitions differently:

    partitions file      fileids file
    part=p=1             part=p=1-2;fileid=…
    part=p=1-2           part=p=1/x;fileid=…
    part=p=1/x           part=p=10;fileid=…
    part=p=10            part=p=1;fileid=…       (";" is above "-", "/" and digits)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO, Literal, Self, TypeAlias

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.index_values import (
    INDEX_INFO_KEY,
    FileMapping,
    IndexGroup,
    decode_file,
    decode_partition,
    encode_file_values,
    encode_info,
    encode_partition,
    fileids_key,
    partition_key,
    partition_of_key,
)
from framework.hudi.codecs.avro import read_container
from framework.hudi.codecs.hfile import HFileWriter
from framework.hudi.codecs.hfile_reader import HFileReader
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_FILEIDS_INDEX, BOOTSTRAP_PARTITIONS_INDEX

__all__ = [
    "BootstrapIndex",
    "FileMapping",
    "IndexGroup",
    "IndexOrder",
    "fileids_key",
    "partition_key",
    "write_index",
]

IndexOrder: TypeAlias = Literal["partition", "fileid"]


def write_index(
    partitions_out: BinaryIO,
    fileids_out: BinaryIO,
    *,
    base_uri: str,
    groups: Callable[[IndexOrder], Iterable[IndexGroup]],
    created_ms: int,
) -> None:
    """Write both files; memory holds one partition at a time.

    Args:
        partitions_out: see `BOOTSTRAP_PARTITIONS_INDEX`; left open.
        fileids_out: see `BOOTSTRAP_FILEIDS_INDEX`; left open.
        base_uri: full URI of the source's base folder.
        groups: called once for each order: "partition" sorts by `partition_key`, "fileid" by
            `fileids_key` of the partition. Each partition once; files in any order.
        created_ms: time of creation, milliseconds since the epoch, UTC.

    Raises:
        CorruptFileError: `hfile/key-order` for groups out of order, or a repeated partition or id.
        PlanError: `bootstrap/partition-name`, as in `fileids_key`.
    """
    partitions = HFileWriter(partitions_out)
    keys = 0
    for group in groups("partition"):
        partitions.append(partition_key(group.partition_path), encode_partition(_by_id(group)))
        keys += 1
    partitions.finish({INDEX_INFO_KEY: encode_info(base_uri, created_ms, keys)})
    fileids = HFileWriter(fileids_out)
    keys = 0
    for unsorted in groups("fileid"):
        group = _by_id(unsorted)
        prefix = fileids_key(group.partition_path)
        for file, value in zip(group.files, encode_file_values(group), strict=True):
            fileids.append(prefix + file.file_id.encode(), value)
        keys += len(group.files)
    fileids.finish({INDEX_INFO_KEY: encode_info(base_uri, created_ms, keys)})


class BootstrapIndex:
    """An open index; each lookup reads only the blocks it needs.

    Also a context manager that closes both files.

    Attributes:
        base_uri: the source's base folder, as recorded in the index.
    """

    def __init__(self, storage: Storage) -> None:
        self._partitions_place = _place(storage, BOOTSTRAP_PARTITIONS_INDEX)
        self._fileids_place = _place(storage, BOOTSTRAP_FILEIDS_INDEX)
        self._files: list[Any] = []
        try:
            self._partitions = self._reader(storage, BOOTSTRAP_PARTITIONS_INDEX)
            self._fileids = self._reader(storage, BOOTSTRAP_FILEIDS_INDEX)
            self.base_uri = self._base_uri()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, storage: Storage) -> BootstrapIndex | None:
        """Open the index of a table; return None if it has none.

        Raises:
            CorruptFileError: `bootstrap-index/half` if one of the two files is missing (Hudi would
                silently read nulls), or as in `HFileReader`.
        """
        both = (BOOTSTRAP_PARTITIONS_INDEX, BOOTSTRAP_FILEIDS_INDEX)
        missing = [path for path in both if storage.stat(path) is None]
        if len(missing) == len(both):
            return None
        if missing:
            raise CorruptFileError(
                "bootstrap-index/half",
                "one of the two files of the bootstrap index is missing",
                where=_place(storage, missing[0]),
                remedy="Restore the file from a copy, or recreate the table.",
            )
        return cls(storage)

    def partitions(self) -> Iterator[str]:
        """Yield the indexed partition paths in byte order; reads the whole partitions file."""
        for key, _ in self._partitions.scan():
            yield partition_of_key(key, self._partitions_place)

    def mappings(self, partition_path: str) -> dict[str, FileMapping]:
        """Return a partition's files by file id; empty if it is not indexed."""
        value = self._partitions.get(partition_key(partition_path))
        place = replace(self._partitions_place, partition=partition_path)
        return {} if value is None else decode_partition(value, place)

    def mapping(self, partition_path: str, file_id: str) -> FileMapping | None:
        """Return the source file of one skeleton, None if it is not indexed."""
        value = self._fileids.get(fileids_key(partition_path, file_id))
        place = replace(self._fileids_place, partition=partition_path)
        return None if value is None else decode_file(file_id, value, place)

    def close(self) -> None:
        """Close both files."""
        for file in self._files:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reader(self, storage: Storage, path: str) -> HFileReader:
        source = storage.open_input(path)
        self._files.append(source)
        return HFileReader(source, file=_place(storage, path).file or path)

    def _base_uri(self) -> str:
        """Read the source's base folder from the partitions file, as Hudi does."""
        info = self._partitions.file_info.get(INDEX_INFO_KEY, b"")
        base = read_container(info, where=self._partitions_place).get("bootstrapBasePath")
        if not isinstance(base, str):
            raise CorruptFileError(
                "bootstrap-index/corrupt", "the index has no base", where=self._partitions_place
            )
        return base


def _place(storage: Storage, path: str) -> Where:
    """Return the location of an index file, for errors."""
    return Where(file=f"{storage.location}/{path}")


def _by_id(group: IndexGroup) -> IndexGroup:
    """Return the group with its files in the byte order of their ids."""
    return replace(group, files=sorted(group.files, key=lambda file: file.file_id.encode()))
