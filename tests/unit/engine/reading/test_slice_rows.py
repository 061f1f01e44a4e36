"""Rows of slices with logs, as Apache Hudi wrote them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.reading.slice_rows import (
    SliceFiles,
    SliceTable,
    slice_changes,
    slice_columns,
    slice_gone,
    slice_keys,
    slice_rows,
)
from framework.engine.reading.table import open_table
from framework.engine.tasks import decode, encode
from framework.errors import SourceDriftError, StorageError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.filegroup.log_changes import LogPart
from framework.hudi.filegroup.log_file import log_file_bytes
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.avro_schema import avro_schema, with_meta_columns
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.view.listing_view import ListingView
from framework.vocabulary import TableType, WriteOperation
from tests.golden.tables.opening import golden_names, open_golden
from tests.interop.canonical import canonical_rows
from tests.support.writing import Lake, load

KEY, MARK = "_hoodie_record_key", "_hoodie_is_deleted"
LOG = ".f_1.log.1_0-0-0"
MERGE_ON_READ = [name for name in golden_names() if "merge-on-read" in name]
BOOTSTRAPPED = [name for name in golden_names() if name.startswith("bootstrapped")]


def read_slices(location: Path) -> Iterator[tuple[SliceTable, SliceFiles, dict[str, str]]]:
    """Yield what `slice_rows` takes for each slice of a table."""
    storage = open_storage(str(location))
    table = open_table(str(location))
    slice_table = SliceTable.of(
        storage,
        table.timeline,
        table.schema,
        in_folders=[field.name for field in table.partition],
        rule=MergeRule.of(table.properties),
    )
    slice_table = decode(SliceTable, encode(slice_table))
    index = BootstrapIndex.open(storage)
    view = ListingView(storage, table.timeline, index)
    for partition in view.partitions():
        for found in view.latest_slices(partition):
            yield slice_table, SliceFiles.of(found), {"day": partition.removeprefix("day=")}
    if index is not None:
        index.close()


@pytest.mark.parametrize("name", golden_names())
def test_slice_rows_of_a_table_by_apache_hudi_are_what_it_read_itself(name: str) -> None:
    """Base files, skeletons with their sources, and logs in Avro, by both releases."""
    golden = open_golden(name)
    rows: list[tuple[object, ...]] = []
    for slice_table, found, values in read_slices(golden.location):
        table = slice_rows(slice_table, found, values)
        assert table.schema.names[:5] == list(META_COLUMNS)
        rows += [tuple(row[c] for c in golden.columns) for row in table.to_pylist()]
    assert canonical_rows(rows) == golden.rows


@pytest.mark.parametrize("name", golden_names())
def test_slice_keys_of_a_table_by_apache_hudi_are_those_of_its_rows(name: str) -> None:
    """In the order of the rows; a column alone has that order too."""
    for slice_table, found, values in read_slices(open_golden(name).location):
        wanted = slice_rows(slice_table, found, values)[KEY].to_pylist()
        keys = slice_keys(slice_table, found)
        stored, deleted = keys.stored.to_pylist(), keys.deleted.tolist()
        assert [key for at, key in enumerate(stored) if at not in deleted] == wanted
        assert keys.rows == len(wanted)
        assert slice_columns(slice_table, found, [KEY])[KEY].to_pylist() == wanted


def test_slice_columns_leave_out_rows_that_say_they_are_deleted(tmp_path: Path) -> None:
    """A column of Apache Hudi marks them; rows and keys alone have to agree on it."""
    schema = pa.schema([*((each, pa.string()) for each in META_COLUMNS), (MARK, pa.bool_())])
    pq.write_table(marked(schema, a=False, b=False, c=False), tmp_path / "base.parquet")
    avro = json.dumps(with_meta_columns(avro_schema(pa.schema([schema.field(MARK)]), table="t")))
    log = log_file_bytes("2", avro, rows=marked(schema, b=True, d=False, e=True))
    (tmp_path / LOG).write_bytes(log)
    found = SliceFiles(base="base.parquet", logs=(LogPart(LOG),))
    table = SliceTable(
        location=str(tmp_path),
        schema=encode_schema(pa.schema([schema.field(MARK)])),
        in_folders=(),
        ordering=None,
        instants=("1.commit", "2.deltacommit"),
        until=None,
    )
    assert slice_rows(table, found, {})[KEY].to_pylist() == ["a", "c", "d"]
    assert slice_columns(table, found, [KEY])[KEY].to_pylist() == ["a", "c", "d"]
    assert slice_keys(table, found).rows == len("acd")


def marked(schema: pa.Schema, **keys: bool) -> pa.Table:
    """Return a row for each key, and whether it says that it is deleted."""
    names = schema.names
    rows = [{**dict.fromkeys(names, "x"), KEY: key, MARK: value} for key, value in keys.items()]
    return pa.Table.from_pylist(rows, schema)


def test_slice_rows_meet_logs_in_the_golden_tables() -> None:
    """Else the test above would say nothing of merging."""
    logs = [
        log
        for name in MERGE_ON_READ
        for _, found, _ in read_slices(open_golden(name).location)
        for log in found.logs
    ]
    assert logs


@pytest.mark.parametrize("name", BOOTSTRAPPED)
@pytest.mark.parametrize("change", ["gone", "longer"])
def test_slice_rows_of_a_changed_source_are_refused(name: str, change: str, tmp_path: Path) -> None:
    """The table has no copy of them."""
    golden = open_golden(name)
    shutil.copytree(golden.location.parent / "source", tmp_path / "source")
    slice_table, found, values = next(iter(read_slices(golden.location)))
    assert found.source is not None
    path = tmp_path / "source" / found.source.uri.partition("/source/")[2]
    found = replace(found, source=found.source._replace(uri=str(path)))
    assert slice_rows(slice_table, found, values).num_rows == 3
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(SourceDriftError) as caught:
        slice_rows(slice_table, found, values)
    assert caught.value.where.file == str(path)


@pytest.mark.parametrize("ordering", [None, "ts"])
def test_slice_changes_need_no_base_file_if_the_later_write_wins(
    tmp_path: Path, ordering: str | None
) -> None:
    """Updated and new rows come, deleted ones do not; an ordering value has to be compared."""
    lake = Lake(folder=tmp_path, partition={}, type=TableType.MERGE_ON_READ, ordering=ordering)

    def rows(*ids: int) -> list[dict[str, Any]]:
        return [{"id": each, "ts": 1, "v": "any"} for each in ids]

    load(lake, WriteOperation.INSERT, rows(1, 2, 3, 4))
    load(lake, WriteOperation.UPSERT, rows(1, 2))
    load(lake, WriteOperation.DELETE, rows(2, 3))
    ((slice_table, found, _),) = read_slices(Path(lake.location))
    assert sorted(slice_gone(slice_table, found).tolist()) == [0, 1, 2]
    assert slice_changes(slice_table, found, {})["id"].to_pylist() == [1]
    (Path(lake.location) / (found.base or "")).unlink()
    with pytest.raises(StorageError):
        slice_gone(slice_table, found)
    if ordering is None:
        assert slice_changes(slice_table, found, {})["id"].to_pylist() == [1]
    else:
        with pytest.raises(StorageError):
            slice_changes(slice_table, found, {})
