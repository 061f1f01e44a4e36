"""The bootstrap index's keys and values as bytes, and back.

A value is a whole Avro container of one record. An index has one value per file, and every value
holds the same dozen nullable fields, so they are encoded by hand here: a field is the number of its
branch (0 null, 1 set) and the value. A test compares the result with fastavro.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.codecs.avro import ContainerFormat, read_container
from framework.hudi.codecs.varint import read_uvarint, zigzag

__all__ = [
    "FILE_PARTITION_INFO",
    "INDEX_INFO",
    "INDEX_INFO_KEY",
    "PARTITION_METADATA",
    "FileMapping",
    "IndexGroup",
    "decode_file",
    "decode_partition",
    "encode_file_values",
    "encode_info",
    "encode_partition",
    "fileids_key",
    "moved_file",
    "moved_partition",
    "partition_key",
    "partition_of_key",
    "partition_without",
    "split_fileids_key",
]

INDEX_INFO_KEY: Final = b"INDEX_INFO"
_PARTITION_PREFIX: Final = b"part="
_FILE_ID_MARK: Final = b";fileid="
_NULL, _SET = zigzag(0), zigzag(1)
_VERSION: Final = _SET + zigzag(1)
# isDir false, blockReplication 1, blockSize 128 MiB: readers require these but do not use them.
_MIDDLE: Final = _SET + b"\x00" + _SET + zigzag(1) + _SET + zigzag(128 * 1024 * 1024)
_PATH: Final = _VERSION + _SET + _VERSION + _SET  # the status, its path, the path's text
_PERMISSION_TO_SYMLINK: Final = _NULL * 4


def _record(name: str, **fields: Any) -> dict[str, Any]:
    """Return a record whose first field is the version of Hudi's metadata records."""
    typed = {"version": "int", **fields}
    return {
        "type": "record",
        "name": name,
        "namespace": "org.apache.hudi.avro.model",
        "fields": [{"name": field, "type": ["null", kind]} for field, kind in typed.items()],
    }


_FILE_STATUS: Final = _record(
    "HoodieFileStatus",
    path=_record("HoodiePath", uri="string"),
    length="long",
    isDir="boolean",
    blockReplication="int",
    blockSize="long",
    modificationTime="long",
    accessTime="long",
    permission=_record(
        "HoodieFSPermission",
        userAction="string",
        groupAction="string",
        otherAction="string",
        stickyBit="boolean",
    ),
    owner="string",
    group="string",
    symlink="HoodiePath",
)

INDEX_INFO: Final = _record(
    "HoodieBootstrapIndexInfo", bootstrapBasePath="string", createdTimestamp="long", numKeys="int"
)
PARTITION_METADATA: Final = _record(
    "HoodieBootstrapPartitionMetadata",
    bootstrapPartitionPath="string",
    partitionPath="string",
    fileIdToBootstrapFile={"type": "map", "values": _FILE_STATUS},
)
FILE_PARTITION_INFO: Final = _record(
    "HoodieBootstrapFilePartitionInfo",
    bootstrapPartitionPath="string",
    bootstrapFileStatus=_FILE_STATUS,
    partitionPath="string",
)


_INFO: Final = ContainerFormat(INDEX_INFO)
_PARTITION: Final = ContainerFormat(PARTITION_METADATA)
_FILE: Final = ContainerFormat(FILE_PARTITION_INFO)


class FileMapping(NamedTuple):
    """The source file of a skeleton.

    Attributes:
        file_id: id of the skeleton's file group.
        uri: full URI of the source file.
        size: true size of the source file in bytes; Hudi reads no further.
        mtime_ms: its modification time, milliseconds since the epoch, UTC.
    """

    file_id: str
    uri: str
    size: int
    mtime_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexGroup:
    """One partition's skeletons.

    Attributes:
        partition_path: the table's path of the partition; "" if unpartitioned.
        source_partition: the folder of its files below the source's base.
        files: in any order, each file id once, at least one.
    """

    partition_path: str
    source_partition: str
    files: Sequence[FileMapping]


def partition_key(partition_path: str) -> bytes:
    """Return a partition's key; the partitions file is sorted by its bytes."""
    return _PARTITION_PREFIX + partition_path.encode()


