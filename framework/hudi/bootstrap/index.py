"""The bootstrap index, which maps skeletons to source files (format sheet, 4.4 to 4.6).

It is two HFiles, both required: one value per partition with all its files, and one value per file.
Hudi's readers only seek forward, so both must be in strict byte order of their whole keys, which
orders partitions differently:

    partitions file      fileids file
    part=p=1             part=p=1-2;fileid=…
    part=p=1-2           part=p=1/x;fileid=…
    part=p=1/x           part=p=10;fileid=…
    part=p=10            part=p=1;fileid=…       (";" is above "-", "/" and digits)

An index may be written anew from another one; members of any writer's values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO, Final, Self

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
    moved_file,
    moved_partition,
    partition_key,
    partition_of_key,
    partition_without,
    split_fileids_key,
)
from framework.hudi.codecs.avro import read_container
from framework.hudi.codecs.hfile import HFilePart, HFileWriter
from framework.hudi.codecs.hfile_reader import HFileReader
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import (
    ADOPTED_FILEIDS_INDEX,
    ADOPTED_PARTITIONS_INDEX,
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_PARTITIONS_INDEX,
)

__all__ = [
    "BootstrapIndex",
    "FileMapping",
    "IndexFiles",
    "IndexGroup",
    "IndexPart",
    "IndexWriter",
    "fileids_key",
    "listed_files",
    "part_starts",
    "partition_key",
    "write_index_part",
    "write_moved",
    "write_without",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """The blocks of some partitions in both files."""

    partitions: HFilePart
    fileids: HFilePart


def write_index_part(
    partitions_out: BinaryIO, fileids_out: BinaryIO, groups: Iterable[IndexGroup]
) -> IndexPart:
    """Write the blocks of some partitions, all of which memory holds.

    Args:
        partitions_out: gets the blocks of the partitions file.
        fileids_out: gets those of the other.
        groups: each partition once, in any order, as are its files.

    Raises:
        CorruptFileError: `hfile/key-order` for a repeated partition or id.
        PlanError: `bootstrap/partition-name`, as in `fileids_key`.
    """
    found = [_by_id(group) for group in groups]
    partitions = HFileWriter(partitions_out)
    for group in sorted(found, key=lambda each: partition_key(each.partition_path)):
        partitions.append(partition_key(group.partition_path), encode_partition(group))
    fileids = HFileWriter(fileids_out)
    for group in sorted(found, key=lambda each: fileids_key(each.partition_path)):
        prefix = fileids_key(group.partition_path)
        for file, value in zip(group.files, encode_file_values(group), strict=True):
            fileids.append(prefix + file.file_id.encode(), value)
    return IndexPart(partitions=partitions.end_part(), fileids=fileids.end_part())


class IndexWriter:
    """Writer of both files from parts.

    No key of a later part may precede one of an earlier part, in either order: see `part_starts`.

    Args:
        partitions_out: see `BOOTSTRAP_PARTITIONS_INDEX`; left open.
        fileids_out: see `BOOTSTRAP_FILEIDS_INDEX`; left open.
    """

    def __init__(self, partitions_out: BinaryIO, fileids_out: BinaryIO) -> None:
        self._partitions = HFileWriter(partitions_out)
        self._fileids = HFileWriter(fileids_out)
        self._keys = (0, 0)

    def add(self, part: IndexPart, partitions: BinaryIO, fileids: BinaryIO) -> None:
        """Copy a part, whose blocks the two streams hold.

        Raises:
            CorruptFileError: `hfile/key-order`, `hfile/part-truncated`.
        """
        self._partitions.append_part(part.partitions, partitions)
        self._fileids.append_part(part.fileids, fileids)
        groups, files = self._keys
        self._keys = (groups + part.partitions.entries, files + part.fileids.entries)

    def finish(self, *, base_uri: str, created_ms: int) -> None:
        """Complete both files.

        Args:
            base_uri: full URI of the source's base folder.
            created_ms: time of creation, milliseconds since the epoch, UTC.
        """
        for writer, keys in zip((self._partitions, self._fileids), self._keys, strict=True):
            writer.finish({INDEX_INFO_KEY: encode_info(base_uri, created_ms, keys)})


def part_starts(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each partition path, which come by their bytes, and whether a part may begin there.

    It may unless the path extends an earlier one whose key it precedes in the fileids file.
    """
    waiting: list[str] = []
    for path in paths:
        while waiting and not _precedes(path, waiting[-1]):
            waiting.pop()
        yield path, not waiting
        waiting.append(path)


def _precedes(path: str, shorter: str) -> bool:
    """Return whether `path`, which is later by its bytes, is earlier by its key."""
    return path.startswith(shorter) and fileids_key(path) < fileids_key(shorter)


