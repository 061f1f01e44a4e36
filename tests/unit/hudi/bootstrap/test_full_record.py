"""One full base file beside its source: every column, every row, in the table's types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.skeleton import (
    SOURCE,
    BaseFileTarget,
    WrittenBaseFile,
    base_file_name,
    file_id,
    write_full_record,
)
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.bootstrap.source_schema import with_partition_columns
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.filegroup.base_file import BLOOM, MIN_KEY
from framework.hudi.storage.local import LocalStorage
from framework.hudi.table.layout import META_COLUMNS
from framework.vocabulary import BootstrapMode
from tests.support.sources import a_fingerprint, a_rule, a_source, ids

PATH = "p=1/part.parquet"


def written(root: Path, schema: pa.Schema, *keys: str) -> WrittenBaseFile:
    """Write the file at `PATH` in full; `schema` is that of the files."""
    storage = LocalStorage(str(root))
    rule = a_rule(*keys)
    identity = file_id(PATH, BootstrapMode.FULL_RECORD)
    target = BaseFileTarget(
        instant="00000000000001",
        number=3,
        partition_path="p=1",
        file_id=identity,
        name=base_file_name(identity, 3, "00000000000001"),
        rule=rule,
        values={"p": 1},
        key_schema=key_columns(schema, rule),
        bloom=BloomChoice(),
    )
    table_schema = with_partition_columns(schema, rule.partition)
    with open_source(storage, a_fingerprint(storage, PATH)) as source:
        return write_full_record(source, target, table_schema, '{"name": "x"}')


def rows(made: WrittenBaseFile) -> list[dict[str, Any]]:
    """Return what a plain Parquet reader sees."""
    found: list[dict[str, Any]] = pq.read_table(pa.BufferReader(made.data)).to_pylist()
    return found


def test_full_record_has_meta_columns_first_and_the_folder_value(tmp_path: Path) -> None:
    """The column that only the path has is filled, in its declared type."""
    a_source(tmp_path, {PATH: ids(5, 6, v=["x", None])}, row_group_size=1)
    made = written(tmp_path, pa.schema([("id", pa.int64()), ("v", pa.string())]))
    parquet = pq.ParquetFile(pa.BufferReader(made.data))
    assert parquet.schema_arrow.names == [*META_COLUMNS, "id", "v", "p"]
    assert parquet.schema_arrow.field("p").type == pa.int32()
    assert parquet.num_row_groups == 2
    name = base_file_name(file_id(PATH, BootstrapMode.FULL_RECORD), 3, "00000000000001")
    assert name.startswith(file_id(PATH, BootstrapMode.METADATA_ONLY) + "-0_3-0-0_")
    assert rows(made)[1] == {
        "_hoodie_commit_time": "00000000000001",
        "_hoodie_commit_seqno": "00000000000001_3_1",
        "_hoodie_record_key": "6",
        "_hoodie_partition_path": "p=1",
        "_hoodie_file_name": name,
        "id": 6,
        "v": None,
        "p": 1,
    }
    footers = parquet.metadata.metadata
    assert footers[b"parquet.avro.schema"] == b'{"name": "x"}'
    assert footers[MIN_KEY.encode()] == b"5"
    assert BLOOM.encode() in footers
    assert SOURCE.encode() not in footers


def test_full_record_int96_becomes_microseconds_utc(tmp_path: Path) -> None:
    """INT96, which Apache Hudi cannot rewrite, is converted."""
    moment = dt.datetime(2024, 2, 29, 1, 2, 3, 456789)  # noqa: DTZ001 - INT96 has no zone
    table = ids(1, t=pa.array([moment], pa.timestamp("us")))
    a_source(tmp_path, {PATH: table}, use_deprecated_int96_timestamps=True)
    schema = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    made = written(tmp_path, schema)
    column = pq.read_metadata(pa.BufferReader(made.data)).schema.column(6)
    assert column.physical_type == "INT64"
    assert rows(made)[0]["t"] == moment.replace(tzinfo=dt.UTC)


def test_full_record_types_survive(tmp_path: Path) -> None:
    """Nested, decimal, day, binary and widened columns come back value by value."""
    kinds = {
        "s": pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
        "m": pa.map_(pa.string(), pa.int64()),
        "d": pa.decimal128(12, 2),
        "day": pa.date32(),
        "raw": pa.binary(),
    }
    values = {
        "s": [{"a": 1, "b": ["x", None]}, None],
        "m": [[("k", 1)], []],
        "d": [Decimal("-1.50"), None],
        "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
        "raw": [b"\0\xff", b""],
    }
    columns = {name: pa.array(values[name], kind) for name, kind in kinds.items()}
    table = pa.table({"id": pa.array([1, 2], pa.int32()), **columns})
    a_source(tmp_path, {PATH: table})
    made = written(tmp_path, pa.schema([("id", pa.int64()), *kinds.items()]))
    found = pq.read_table(pa.BufferReader(made.data))
    assert found.schema.field("id").type == pa.int64()
    for name in kinds:
        assert found[name].to_pylist() == table[name].to_pylist()


def test_full_record_absent_column_is_null(tmp_path: Path) -> None:
    """A column that later files added is null in the older ones."""
    a_source(tmp_path, {PATH: ids(1)})
    made = written(tmp_path, pa.schema([("id", pa.int64()), ("late", pa.float64())]))
    assert rows(made)[0]["late"] is None


def test_full_record_partition_column_as_key_comes_from_the_folder(tmp_path: Path) -> None:
    """Key and column have the same value."""
    a_source(tmp_path, {PATH: ids(9)})
    made = written(tmp_path, pa.schema([("id", pa.int64())]), "p", "id")
    assert rows(made)[0]["_hoodie_record_key"] == "p:1,id:9"


def test_full_record_of_empty_file_is_a_file(tmp_path: Path) -> None:
    """No rows, all columns."""
    a_source(tmp_path, {PATH: ids()})
    made = written(tmp_path, pa.schema([("id", pa.int64())]))
    assert rows(made) == []
    assert pq.read_schema(pa.BufferReader(made.data)).names == [*META_COLUMNS, "id", "p"]


def test_full_record_same_source_gives_same_bytes_and_hashes(tmp_path: Path) -> None:
    """Every attempt makes the same file; its hashes are those of its keys."""
    a_source(tmp_path, {PATH: ids(*range(100))})
    schema = pa.schema([("id", pa.int64())])
    made, again = written(tmp_path, schema), written(tmp_path, schema)
    assert made.data == again.data
    assert made.hashes.tolist() == key_hashes(pa.array([str(n) for n in range(100)])).tolist()