def fileids_key(partition_path: str, file_id: str = "") -> bytes:
    """Return a file's key; without a file id, a partition's sort key in the fileids file.

    `p=10` comes before `p=1` there, since `0` is below `;`.

    Raises:
        PlanError: `bootstrap/partition-name` for a path that contains `;fileid=`.
    """
    key = partition_key(partition_path)
    if _FILE_ID_MARK in key:
        raise PlanError(
            "bootstrap/partition-name",
            f"a partition path that contains {_FILE_ID_MARK.decode()!r} cannot be indexed",
            where=Where(partition=partition_path),
            remedy="Adopt this partition as full_record, or skip it.",
        )
    return key + _FILE_ID_MARK + file_id.encode()


def partition_of_key(key: bytes, place: Where) -> str:
    """Return the partition path of a key of the partitions file.

    Raises:
        CorruptFileError: `bootstrap-index/corrupt` for another kind of key.
    """
    if not key.startswith(_PARTITION_PREFIX):
        raise _corrupt(f"the key {key!r} is not a partition's", place)
    try:
        return key[len(_PARTITION_PREFIX) :].decode()
    except UnicodeDecodeError as error:
        raise _corrupt(f"the key {key!r} is not UTF-8", place) from error


def split_fileids_key(key: bytes, place: Where) -> tuple[str, str]:
    """Return the partition path and the file id of a key of the fileids file.

    Raises:
        CorruptFileError: `bootstrap-index/corrupt` for another kind of key.
    """
    head, mark, file_id = key.partition(_FILE_ID_MARK)
    if not mark:
        raise _corrupt(f"the key {key!r} is not a file's", place)
    try:
        return partition_of_key(head, place), file_id.decode()
    except UnicodeDecodeError as error:
        raise _corrupt(f"the key {key!r} is not UTF-8", place) from error


def encode_info(base_uri: str, created_ms: int, keys: int) -> bytes:
    """Return the value of `INDEX_INFO`."""
    return _INFO.write(
        {
            "version": 1,
            "bootstrapBasePath": base_uri,
            "createdTimestamp": created_ms,
            "numKeys": keys,
        }
    )


def encode_partition(group: IndexGroup) -> bytes:
    """Return a partition's value: all its files by file id."""
    parts = [
        _VERSION,
        _SET,
        _text(group.source_partition),
        _SET,
        _text(group.partition_path),
        _SET,
        zigzag(len(group.files)),
    ]
    for file in group.files:
        parts += (_text(file.file_id), _status(file))
    # The map is one block of entries, then an empty block.
    parts.append(_NULL)
    return _PARTITION.seal(b"".join(parts))


def encode_file_values(group: IndexGroup) -> Iterator[bytes]:
    """Yield one value per file of a partition, in their order."""
    head = b"".join((_VERSION, _SET, _text(group.source_partition), _SET))
    tail = _SET + _text(group.partition_path)
    for file in group.files:
        yield _FILE.seal(b"".join((head, _status(file), tail)))


def decode_partition(value: bytes, place: Where) -> dict[str, FileMapping]:
    """Return a partition's files by file id.

    Our values are parsed directly, in half the time; others by their schema.

    Raises:
        CorruptFileError: `bootstrap-index/corrupt` or one of `read_container`.
    """
    with suppress(ValueError):
        datum = _PARTITION.unseal(value)
        if datum is not None:
            return _own_files(datum)
    _, files = _partition_record(value, place)
    return {file_id: _mapping(file_id, status, place) for file_id, status in files.items()}


def _partition_record(value: bytes, place: Where) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a partition's record, and its statuses by file id."""
    record = read_container(value, where=place)
    files = record.get("fileIdToBootstrapFile")
    if not isinstance(files, dict):
        raise _corrupt("a partition's value has no files", place)
    return record, files


def partition_without(value: bytes, gone: frozenset[str], place: Where) -> bytes | None:
    """Return a partition's value without some of its file ids; None if it keeps none.

    Raises:
        CorruptFileError: as of `decode_partition`.
    """
    record, files = _partition_record(value, place)
    left = {file_id: status for file_id, status in files.items() if file_id not in gone}
    return _PARTITION.write({**record, "fileIdToBootstrapFile": left}) if left else None


