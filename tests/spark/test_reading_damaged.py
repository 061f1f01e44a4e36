"""Damaged tables, read by Spark: files that a completed commit recorded are named, not missed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.errors import CorruptFileError
from framework.hudi.codecs.parquet_seal import check_pages, chunk_start
from framework.spark import read, read_incremental, read_optimized
from framework.spark.sql_query import query
from framework.spark.task_faults import typed
from framework.vocabulary import TableType, Verify
from tests.golden.tables.opening import open_golden
from tests.support.damaged_lakes import adopted_lake, written_lake
from tests.support.scenes import a_scene, adopt
from tests.support.sources import ids
from tests.support.torn import TEARS, tear

Reader = Callable[[SparkSession, str], DataFrame]

pytestmark = pytest.mark.spark

READERS: dict[str, Reader] = {
    "read": read,
    "read_optimized": read_optimized,
    "read_incremental": read_incremental,
    "read as of the last instant": lambda spark, table: read(
        spark, table, as_of=open_table(table).timeline.completed[-1].requested_time
    ),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("written-merge-on-read-0.15.0", "base"),
        ("written-merge-on-read-0.15.0", "log"),
        ("bootstrapped-merge-on-read-1.2.0", "skeleton"),
        ("written-copy-on-write-1.2.0", "base"),
        ("written-copy-on-write-1.2.0", "partition"),
    ],
)
def test_reader_of_a_table_with_a_deleted_file_raises_with_its_name(
    spark: SparkSession, tmp_path: Path, name: str, kind: str, reader: str
) -> None:
    """Before a job is started."""
    location = Path(shutil.copytree(open_golden(name).location, tmp_path / "table"))
    assert READERS[reader](spark, str(location)).count() > 0
    path = _file(location, kind)
    (location / path).unlink()
    with pytest.raises(CorruptFileError) as caught:
        READERS[reader](spark, str(location))
    assert caught.value.condition in {"table/file-lost", "table/partition-lost"}
    assert caught.value.where.file == f"{location}/{path}"


def test_log_block_damaged_in_place_raises_through_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its size is as recorded, so a task meets it."""
    name = "written-merge-on-read-0.15.0"
    location = Path(shutil.copytree(open_golden(name).location, tmp_path / "table"))
    path = location / _file(location, "log")
    data = bytearray(path.read_bytes())
    data[:6] = b"broken"
    path.write_bytes(bytes(data))
    frame = read(spark, str(location))
    with pytest.raises(Exception, match="log/damaged"):
        frame.count()


def test_page_with_a_turned_bit_fails_in_sparks_own_scan(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Base files, skeletons and source files that have checksums: none is read as other values."""
    table = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    whole = read(spark, str(table)).count()
    path = table / _file(table, "base")
    data = path.read_bytes()
    for column in range(pq.read_metadata(path).num_columns):
        chunk = pq.read_metadata(path).row_group(0).column(column)
        if chunk.path_in_schema == "day":
            continue  # the folder has it, and it is not read
        end = chunk_start(chunk) + chunk.total_compressed_size
        path.write_bytes(data[: end - 1] + bytes((data[end - 1] ^ 1,)) + data[end:])
        with pytest.raises(CorruptFileError) as caught, typed():
            read(spark, str(table)).collect()
        assert caught.value.condition == "file/not-readable"
        assert caught.value.where.file == str(path)
    path.write_bytes(data)
    assert read(spark, str(table)).count() == whole


@pytest.mark.parametrize("verify", [Verify.FOOTER, Verify.FULL])
def test_footer_with_a_turned_bit_fails_where_footers_are_verified(
    spark: SparkSession, tmp_path: Path, verify: Verify
) -> None:
    """A bit of a column's name: Spark finds no such column, and gives nulls."""
    table = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    path = table / _file(table, "base")
    data = path.read_bytes()
    at = data.rindex(b"price", 0, data.rindex(b"parquet.avro.schema"))
    path.write_bytes(data[:at] + b"q" + data[at + 1 :])
    with pytest.raises(CorruptFileError) as caught:
        read(spark, str(table), verify=verify)
    assert caught.value.condition == "file/not-readable"
    assert caught.value.where.file == str(path)


def test_page_header_with_a_turned_bit_fails_where_pages_are_verified(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Skeletons likewise; a footer that is sound is not enough."""
    table, _ = adopted_lake(tmp_path)
    path = table / _file(table, "base")
    data = path.read_bytes()
    at = chunk_start(pq.read_metadata(path).row_group(0).column(1)) + 1
    path.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
    with pytest.raises(CorruptFileError) as caught:
        read(spark, str(table), verify=Verify.FULL)
    assert caught.value.condition == "file/not-readable"
    assert caught.value.where.file == str(path)
    path.write_bytes(data)
    assert read(spark, str(table), verify=Verify.FULL).count() == 90


def test_pages_that_spark_writes_have_checksums(spark: SparkSession, tmp_path: Path) -> None:
    """Staged input and quarantined rows are its files."""
    spark.range(100).selectExpr("id", "cast(id as string) t").write.parquet(str(tmp_path / "x"))
    for path in (tmp_path / "x").glob("*.parquet"):
        group = pq.read_metadata(path).row_group(0)
        data = pa.py_buffer(path.read_bytes())
        for chunk in map(group.column, range(2)):
            check_pages(data.slice(chunk_start(chunk), chunk.total_compressed_size))


@pytest.mark.parametrize("what", TEARS)
def test_source_page_that_spark_cannot_read_is_named_by_its_file(
    spark: SparkSession, tmp_path: Path, what: str
) -> None:
    """Behind a sound footer: Spark's own error names it, and ours has it as a place."""
    texts = ["a", "b", "c"] * 10
    files = {f"p={n}/b é.parquet": ids(*range(n * 30, n * 30 + 30), v=texts) for n in (1, 2)}
    scene = a_scene(tmp_path, files)
    file = scene.source / "p=2" / "b é.parquet"
    tear(file, 1, 0, what)
    adopt(scene)
    frame = read(spark, str(scene.location))
    assert frame.where("p = 1").count() == 30
    with pytest.raises(Exception, match=r"reading file .*p=2/b%20é\.parquet"):
        frame.collect()
    with pytest.raises(CorruptFileError) as caught:
        query(spark, str(scene.location), "SELECT max(v) FROM this", limit=1)
    assert caught.value.condition == "file/not-readable"
    assert caught.value.where.file == str(file)


def _file(location: Path, kind: str) -> str:
    """Return the path of a file that the latest slices use, relative to the table."""
    if kind == "partition":
        return str(next(location.rglob(".hoodie_partition_metadata")).relative_to(location))
    found = list(latest_slices(open_table(str(location)), LISTED, None))
    if kind == "log":
        return next(log.path for each in found for log in each.logs)
    is_skeleton = kind == "skeleton"
    bases = [e.base for e in found if e.base and (e.bootstrap is not None) is is_skeleton]
    return bases[0].path
