"""Loads into adopted slices: chunks of the source stay, rows are those of a whole rewrite."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.load import group_task, old_chunks
from framework.engine.load.old_chunks import OldChunks
from framework.engine.load.patch import patched
from framework.hudi.table.layout import META_COLUMNS
from tests.support.writing import rows_of, run_spec

pytestmark = pytest.mark.long

_ROWS = 400
_GROUP = 200
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("word", pa.string()),
        ("raw", pa.binary()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("nested", pa.list_(pa.struct({"a": pa.int32(), "b": pa.string()}))),
    ]
)
WRITERS: Mapping[str, Mapping[str, Any]] = {
    "snappy": {"compression": "snappy"},
    "plain": {"use_dictionary": False, "compression": "none"},
    "v2 pages": {"data_page_version": "2.0", "compression": "gzip"},
    "small pages": {"data_page_size": 1024, "compression": "zstd"},
    "checksums": {"write_page_checksum": True, "compression": "snappy"},
    "deltas": {"use_dictionary": False, "column_encoding": {"n": "DELTA_BINARY_PACKED"}},
    "no statistics": {"write_statistics": False},
}


def record(number: int, version: int = 0) -> dict[str, Any]:
    """Return a row; half of its columns are the same in each version."""
    return {
        "id": f"k{number:06}",
        "n": number * 7 + version,
        "f": None if number % 11 == 0 else number / 3,
        "word": None if number % 5 == 0 else f"word {number % 3}",
        "raw": bytes((number % 256, version)),
        "at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=number),
        "nested": [None, [], [{"a": number, "b": None}]][number % 3],
    }


def table(*records: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist(list(records), schema)


class Lake:
    """An adopted table of one source file, and the calls that made its files."""

    def __init__(self, folder: Path, schema: pa.Schema = SCHEMA, **writer: Any) -> None:
        self.folder = folder
        (folder / "source" / "day=d1").mkdir(parents=True)
        (folder / "landing").mkdir()
        rows = table(*map(record, range(_ROWS)), schema=schema)
        options = {"row_group_size": _GROUP, **writer}
        pq.write_table(rows, folder / "source" / "day=d1" / "a.parquet", **options)
        self.document: dict[str, Any] = {
            "version": 1,
            "table": {
                "name": "shop.orders",
                "location": str(folder / "table"),
                "type": "copy_on_write",
                "partition_by": {"day": "string"},
                "record_key": {"columns": ["id"], "unique_within": "table"},
                "ordering": "commit_time",
            },
            "bootstrap": {
                "path": str(folder / "source"),
                "layout": "hive",
                "mode": "metadata_only",
            },
            "source": {"path": str(folder / "landing")},
            "write": {"operation": "upsert", "schema_evolution": "widen"},
        }
        run_spec(self.document, folder)

    def load(self, name: str, *records: dict[str, Any], day: str = "d1") -> None:
        """Load some rows."""
        rows = table(*records)
        rows = rows.append_column("day", pa.array([day] * rows.num_rows))
        pq.write_table(rows, self.folder / "landing" / f"{name}.parquet")
        run_spec(self.document, self.folder)

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows by key, without what differs between two tables."""
        found = rows_of(str(self.folder / "table"))
        varying = {*META_COLUMNS} - {"_hoodie_record_key", "_hoodie_partition_path"}
        kept = [{k: v for k, v in row.items() if k not in varying} for row in found]
        return sorted(kept, key=lambda row: str(row["id"]))

    def newest(self) -> Path:
        """Return the newest base file of the adopted partition."""
        return max((self.folder / "table" / "day=d1").glob("*.parquet"), key=lambda p: p.name[-25:])


@pytest.fixture(autouse=True)
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let row groups of few rows be taken."""
    monkeypatch.setattr(old_chunks, "_LEAST_GROUP_ROWS", 1)


@pytest.fixture(name="made")
def made_files(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list to which each base file with a previous one adds whether it was patched."""
    found: list[bool] = []

    def noted(*args: Any) -> Any:
        done = patched(*args)
        found.append(done is not None)
        return done

    monkeypatch.setattr(group_task, "patched", noted)
    return found


def loads(lake: Lake) -> None:
    """Update, insert, delete by moving away, and update again."""
    lake.load("a", record(5, 1), record(_GROUP + 7, 1), record(_ROWS + 1))
    lake.load("b", record(9, 1), day="d2")
    lake.load("c", record(5, 2), record(_ROWS - 1, 1))


@pytest.mark.parametrize("writer", WRITERS)
def test_load_into_an_adopted_file_keeps_chunks_and_gives_the_rows_of_a_rewrite(
    tmp_path: Path, writer: str, made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote the source; the key that moves leaves the first of two row groups."""
    lake = Lake(tmp_path / "patched", **WRITERS[writer])
    loads(lake)
    assert made == [True, True, True]
    monkeypatch.setattr(OldChunks, "of_adopted", lambda *_: None)
    other = Lake(tmp_path / "whole", **WRITERS[writer])
    loads(other)
    assert made[3] is False
    assert lake.rows() == other.rows()
    assert len(lake.rows()) == _ROWS + 1


def test_load_into_an_adopted_file_copies_what_stays(tmp_path: Path, made: list[bool]) -> None:
    """With a checksum in each page, by which every reader can check it."""
    lake = Lake(tmp_path, compression="snappy")
    lake.load("a", record(5, 1))
    assert made == [True]
    found = pq.read_metadata(lake.newest())
    codecs = [
        {
            found.row_group(group).column(at).path_in_schema: found.row_group(group)
            .column(at)
            .compression
            for at in range(found.num_columns)
        }
        for group in range(found.num_row_groups)
    ]
    assert [each["n"] for each in codecs] == ["ZSTD", "SNAPPY"]
    assert [each["word"] for each in codecs] == ["SNAPPY", "SNAPPY"]
    checked = pq.ParquetFile(lake.newest(), page_checksum_verification=True).read()
    assert checked.num_rows == _ROWS


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("n", pa.int32()),
        ("at", pa.timestamp("ms", tz="UTC")),
        ("word", pa.large_string()),
        ("raw", pa.large_binary()),
    ],
)
def test_load_into_a_source_of_other_types_gives_the_same_rows(
    tmp_path: Path, column: str, kind: pa.DataType, made: list[bool]
) -> None:
    """Large texts are stored alike; other units and widths are not."""
    at = SCHEMA.get_field_index(column)
    schema = SCHEMA.set(at, pa.field(column, kind))
    lake = Lake(tmp_path, schema)
    before = lake.rows()
    lake.load("a", record(3, 1))
    assert len(made) == 1
    assert lake.rows()[4:] == before[4:]
    assert lake.rows()[3]["n"] == record(3, 1)["n"]


def test_load_into_tiny_adopted_row_groups_writes_larger_ones(
    tmp_path: Path, made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk that stays costs a page, a checksum and a place in the footer."""
    monkeypatch.setattr(old_chunks, "_LEAST_GROUP_ROWS", 100)
    lake = Lake(tmp_path, row_group_size=50)
    lake.load("a", record(3, 1))
    assert made == [False]
    assert pq.read_metadata(lake.newest()).num_row_groups == 1


def test_load_that_empties_each_row_group_a_little_writes_the_file_whole(
    tmp_path: Path, made: list[bool]
) -> None:
    """No chunk would stay."""
    lake = Lake(tmp_path)
    lake.load("a", record(3, 1), record(_GROUP + 3, 1), day="d2")
    assert made == [False]
    assert len(lake.rows()) == _ROWS
