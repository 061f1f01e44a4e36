"""Which blocks of log files count, and what they say."""

from __future__ import annotations

import io
from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import CorruptFileError, FrameworkError, UnsupportedTableError
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.codecs.log_records import encode_deletes
from framework.hudi.filegroup.log_changes import LogChange, LogPart, read_changes
from framework.hudi.storage.memory import MemoryStorage
from tests.support.legacy import JULIAN, MEANT, UTC_MARKS
from tests.support.storage_suite import put

SCHEMA = pa.schema([("_hoodie_record_key", pa.string()), ("n", pa.int64())])
COMPLETED = {"1", "2", "3"}


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty table."""
    made = MemoryStorage(uuid4().hex)
    yield made
    made.forget()


def block(instant: str, *keys: str, **more: str) -> bytes:
    """Return a data block in Parquet with one row for each key."""
    out = io.BytesIO()
    pq.write_table(pa.table([list(keys), [1] * len(keys)], schema=SCHEMA), out)
    header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: "{}"}
    header |= {HeaderKey[name]: text for name, text in more.items()}
    return encode_block(BlockKind.PARQUET_DATA, header, out.getvalue())


def rollback(target: str) -> bytes:
    """Return a block that takes back those of an instant."""
    header = {
        HeaderKey.INSTANT_TIME: "9",
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
        HeaderKey.TARGET_INSTANT_TIME: target,
    }
    return encode_block(BlockKind.COMMAND, header, b"")


def changes(storage: MemoryStorage, *files: bytes) -> list[LogChange]:
    """Return the changes of log files with these bytes."""
    paths = [f".group_1.log.{number}_1-0-1" for number in range(1, len(files) + 1)]
    for path, data in zip(paths, files, strict=True):
        put(storage, path, data)
    return list(read_changes(storage, [*map(LogPart, paths)], SCHEMA, COMPLETED.__contains__))


def keys(found: list[LogChange]) -> list[str]:
    """Return the keys of all rows, in order."""
    return [k for c in found if c.rows for k in c.rows["_hoodie_record_key"].to_pylist()]


def test_changes_of_a_block_in_the_old_calendar_have_the_dates_meant(
    storage: MemoryStorage,
) -> None:
    """Spark writes such blocks under the settings under which it writes such files."""
    schema = SCHEMA.append(pa.field("d", pa.date32()))
    content = pa.BufferOutputStream()
    with pq.ParquetWriter(content, schema) as writer:
        writer.write_table(pa.table([["a"], [1], [JULIAN]], schema=schema))
        writer.add_key_value_metadata(dict(UTC_MARKS))
    header = {HeaderKey.INSTANT_TIME: "1", HeaderKey.SCHEMA: "{}"}
    data = encode_block(BlockKind.PARQUET_DATA, header, content.getvalue().to_pybytes())
    put(storage, ".group_1.log.1_1-0-1", data)
    parts = [LogPart(".group_1.log.1_1-0-1")]
    (found,) = read_changes(storage, parts, schema, COMPLETED.__contains__)
    assert found.rows is not None
    assert found.rows["d"].to_pylist() == [MEANT]


def test_changes_come_oldest_first_over_all_files(storage: MemoryStorage) -> None:
    """Several blocks per file and files per slice, including deletes."""
    header = {HeaderKey.INSTANT_TIME: "2"}
    deletes = encode_block(BlockKind.DELETE, header, encode_deletes([("b", "p=1")]))
    found = changes(storage, block("1", "a", "b") + deletes, block("3", "c"))
    assert keys(found) == ["a", "b", "c"]
    assert [c.instant for c in found] == ["1", "2", "3"]
    assert [each.record_key for each in found[1].deleted] == ["b"]


def test_changes_of_an_instant_that_is_not_completed_do_not_count(storage: MemoryStorage) -> None:
    """By instant, not by position: what follows counts."""
    assert keys(changes(storage, block("1", "a") + block("7", "b") + block("2", "c"))) == ["a", "c"]


def test_changes_that_were_rolled_back_do_not_count(storage: MemoryStorage) -> None:
    """Also where the instant has long left the timeline; blocks that come later do."""
    found = changes(storage, block("1", "a") + block("2", "b"), rollback("2") + block("2", "c"))
    assert keys(found) == ["a", "c"]


def test_changes_have_the_columns_of_the_table(storage: MemoryStorage) -> None:
    """A block of an older schema lacks columns, and has narrower ones."""
    old = pa.schema([("_hoodie_record_key", pa.string()), ("n", pa.int32()), ("gone", pa.string())])
    out = io.BytesIO()
    pq.write_table(pa.table([["k"], [5], ["x"]], schema=old), out)
    data = encode_block(BlockKind.PARQUET_DATA, {HeaderKey.INSTANT_TIME: "1"}, out.getvalue())
    (found,) = changes(storage, data)
    assert found.rows is not None
    assert found.rows.to_pylist() == [{"_hoodie_record_key": "k", "n": 5}]
    assert found.rows.schema == SCHEMA


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_changes_of_a_torn_write_do_not_count(storage: MemoryStorage, kept: int) -> None:
    """A block that was cut at any byte, at the end or with whole blocks behind it."""
    torn = block("2", "b")[:kept]
    assert keys(changes(storage, block("1", "a") + torn)) == ["a"]
    assert keys(changes(MemoryStorage(uuid4().hex), torn + block("1", "a"))) == ["a"]


def test_changes_of_a_file_of_zeros_do_not_count(storage: MemoryStorage) -> None:
    """Some file systems leave zeros where a write never arrived."""
    assert keys(changes(storage, block("1", "a"), bytes(500))) == ["a"]


def test_changes_before_zeros_are_refused(storage: MemoryStorage) -> None:
    """Apache Hudi takes the block before them for torn, and would leave its rows out."""
    with pytest.raises(CorruptFileError) as caught:
        changes(storage, block("1", "a") + bytes(500))
    assert caught.value.condition == "log/damaged"


@pytest.mark.parametrize("place", [0, 3, 7, 13, -1, -5])
def test_changes_of_a_damaged_block_are_refused(storage: MemoryStorage, place: int) -> None:
    """Magic or lengths of a whole block: its rows are lost, so nothing is returned in silence."""
    data = bytearray(block("1", "a"))
    data[place] ^= 0x40
    with pytest.raises(FrameworkError) as caught:
        changes(storage, bytes(data) + block("2", "b"))
    assert caught.value.condition in {"log/damaged", "log/block"}
    assert caught.value.where.file is not None


UNKNOWN, WRONG = UnsupportedTableError, CorruptFileError


@pytest.mark.parametrize(
    ("kind", "condition", "data"),
    [
        (
            UNKNOWN,
            "log/block-kind",
            encode_block(BlockKind.HFILE_DATA, {HeaderKey.INSTANT_TIME: "1"}, b""),
        ),
        (UNKNOWN, "log/compacted-blocks", block("1", "a", COMPACTED_BLOCK_TIMES="1")),
        (
            UNKNOWN,
            "log/command",
            encode_block(BlockKind.COMMAND, {HeaderKey.COMMAND_BLOCK_TYPE: "5"}, b""),
        ),
        (WRONG, "log/no-instant", encode_block(BlockKind.PARQUET_DATA, {}, b"")),
        (
            WRONG,
            "log/content",
            encode_block(BlockKind.PARQUET_DATA, {HeaderKey.INSTANT_TIME: "1"}, b"PAR1"),
        ),
        (
            WRONG,
            "log/content",
            encode_block(BlockKind.AVRO_DATA, {HeaderKey.INSTANT_TIME: "1"}, b""),
        ),
    ],
)
def test_changes_that_are_wrong_or_that_only_apache_hudi_knows_are_refused(
    storage: MemoryStorage, kind: type[FrameworkError], condition: str, data: bytes
) -> None:
    """By name, where they count, with the file."""
    with pytest.raises(kind) as caught:
        changes(storage, data)
    assert caught.value.condition == condition
    assert caught.value.where.file is not None