def moved_partition(value: bytes, move: Callable[[str], str], place: Where) -> bytes:
    """Return a partition's value with other source files, at the locations that `move` returns.

    Raises:
        CorruptFileError: as of `decode_partition`.
    """
    record, files = _partition_record(value, place)
    moved = {file_id: _moved(file_id, each, move, place) for file_id, each in files.items()}
    return _PARTITION.write({**record, "fileIdToBootstrapFile": moved})


def moved_file(file_id: str, value: bytes, move: Callable[[str], str], place: Where) -> bytes:
    """Return a file's value with another source file; see `moved_partition`."""
    record = read_container(value, where=place)
    status = _moved(file_id, record.get("bootstrapFileStatus"), move, place)
    return _FILE.write({**record, "bootstrapFileStatus": status})


def _moved(file_id: str, status: Any, move: Callable[[str], str], place: Where) -> dict[str, Any]:
    """Return the status of a source file at its other location."""
    uri = move(_mapping(file_id, status, place).uri)
    return {**status, "path": {**status["path"], "uri": uri}}


def _own_files(datum: bytes) -> dict[str, FileMapping]:
    """Return the files of a datum of `encode_partition`.

    Raises:
        ValueError: `encode_partition` did not make it.
    """
    _, at = _read_text(datum, _after(datum, 0, _VERSION + _SET))
    _, at = _read_text(datum, _after(datum, at, _SET))
    count, at = read_uvarint(datum, _after(datum, at, _SET))
    files = {}
    for _ in range(count >> 1):
        file_id, at = _read_text(datum, at)
        uri, at = _read_text(datum, _after(datum, at, _PATH))
        size, at = read_uvarint(datum, _after(datum, at, _SET))
        begin = _after(datum, at, _MIDDLE)
        mtime_ms, at = read_uvarint(datum, _after(datum, begin, _SET))
        at = _after(datum, at, datum[begin:at] + _PERMISSION_TO_SYMLINK)
        if count & 1 or size & 1 or mtime_ms & 1:
            raise ValueError("a number below zero")
        files[file_id] = FileMapping(file_id, uri, size >> 1, mtime_ms >> 1)
    if datum[at:] != _NULL:
        raise ValueError("there are bytes after the files")
    return files


def _after(datum: bytes, at: int, expected: bytes) -> int:
    """Return the offset after `expected`, which must be at `at`."""
    if not datum.startswith(expected, at):
        raise ValueError(f"byte {at} differs")
    return at + len(expected)


def _read_text(datum: bytes, at: int) -> tuple[str, int]:
    """Return a length-prefixed string and the offset after it."""
    size, at = read_uvarint(datum, at)
    end = at + (size >> 1)
    if size & 1 or end > len(datum):
        raise ValueError("a string is truncated")
    return datum[at:end].decode(), end


def decode_file(file_id: str, value: bytes, place: Where) -> FileMapping:
    """Return the file of a value of the fileids file; raises as `decode_partition`."""
    return _mapping(file_id, read_container(value, where=place).get("bootstrapFileStatus"), place)


def _mapping(file_id: str, status: Any, place: Where) -> FileMapping:
    path = status.get("path") if isinstance(status, dict) else None
    uri = path.get("uri") if isinstance(path, dict) else None
    size = status.get("length") if isinstance(status, dict) else None
    if not isinstance(uri, str) or not isinstance(size, int) or size < 0:
        raise _corrupt(f"the file {file_id} has path {uri!r} and length {size!r}", place)
    mtime = status.get("modificationTime")
    return FileMapping(
        file_id=file_id, uri=uri, size=size, mtime_ms=mtime if isinstance(mtime, int) else 0
    )


def _status(file: FileMapping) -> bytes:
    mtime = _SET + zigzag(file.mtime_ms)
    return b"".join(
        (
            _PATH,
            _text(file.uri),
            _SET,
            zigzag(file.size),
            _MIDDLE,
            mtime,
            mtime,  # of access
            _PERMISSION_TO_SYMLINK,
        )
    )


def _text(text: str) -> bytes:
    """Return a length-prefixed string."""
    data = text.encode()
    return zigzag(len(data)) + data


def _corrupt(what: str, place: Where) -> CorruptFileError:
    """Return the error for an index with invalid content."""
    return CorruptFileError(
        "bootstrap-index/corrupt", what, where=place, remedy="Recreate the table."
    )
