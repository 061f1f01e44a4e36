"""Tables on HDFS and on S3 through Spark: runs, with the gate, and every way to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.lake, pytest.mark.timeout(1800)]

_DAYS = ("a", "b c")


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("store", ["hdfs", "s3"])
def test_table_in_a_store_is_adopted_loaded_and_read_through_spark(
    store: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession
) -> None:
    """Skeletons over sources in the store; an upsert; snapshots and changes.

    On HDFS the gate quarantines a row; on S3 that is not built yet.
    """
    api = pytest.importorskip("framework.spark")
    root = str(request.getfixturevalue({"hdfs": "root", "s3": "bucket"}[store]))
    root = f"s3://{root}" if store == "s3" else root
    table = f"{root}/table"
    _write_source(open_storage(f"{root}/source"))
    ids, values = ["a-0", "x"], ["new", "new"]
    if store == "hdfs":
        ids, values = [*ids, "y"], [*values, "bad"]
    count = len(ids)
    batch = {"id": ids, "ts": [2] * count, "v": values, "day": ["a"] * count}
    _put(open_storage(f"{root}/new"), "n.parquet", batch)
    spec = tmp_path / "t.pipeline.yml"
    spec.write_text(json.dumps(_document(root, kind, checks=store == "hdfs")))
    api.run(spark, spec)
    adopted = api.read(spark, table)
    assert adopted.count() == 2 * 50
    assert {row.day for row in adopted.select("day").distinct().collect()} == set(_DAYS)
    (first,) = {row[0] for row in adopted.select("_hoodie_commit_time").distinct().collect()}
    api.run(spark, spec)
    loaded = api.read(spark, table, verify="full")
    assert loaded.count() == 2 * 50 + 1
    changed = api.read_incremental(spark, table, begin=first)
    assert {(row.id, row.v) for row in changed.collect()} == {("a-0", "new"), ("x", "new")}
    assert {row.id for row in loaded.filter("v = 'new'").collect()} == {"a-0", "x"}
    assert api.read(spark, table, as_of=first).filter("v = 'old'").count() == 2 * 50
    base = api.read_optimized(spark, table).filter("v = 'new'").count()
    assert base == (2 if kind == "copy_on_write" else 1)


def _write_source(source: Storage) -> None:
    for day in _DAYS:
        ids = [f"{day}-{number}" for number in range(50)]
        _put(source, f"day={day}/f.parquet", {"id": ids, "ts": [1] * 50, "v": ["old"] * 50})


def _put(storage: Storage, path: str, columns: Mapping[str, Any]) -> None:
    with storage.create(path) as out:
        pq.write_table(pa.table(columns), out)


def _document(root: str, kind: str, *, checks: bool) -> dict[str, Any]:
    good = {"name": "good", "expect": "v <> 'bad'", "on_fail": "quarantine"}
    return {
        "version": 1,
        "table": {
            "name": "lake.read",
            "location": f"{root}/table",
            "type": kind,
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {"path": f"{root}/source", "layout": "hive", "mode": "metadata_only"},
        "source": {"path": f"{root}/new", "format": "parquet"},
        "write": {"operation": "upsert"},
        **({"quality": {"checks": [good]}} if checks else {}),
    }
