"""Log files that we make: their blocks, and what a reader gets back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, read_blocks, read_content
from framework.hudi.codecs.log_records import DeletedRecord
from framework.hudi.codecs.parquet_seal import SEAL
from framework.hudi.filegroup.log_changes import LogChange, LogPart, read_changes
from framework.hudi.filegroup.log_file import log_file_bytes
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.calendar import GREGORIAN
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.hudi.table.schema import avro_schema, with_meta_columns
from tests.support.storage_suite import put

TIME = "20260101000000000"
PATH = ".group_20250101000000000.log.1_0-1-2"
DEEP = pa.list_(pa.field("element", pa.struct([("y", pa.bool_())])))
DATA = pa.schema(
    [
        ("n", pa.int64()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("place", pa.struct([("x", pa.int32()), ("deep", DEEP)])),
        ("named", pa.map_(pa.string(), pa.float64())),
        ("raw", pa.binary()),
    ]
)
AVRO = json.dumps(with_meta_columns(avro_schema(DATA, table="things")))
SCHEMA = pa.schema([*((name, pa.string()) for name in META_COLUMNS), *DATA])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
RECORDS = st.fixed_dictionaries(
    {
        **dict.fromkeys(META_COLUMNS, TEXTS),
        "n": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        "price": st.none() | st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Decimal(n) / 100),
        "tags": st.none() | st.lists(st.none() | TEXTS, max_size=3),
        "place": st.none()
        | st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(-5, 5),
                "deep": st.none()
                | st.lists(st.fixed_dictionaries({"y": st.none() | st.booleans()}), max_size=2),
            }
        ),
        "named": st.none()
        | st.dictionaries(TEXTS, st.none() | st.floats(-1, 1)).map(
            lambda found: list(found.items())
        ),
        "raw": st.none() | st.binary(max_size=5),
    }
)
KEYS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4)


def changes(data: bytes) -> list[LogChange]:
    """Return what a reader gets from a log file with these bytes."""
    storage = MemoryStorage(uuid4().hex)
    put(storage, PATH, data)
    found = list(read_changes(storage, [LogPart(PATH)], SCHEMA, {TIME}.__contains__))
    storage.forget()
    return found


def a_table(records: Sequence[dict[str, Any]]) -> pa.Table:
    """Return records as rows of the schema."""
    return pa.Table.from_pylist(list(records), schema=SCHEMA)


@pytest.mark.property
@settings(deadline=None)
@given(st.lists(RECORDS, max_size=4), KEYS)
def test_log_file_that_is_written_is_read_back(
    records: list[dict[str, Any]], deleted: list[tuple[str, str]]
) -> None:
    """Nested values, nulls, nothing at all, and keys in any script."""
    rows = a_table(records)
    data = log_file_bytes(TIME, AVRO, rows=rows, deleted=deleted)
    first, *rest = changes(data)
    assert first.instant == TIME
    assert first.rows is not None
    assert first.rows.to_pylist() == rows.to_pylist()
    expected = tuple(DeletedRecord(record_key=k, partition_path=p) for k, p in deleted)
    assert [change.deleted for change in rest] == ([expected] if deleted else [])
    assert all(each.is_unconditional for each in expected)
    assert data == log_file_bytes(TIME, AVRO, rows=rows, deleted=deleted)


def test_log_file_of_rows_and_keys_is_a_data_block_and_a_delete_block() -> None:
    """Both say instant and schema, and nothing more."""
    data = log_file_bytes(TIME, AVRO, rows=a_table([{"n": 1}]), deleted=[("k", "p=1")])
    blocks = list(read_blocks(pa.BufferReader(data)))
    assert [block.kind for block in blocks] == [BlockKind.PARQUET_DATA, BlockKind.DELETE]
    header = {HeaderKey.INSTANT_TIME: TIME, HeaderKey.SCHEMA: AVRO}
    assert [dict(block.header) for block in blocks] == [header, header]


def test_log_file_of_rows_holds_a_parquet_file_as_java_wants_it() -> None:
    """Compressed with zstd, with Avro's schema and the calendar in the footer, without Arrow's."""
    data = log_file_bytes(TIME, AVRO, rows=a_table([{"n": 1, "tags": ["a"]}]))
    source = pa.BufferReader(data)
    (block,) = read_blocks(source)
    metadata = pq.read_metadata(pa.BufferReader(read_content(source, block)))
    found = {key.decode(): text.decode() for key, text in (metadata.metadata or {}).items()}
    assert len(found.pop(SEAL)) == 8 * (1 + metadata.num_columns)
    assert found == {"parquet.avro.schema": AVRO, **GREGORIAN}
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    paths = [metadata.schema.column(at).path for at in range(len(metadata.schema))]
    assert paths[:5] == list(META_COLUMNS)
    assert "tags.list.element" in paths


def test_log_file_of_keys_alone_has_no_data_block() -> None:
    """A delete needs no row."""
    (change,) = changes(log_file_bytes(TIME, AVRO, deleted=[("ключ:é", "p=1"), ("", "")]))
    assert change.rows is None
    assert [(each.record_key, each.partition_path) for each in change.deleted] == [
        ("ключ:é", "p=1"),
        ("", ""),
    ]


def test_log_file_of_no_rows_keeps_its_data_block() -> None:
    """No row is not the same as no block: the caller said that there is a table."""
    (change,) = changes(log_file_bytes(TIME, AVRO, rows=a_table([])))
    assert change.rows is not None
    assert change.rows.num_rows == 0


def test_log_file_of_nothing_or_without_meta_columns_is_refused() -> None:
    """Readers would make nothing of it."""
    with pytest.raises(ValueError, match="without rows"):
        log_file_bytes(TIME, AVRO)
    with pytest.raises(ValueError, match="start with"):
        log_file_bytes(TIME, AVRO, rows=a_table([]).select(["n", *META_COLUMNS]))


def test_log_block_with_a_record_without_a_key_is_refused() -> None:
    """What one bit in the schema of an Avro block does: the key column has another name."""
    rows = a_table([{"n": 1, "tags": ["a"]}])
    at = rows.schema.get_field_index(MetaField.RECORD_KEY.value)
    rows = rows.set_column(at, rows.schema.field(at), [pa.nulls(1, pa.string())])
    with pytest.raises(CorruptFileError) as caught:
        changes(log_file_bytes(TIME, AVRO, rows=rows))
    assert caught.value.condition == "log/content"
