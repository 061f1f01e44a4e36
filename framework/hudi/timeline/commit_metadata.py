"""The content of a commit (format sheet, section 2.5), written and read as a stream.

We write `extraMetadata` first, so that our facts are at the head of the file; Apache Hudi writes it
last, and the order is free. Our pending instants hold the same object without statistics, except a
requested replacecommit, see `replace_plan.requested_replace_bytes`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import google_crc32c

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.avro import AVRO_MAGIC, read_container
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of
from framework.hudi.timeline.instant import Instant
from framework.hudi.timeline.json_stream import JsonStream

__all__ = [
    "CommitHead",
    "LogAppend",
    "WriteStat",
    "read_commit_head",
    "write_commit",
]

_NO_PREVIOUS: Final = "null"
_STATS: Final = "partitionToWriteStats"
_REPLACED: Final = "partitionToReplaceFileIds"
_SCHEMA: Final = "schema"
_CHECKSUM: Final = "lakestrap.checksum"
_CHUNK_CHARS: Final = 1 << 18
_HEAD_KEYS: Final = frozenset({"extraMetadata", "operationType"})
_text: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHead:
    """The content of a commit besides its files.

    Attributes:
        extra: `extraMetadata`; `schema` is the Avro schema without meta columns.
        operation: Hudi's name of the write operation, such as `BOOTSTRAP` or `UPSERT`.
        compacted: whether it is a compaction; written, not read.
    """

    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    operation: str = "UNKNOWN"
    compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAppend:
    """The additional statistics of a log file.

    Attributes:
        version: the version in the file's name.
        base_file: name of the slice's base file, `""` if it has none.
    """

    version: int
    base_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """One written file: a base file, or a log file.

    Attributes:
        file_id: file group of the file.
        path: relative to the table.
        partition_path: `""` in unpartitioned tables.
        rows: all rows of the file; in a base file, including those that were kept.
        inserts: rows that are new.
        updates: rows that changed.
        deletes: rows removed from the previous slice; in a log file, keys that it deletes.
        size: bytes.
        previous: instant of the previous slice, for a log file that of its own slice; None for a
            new file group.
        log: None for a base file.
    """

    file_id: str
    path: str
    partition_path: str
    rows: int
    size: int
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    previous: str | None = None
    log: LogAppend | None = None


def write_commit(
    out: BinaryIO,
    head: CommitHead,
    stats: Iterable[tuple[str, Iterable[WriteStat]]],
    *,
    replaced: Mapping[str, Iterable[str]] | None = None,
) -> int:
    """Write a commit as JSON and return the number of files in it.

    Args:
        out: the output.
        head: written first.
        stats: partitions with their files; each partition once. Streamed, not held in memory.
        replaced: file ids that a replacecommit hides, by partition path; may be empty. None for
            every other action. It comes before the files, since every view reads it.

    Raises:
        CorruptFileError: `timeline/partition-twice`, since the object would lose files.
    """
    text = _TextOutput(out)
    text.write(f'{{"extraMetadata":{_text(_with_checksum(head.extra))},\n')
    compacted = str(head.compacted).lower()
    text.write(f'"operationType":{_text(head.operation)},"compacted":{compacted},\n')
    if replaced is not None:
        _write_replaced(text, replaced)
    text.write(f'"{_STATS}":{{')
    files = _write_stats(text, stats)
    text.write("}}\n")
    text.flush()
    return files


def _with_checksum(extra: Mapping[str, str]) -> dict[str, str]:
    """Return `extraMetadata`, with its checksum if it holds a schema.

    One flipped bit of a schema renames a column, which would be null in each row.
    """
    return {**extra, **({_CHECKSUM: _checksum(extra)} if _SCHEMA in extra else {})}


def _checksum(extra: Mapping[str, str]) -> str:
    """Return the CRC-32C of entries in the order of their keys, as eight hexadecimal digits."""
    kept = sorted((key, value) for key, value in extra.items() if key != _CHECKSUM)
    return f"{google_crc32c.value(_text(kept).encode(errors='surrogatepass')):08x}"


def _write_replaced(text: _TextOutput, replaced: Mapping[str, Iterable[str]]) -> None:
    """Write the additional member of a replacecommit and the comma after it."""
    text.write(f'"{_REPLACED}":{{')
    for place, (partition, file_ids) in enumerate(replaced.items()):
        text.write(f"{',' if place else ''}\n{_text(partition)}:{_text(list(file_ids))}")
    text.write("},\n")


def _write_stats(text: _TextOutput, stats: Iterable[tuple[str, Iterable[WriteStat]]]) -> int:
    """Write the members of `partitionToWriteStats` and return the number of files."""
    seen: set[str] = set()
    files = 0
    for partition, found in stats:
        if partition in seen:
            raise CorruptFileError(
                "timeline/partition-twice",
                "the files of a partition are not contiguous",
                where=Where(partition=partition),
            )
        text.write(f"{',' if seen else ''}\n{_text(partition)}:[")
        seen.add(partition)
        for place, stat in enumerate(found):
            text.write(f"{',' if place else ''}\n{_stat_text(stat)}")
            files += 1
        text.write("]")
    return files


def read_commit_head(storage: Storage, path: str) -> CommitHead:
    """Return the head of a commit or pending instant.

    Reads only the beginning if `extraMetadata` and `operationType` come first. An empty pending
    file, or one without these two members, has an empty head. A plan, which is an Avro file, is
    read by the same two names.

    Raises:
        CorruptFileError: `timeline/empty-commit` for a completed instant without a byte,
            `timeline/corrupt-commit`, `timeline/corrupt-json`, `avro/corrupt`, `avro/codec`.
    """
    place = f"{storage.location}/{path}"
    with storage.open_input(path) as source:
        is_avro = source.read(len(AVRO_MAGIC)) == AVRO_MAGIC
        source.seek(0)
        found = _avro_head(source, place) if is_avro else _json_head(source, place)
    extra = found.get("extraMetadata") or {}
    operation = found.get("operationType") or CommitHead().operation
    if not (isinstance(extra, dict) and isinstance(operation, str)):
        raise _corrupt(place, "extraMetadata is not an object, or operationType is not text")
    texts = {k: v for k, v in extra.items() if isinstance(v, str)}
    checksum = texts.pop(_CHECKSUM, None)
    if checksum is not None and checksum != _checksum(texts):
        raise _corrupt(place, "extraMetadata does not match its checksum")
    return CommitHead(extra=MappingProxyType(texts), operation=operation)


def _avro_head(source: Any, place: str) -> dict[str, Any]:
    return read_container(bytes(source.read()), where=Where(file=place))


def _json_head(source: Any, place: str) -> dict[str, Any]:
    """Return the members of a JSON file, up to the point where both wanted ones are read."""
    found: dict[str, Any] = {}
    stream = JsonStream(source, place)
    for name in () if _is_empty(stream, place) else stream.members():
        if name == _STATS:
            _skip_stats(stream)
        else:
            found[name] = stream.value()
        if found.keys() >= _HEAD_KEYS:
            break
    return found


def _is_empty(stream: JsonStream, place: str) -> bool:
    """Return whether a pending instant's file is empty, which is legal; raise for a completed one.

    Raises:
        CorruptFileError: `timeline/empty-commit`.
    """
    if not stream.at_end():
        return False
    instant = Instant.parse(place.rpartition("/")[2])
    if instant is None or not instant.is_completed:
        return True
    raise CorruptFileError(
        "timeline/empty-commit",
        "the completed instant is empty, so its files are unknown",
        where=Where(file=place, instant=instant.requested_time),
        remedy="The file is damaged; restore it from a copy, nothing was changed.",
    )


class _TextOutput:
    """Buffers small texts into large writes."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._parts: list[str] = []
        self._length = 0

    def write(self, text: str) -> None:
        """Buffer `text`, and flush when the buffer is full."""
        self._parts.append(text)
        self._length += len(text)
        if self._length >= _CHUNK_CHARS:
            self.flush()

    def flush(self) -> None:
        """Write the buffer."""
        self._out.write("".join(self._parts).encode())
        self._parts.clear()
        self._length = 0


