"""Bytes that a projection reads, counted by Hadoop's file systems: its columns, and no others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.spark import read
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.support.source_lakes import SourceLake, adopt
from tests.support.tables import changed_settings
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 4_000
_FOOTERS = 64 * 1024
"""Bytes for footers and buffers, of each file; a column has ten times as many."""


def wide_rows(first: int) -> pa.Table:
    """Return rows with a key and four columns of 160 bytes that no codec makes smaller."""
    chance = random.Random(first)

    def noise() -> pa.Array:
        return pa.array([chance.randbytes(160) for _ in range(ROWS)], pa.binary())

    ids = pa.array(range(first, first + ROWS), pa.int64())
    pair = pa.StructArray.from_arrays([noise(), noise()], ["x", "y"])
    return pa.table({"id": ids, "a": noise(), "b": noise(), "pair": pair})


@pytest.fixture(autouse=True)
def _counted_reads(spark: SparkSession) -> Iterator[None]:
    """Read column chunks one by one: Hadoop does not count the bytes of vectored reads."""
    with changed_settings(spark, {"parquet.hadoop.vectored.io.enabled": "false"}):
        yield


def bytes_read(spark: SparkSession, frame: DataFrame) -> int:
    """Return the bytes that Hadoop's file systems read while the rows are computed."""

    def total() -> int:
        jvm: Any = spark._jvm  # noqa: SLF001 - the storage's own counter
        found = jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()
        return sum(each.getBytesRead() for each in found)

    before = total()
    frame.write.format("noop").mode("overwrite").save()
    return total() - before


def stored(files: Sequence[Path], *leaves: str) -> int:
    """Return the bytes of some leaf columns, from the footers of files."""
    size = 0
    for file in files:
        metadata = pq.read_metadata(file)
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            chunks = map(group.column, range(metadata.num_columns))
            size += sum(c.total_compressed_size for c in chunks if c.path_in_schema in leaves)
    return size


PROJECTIONS = [
    (("a",), ("a",)),
    (("a", "b"), ("a", "b")),
    (("pair.x",), ("pair.x",)),
    (("id", "pair"), ("id", "pair.x", "pair.y")),
    (("_hoodie_commit_time", "_hoodie_file_name"), ()),
]
"""What is selected, and the leaf columns of the source that it needs."""


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an adopted table of two files."""
    folder = tmp_path_factory.mktemp("adopted")
    files = {f"{at}.parquet": wide_rows(at * ROWS) for at in range(2)}
    adopt(SourceLake(files=files, row_group_size=ROWS), folder)
    return folder


@pytest.mark.parametrize(
    ("selected", "needed"), [*PROJECTIONS, (("_hoodie_record_key", "b"), ("id", "b"))]
)
def test_projection_of_an_adopted_table_reads_its_columns_of_the_source(
    spark: SparkSession, adopted: Path, selected: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    """Meta columns are derived: of skeletons nothing but footers is read."""
    files = sorted((adopted / "source").glob("*.parquet"))
    found = bytes_read(spark, read(spark, adopted / "table").select(*selected))
    least = stored(files, *needed)
    assert least <= found <= least + len(files) * _FOOTERS
    assert stored(files, "a") > len(files) * 9 * _FOOTERS


def test_count_of_an_adopted_table_reads_footers_only(spark: SparkSession, adopted: Path) -> None:
    """No column is needed for the number of rows."""
    counted = read(spark, adopted / "table").groupBy().count()
    assert bytes_read(spark, counted) <= 2 * _FOOTERS
    assert counted.first() == (2 * ROWS,)


def test_filter_outside_the_statistics_reads_no_column(spark: SparkSession, adopted: Path) -> None:
    """Filters are pushed through the derivation of meta columns, into the source's scan."""
    nothing = read(spark, adopted / "table").where("id < 0").select("a", "_hoodie_record_key")
    assert bytes_read(spark, nothing) <= 2 * _FOOTERS
    one_file = read(spark, adopted / "table").where(f"id < {ROWS}").select("a")
    first = [adopted / "source/0.parquet"]
    least = stored(first, "id", "a")
    assert least <= bytes_read(spark, one_file) <= least + 2 * _FOOTERS


@pytest.mark.parametrize("kind", list(TableType))
@pytest.mark.parametrize(
    ("selected", "needed"),
    [
        *PROJECTIONS[:4],
        (("_hoodie_record_key",), ("_hoodie_record_key",)),
    ],
)
def test_projection_of_a_loaded_table_reads_its_columns(
    spark: SparkSession,
    tmp_path: Path,
    kind: TableType,
    selected: tuple[str, ...],
    needed: tuple[str, ...],
) -> None:
    """Slices without log files are scanned by Spark, whatever the table's type."""
    lake = Lake(folder=tmp_path, type=kind, partition={}, scope=KeyScope.TABLE)
    load(lake, WriteOperation.BULK_INSERT, wide_rows(0))
    (file,) = Path(lake.location).glob("*.parquet")
    found = bytes_read(spark, read(spark, lake.location).select(*selected))
    least = stored([file], *needed)
    footer = pq.read_metadata(file).serialized_size  # with the bloom filter; Spark reads it twice
    assert least <= found <= least + 2 * footer + _FOOTERS
