"""A bootstrap index written anew from another one: without some files, or with a moved source.

Members of any writer's values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import BinaryIO, Final

from framework.errors import Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.bootstrap.index_values import (
    INDEX_INFO_KEY,
    encode_info,
    fileids_key,
    moved_file,
    moved_partition,
    partition_key,
    partition_without,
    split_fileids_key,
)
from framework.hudi.codecs.hfile import HFileWriter
from framework.hudi.storage.port import Storage

__all__ = ["IndexFiles", "listed_files", "write_moved", "write_without"]

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