def _stat_text(stat: WriteStat) -> str:
    """Return one HoodieWriteStat with all its keys, in Hudi's order."""
    partition = _text(stat.partition_path)
    return (
        f'{{"fileId":{_text(stat.file_id)},"path":{_text(stat.path)},"cdcStats":null,'
        f'"prevCommit":{_text(stat.previous or _NO_PREVIOUS)},"numWrites":{stat.rows},'
        f'"numDeletes":{stat.deletes},"numUpdateWrites":{stat.updates},'
        f'"numInserts":{stat.inserts},"totalWriteBytes":{stat.size},"totalWriteErrors":0,'
        f'"tempPath":null,"partitionPath":{partition},"totalLogRecords":0,'
        '"totalLogFilesCompacted":0,"totalLogSizeCompacted":0,"totalUpdatedRecordsCompacted":0,'
        '"totalLogBlocks":0,"totalCorruptLogBlock":0,"totalRollbackBlocks":0,'
        f'"fileSizeInBytes":{stat.size},"minEventTime":null,"maxEventTime":null,'
        f'"runtimeStats":null{_log_text(stat)}}}'
    )


def _log_text(stat: WriteStat) -> str:
    """Return the keys that a HoodieDeltaWriteStat adds, with the comma before them."""
    if stat.log is None:
        return ""
    return (
        f',"logVersion":{stat.log.version},"logOffset":0,"baseFile":{_text(stat.log.base_file)},'
        f'"logFiles":[{_text(name_of(stat.path))}],"recordsStats":{{"val":null}}'
    )


def _skip_stats(stream: JsonStream) -> None:
    """Skip the statistics, holding one at a time."""
    for _ in stream.members():
        for _ in stream.elements():
            stream.value()


def _corrupt(path: str, reason: str) -> CorruptFileError:
    """Return the error for a commit file."""
    return CorruptFileError(
        "timeline/corrupt-commit",
        f"the commit cannot be used: {reason}",
        where=Where(file=path),
        remedy="The file is damaged; restore it from a copy, nothing was changed.",
    )
