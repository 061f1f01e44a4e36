"""Changes in the log files of a slice, block by block, oldest first.

A block counts if its instant is completed and no later rollback block rolls it back.

The bytes that a completed commit recorded must be whole blocks of that commit: a file that ends
before them, a stretch among them that is not a block, or a block of another instant is damage.
Outside them, a stretch that is not a block is ignored if it is a torn write: its writer died, so
its instant never completed. Any other such stretch was damaged later, and is refused.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs import log_format, log_records
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter
from framework.hudi.filegroup.slices import Extent
from framework.hudi.storage.port import Storage
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import MetaField
from framework.hudi.table.schema import arrow_schema
from framework.hudi.table.schema_check import fitted

__all__ = ["LogChange", "LogPart", "every_change", "read_changes"]

_KEY: Final = MetaField.RECORD_KEY.value
_ROLLBACK: Final = "0"
_HEAD: Final = struct.Struct(">6sq")
_END: Final = struct.Struct(">q")
_RESTORE: Final = "Restore the file from a copy: rows of the table may be lost with it."


class LogPart(NamedTuple):
    """A log file to read, and its extents in completed commits; see `LogFile.committed`."""

    path: str
    committed: tuple[Extent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogChange:
    """The change of one block: written records or deleted keys.

    Attributes:
        instant: the commit that wrote it.
        rows: records with their meta columns, in the order of the block; None in a delete block.
        deleted: the records of a delete block; empty in a data block.
    """

    instant: str
    rows: pa.Table | None = None
    deleted: tuple[log_records.DeletedRecord, ...] = ()


def read_changes(
    storage: Storage,
    logs: Sequence[LogPart],
    schema: pa.Schema,
    is_completed: Callable[[str], bool],
) -> Iterator[LogChange]:
    """Yield the changes of some log files.

    Reads all headers first, then the content of each block that counts, one at a time.

    Args:
        storage: the table's storage.
        logs: one slice's log files, oldest first.
        schema: columns of the rows to yield, meta columns included; absent ones are null.
        is_completed: whether files of an instant are part of the table.

    Raises:
        CorruptFileError: `log/cut`, `log/damaged`, `log/block`, `log/content`, `log/no-instant`,
            `file/value-does-not-fit`.
        UnsupportedTableError: `log/block-kind`, `log/command`, `log/compacted-blocks`, or see
            `decode_records` and `decode_deletes`.
    """
    for path, block in _counting(storage, logs, is_completed):
        yield _change(storage, path, block, schema)


def every_change(storage: Storage, path: str, schema: pa.Schema) -> Iterator[LogChange | None]:
    """Yield the change of each block of a log file, whether it counts or not.

    A stretch that is not a block, such as a torn write, is None.

    Args:
        storage: the table's storage.
        path: of the log file.
        schema: as in `read_changes`.

    Raises:
        CorruptFileError, UnsupportedTableError: see `read_changes`.
    """
    place = Where(file=f"{storage.location}/{path}")
    with storage.open_input(path) as source:
        blocks = list(log_format.read_blocks(source, where=place))
    for block in blocks:
        if block.kind is log_format.BlockKind.CORRUPT:
            yield None
        elif block.kind is not log_format.BlockKind.COMMAND:
            _instant(block, place)
            _check_readable(block, place)
            yield _change(storage, path, block, schema)


def _change(
    storage: Storage, path: str, block: log_format.LogBlock, schema: pa.Schema
) -> LogChange:
    """Return the change of a block."""
    place = Where(file=f"{storage.location}/{path}", offset=block.start)
    with storage.open_input(path) as source:
        content = log_format.read_content(source, block)
    try:
        return _decoded(content, block, schema, place)
    except UNREADABLE as error:
        raise log_records.corrupt_content(
            f"a log block cannot be read: {error!r}", place
        ) from error


def _decoded(
    content: bytes, block: log_format.LogBlock, schema: pa.Schema, place: Where
) -> LogChange:
    instant = block.header[log_format.HeaderKey.INSTANT_TIME]
    if block.kind is log_format.BlockKind.DELETE:
        deleted = log_records.decode_deletes(content, where=place)
        if any(each.record_key is None for each in deleted):
            raise log_records.corrupt_content("a delete block names a record without a key", place)
        return LogChange(instant=instant, deleted=deleted)
    rows = fitted(_READERS[block.kind](content, block, place), schema, where=place)
    if _KEY in rows.schema.names and rows[_KEY].null_count:
        raise log_records.corrupt_content("a record has no key", place)
    return LogChange(instant=instant, rows=rows)


def _counting(
    storage: Storage, logs: Iterable[LogPart], is_completed: Callable[[str], bool]
) -> list[tuple[str, log_format.LogBlock]]:
    """Return the blocks that count, with their files."""
    kept: list[tuple[str, log_format.LogBlock]] = []
    for path, committed in logs:
        place = Where(file=f"{storage.location}/{path}")
        with storage.open_input(path) as source:
            _check_length(source.size(), committed, place)
            for block in log_format.read_blocks(source, where=place):
                _check_committed(block, committed, place)
                if block.kind is log_format.BlockKind.CORRUPT:
                    _check_torn(source, block, place)
                elif block.kind is log_format.BlockKind.COMMAND:
                    target = _rolled_back(block, place)
                    kept = [each for each in kept if _instant(each[1], place) != target]
                elif is_completed(_instant(block, place)):
                    _check_readable(block, place)
                    kept.append((path, block))
    return kept


def _check_length(size: int, committed: Iterable[Extent], place: Where) -> None:
    """Raise if a file ends before the bytes that a completed commit recorded."""
    missing = next((each for each in committed if each.end > size), None)
    if missing is not None:
        raise CorruptFileError(
            "log/cut",
            f"the log file has {size} bytes, but a completed commit wrote it up to {missing.end}",
            where=Where(file=place.file, instant=missing.instant),
            remedy=_RESTORE,
        )


def _check_committed(block: log_format.LogBlock, committed: Iterable[Extent], place: Where) -> None:
    """Raise if recorded bytes are not a block, or a block of another instant."""
    for each in committed:
        if block.kind is log_format.BlockKind.CORRUPT:
            is_sound = block.start + block.size <= each.start or block.start >= each.end
        else:
            said = block.header.get(log_format.HeaderKey.INSTANT_TIME)
            is_sound = not each.start <= block.start < each.end or said == each.instant
        if not is_sound:
            raise CorruptFileError(
                "log/damaged",
                "a log block of a completed commit is damaged",
                where=Where(file=place.file, offset=block.start, instant=each.instant),
                remedy=_RESTORE,
            )


def _check_torn(source: Any, block: log_format.LogBlock, place: Where) -> None:
    """Raise unless a stretch is the start of a block, or zeros left by a crash."""
    data = bytes(source.read_at(min(block.size, _HEAD.size), block.start))
    if log_format.MAGIC.startswith(data[: len(log_format.MAGIC)]) and len(data) < _HEAD.size:
        return
    if data.startswith(log_format.MAGIC):
        _, length = _HEAD.unpack(data)
        if block.size < _HEAD.size + length and not _has_end(source, block):
            return
    elif not any(log_format.read_content(source, block)):
        return
    raise CorruptFileError(
        "log/damaged",
        f"{block.size} bytes are neither a log block nor the start of one",
        where=Where(file=place.file, offset=block.start),
        remedy=_RESTORE,
    )


def _has_end(source: Any, block: log_format.LogBlock) -> bool:
    """Return whether a stretch ends like a whole block, so that only its head is wrong."""
    (whole,) = _END.unpack(source.read_at(_END.size, block.start + block.size - _END.size))
    return bool(whole == block.size - _END.size)


def _rolled_back(block: log_format.LogBlock, place: Where) -> str:
    """Return the instant whose blocks a command block rolls back."""
    command = block.header.get(log_format.HeaderKey.COMMAND_BLOCK_TYPE)
    target = block.header.get(log_format.HeaderKey.TARGET_INSTANT_TIME)
    if command != _ROLLBACK or target is None:
        raise _unsupported("command", f"a log file has the unknown command {command!r}", place)
    return target


def _check_readable(block: log_format.LogBlock, place: Where) -> None:
    """Raise for an unreadable block."""
    if block.kind is not log_format.BlockKind.DELETE and block.kind not in _READERS:
        name = block.kind.name.lower()
        raise _unsupported("block-kind", f"log blocks of kind {name} are not supported", place)
    if log_format.HeaderKey.COMPACTED_BLOCK_TIMES in block.header:
        raise _unsupported("compacted-blocks", "a log compaction has rewritten blocks", place)


def _instant(block: log_format.LogBlock, place: Where) -> str:
    found = block.header.get(log_format.HeaderKey.INSTANT_TIME)
    if found is None:
        raise CorruptFileError(
            "log/no-instant",
            "a log block does not name the commit that wrote it",
            where=Where(file=place.file, offset=block.start),
            remedy="Let Apache Hudi read or compact the file group, or restore the file.",
        )
    return found


def _parquet(content: bytes, _: log_format.LogBlock, place: Where) -> pa.Table:
    source = pa.BufferReader(content)
    parquet = SealedFooter.read(source).opened(source)
    rows = parquet.read(use_threads=False)
    calendar = LegacyCalendar.of(parquet, place.file or "")
    return rows if calendar is None else calendar.gregorian(rows)


def _avro(content: bytes, block: log_format.LogBlock, place: Where) -> pa.Table:
    """Return the rows of an Avro block, with the types of its own schema."""
    text = block.header.get(log_format.HeaderKey.SCHEMA)
    if text is None:
        raise log_records.corrupt_content("an Avro block has no schema", place)
    schema = arrow_schema(json.loads(text))
    maps = [field for field in schema if _has_map(field.type)]
    records = list(log_records.decode_records(content, text, where=place))
    for record in records:
        for field in maps:
            record[field.name] = _as_pairs(record[field.name], field.type)
    return pa.Table.from_pylist(records, schema=schema)


def _has_map(kind: pa.DataType) -> bool:
    """Return whether a type is or contains a map."""
    return pa.types.is_map(kind) or any(
        _has_map(kind.field(at).type) for at in range(kind.num_fields)
    )


def _as_pairs(value: Any, kind: pa.DataType) -> Any:
    """Return a value with each map as a list of pairs, as Arrow expects."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(key, _as_pairs(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_struct(kind):
        return {field.name: _as_pairs(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_as_pairs(item, kind.value_type) for item in value]
    return value


def _unsupported(condition: str, message: str, place: Where) -> UnsupportedTableError:
    """Return the error for a log file that only Apache Hudi can read."""
    remedy = "Let Apache Hudi compact the table, or read it with Apache Hudi."
    return UnsupportedTableError(f"log/{condition}", message, where=place, remedy=remedy)


_READERS: Final = {
    log_format.BlockKind.AVRO_DATA: _avro,
    log_format.BlockKind.PARQUET_DATA: _parquet,
}