class BootstrapIndex:
    """An open index; each lookup reads only the blocks it needs.

    Also a context manager that closes both files.

    Attributes:
        base_uri: the source's base folder, as recorded in the index.
    """

    def __init__(
        self,
        storage: Storage,
        partitions: str = BOOTSTRAP_PARTITIONS_INDEX,
        fileids: str = BOOTSTRAP_FILEIDS_INDEX,
    ) -> None:
        self._partitions_place = _place(storage, partitions)
        self._fileids_place = _place(storage, fileids)
        self._files: list[Any] = []
        try:
            self._partitions = self._reader(storage, partitions)
            self._fileids = self._reader(storage, fileids)
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

    @classmethod
    def open_adopted(cls, storage: Storage) -> BootstrapIndex | None:
        """Open the index of all files that a table adopted, also of those cleaned since.

        That is the copy that the first clean that shrank the index kept, else the index.

        Raises:
            CorruptFileError: as of `open`.
        """
        both = (ADOPTED_PARTITIONS_INDEX, ADOPTED_FILEIDS_INDEX)
        if all(storage.stat(path) for path in both):
            return cls(storage, *both)
        return cls.open(storage)

    @property
    def info(self) -> dict[str, Any]:
        """The record of the whole index, as the partitions file has it."""
        info = self._partitions.file_info.get(INDEX_INFO_KEY, b"")
        return read_container(info, where=self._partitions_place)

    def partition_values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of the partitions file, in its order."""
        return self._partitions.scan()

    def file_values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of the fileids file, in its order."""
        return self._fileids.scan()

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

    def by_file_id(self) -> Iterator[tuple[str, dict[str, FileMapping]]]:
        """Yield each partition with its files by id, from the fileids file; reads all of it.

        Raises:
            CorruptFileError: `bootstrap-index/corrupt`; or as of `HFileReader.scan`.
        """
        entries = (
            (*split_fileids_key(key, self._fileids_place), value)
            for key, value in self._fileids.scan()
        )
        for partition_path, found in groupby(entries, key=itemgetter(0)):
            place = replace(self._fileids_place, partition=partition_path)
            yield partition_path, {each: decode_file(each, v, place) for _, each, v in found}

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
        base = self.info.get("bootstrapBasePath")
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


IndexFiles = Mapping[str, Collection[str]]
"""File ids by partition path."""
_WHERE: Final = Where()


def listed_files(index: BootstrapIndex, files: IndexFiles) -> dict[str, frozenset[str]]:
    """Return those of some files that an index lists; one read for each partition."""
    found = {path: frozenset(ids) & index.mappings(path).keys() for path, ids in files.items()}
    return {path: ids for path, ids in found.items() if ids}


def write_without(
    storage: Storage, index: BootstrapIndex, gone: IndexFiles, paths: tuple[str, str]
) -> None:
    """Write both files of an index without some of its files; reads and writes all of it once.

    Args:
        storage: of the new files.
        index: the old one.
        gone: files that it lists, but not all of them.
        paths: of the new partitions file and of the new fileids file.

    Raises:
        CorruptFileError: the old index is damaged.
    """
    with ExitStack() as stack:
        partitions, fileids = (stack.enter_context(storage.create(path)) for path in paths)
        _write(partitions, _partitions(index, gone), index, index.base_uri)
        _write(fileids, _files(index, gone), index, index.base_uri)


def write_moved(
    storage: Storage,
    index: BootstrapIndex,
    base_uri: str,
    move: Callable[[str], str],
    paths: tuple[str, str],
) -> None:
    """Write both files of an index with a moved source; reads and writes all of it once.

    Args:
        storage: of the new files.
        index: the old one.
        base_uri: full URI of the source's new base folder.
        move: returns the new URI of a source file.
        paths: of the new partitions file and of the new fileids file.

    Raises:
        CorruptFileError: the old index is damaged.
    """
    partitions = (
        (key, moved_partition(value, move, _WHERE)) for key, value in index.partition_values()
    )
    fileids = (
        (key, moved_file(split_fileids_key(key, _WHERE)[1], value, move, _WHERE))
        for key, value in index.file_values()
    )
    for path, entries in zip(paths, (partitions, fileids), strict=True):
        with storage.create(path) as out:
            _write(out, entries, index, base_uri)


def _write(
    out: BinaryIO, entries: Iterable[tuple[bytes, bytes]], index: BootstrapIndex, base_uri: str
) -> None:
    """Write one file, with the facts of the old index and its own number of entries."""
    writer, count = HFileWriter(out), 0
    for key, value in entries:
        writer.append(key, value)
        count += 1
    created = index.info.get("createdTimestamp")
    created_ms = created if isinstance(created, int) else 0
    writer.finish({INDEX_INFO_KEY: encode_info(base_uri, created_ms, count)})


def _partitions(index: BootstrapIndex, gone: IndexFiles) -> Iterator[tuple[bytes, bytes]]:
    """Yield the partitions that keep a file."""
    by_key = {partition_key(path): frozenset(ids) for path, ids in gone.items()}
    for key, value in index.partition_values():
        ids = by_key.get(key)
        left = partition_without(value, ids, _WHERE) if ids else value
        if left is not None:
            yield key, left


def _files(index: BootstrapIndex, gone: IndexFiles) -> Iterator[tuple[bytes, bytes]]:
    """Yield the files that stay."""
    keys = {fileids_key(path, file_id) for path, ids in gone.items() for file_id in ids}
    return ((key, value) for key, value in index.file_values() if key not in keys)
