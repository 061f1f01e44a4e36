"""What Spark does for a read: scans are native, and meta columns cost nothing when unused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from framework.engine.reading.table import open_table
from framework.errors import SourceDriftError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.view.listing_view import ListingView
from framework.spark import read
from framework.spark.reading import snapshot
from framework.spark.reading.adopted import as_stored, scan_adopted
from framework.spark.reading.columns import partition_schema, struct_of
from framework.spark.reading.files import Adopted, FileSet, gather
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.scan import EarlyListing, Scan, Scanner, private_settings
from framework.vocabulary import SourceLayout
from tests.support.source_lakes import adopt, hive_lake, mixed_lake, positional_lake, widened_lake
from tests.support.tables import changed_settings

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def hive_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table by month."""
    return adopt(hive_lake(), tmp_path_factory.mktemp("hive"))


def plan_of(frame: DataFrame) -> str:
    """Return the physical plan as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001 - the plan is what is tested


def files_read(frame: DataFrame) -> int:
    """Run a frame and return how many files its scans opened."""
    execution = frame._jdf.queryExecution()  # noqa: SLF001 - the metrics are what is tested
    execution.toRdd().count()
    leaves = execution.executedPlan().collectLeaves()
    metrics = (leaves.apply(at).metrics() for at in range(leaves.size()))
    return sum(m.apply("numFiles").value() for m in metrics if m.contains("numFiles"))


def test_data_columns_alone_need_no_join(spark: SparkSession, hive_table: Path) -> None:
    """Where no meta column is used, nothing is joined; filters on data columns are pushed down."""
    frame = read(spark, hive_table).where("n > 100").select("id", "month")
    plan = plan_of(frame)
    assert "Join" not in plan
    assert "GreaterThan(n,100)" in plan
    assert "ReadSchema: struct<id:bigint,n:int>" in plan
    assert "row_index" not in plan


def test_counting_needs_no_join(spark: SparkSession, hive_table: Path) -> None:
    """A projection of no columns counts the source's rows."""
    frame = read(spark, hive_table)
    assert "Join" not in plan_of(frame.selectExpr("count(*)"))
    assert frame.count() == 48


def test_keys_alone_need_no_join(spark: SparkSession, hive_table: Path) -> None:
    """Record key and commit time come from the data columns and the instant."""
    frame = read(spark, hive_table).select("_hoodie_record_key", "_hoodie_commit_time")
    assert "Join" not in plan_of(frame)
    assert frame.distinct().count() == 48


@pytest.mark.parametrize("lake", [hive_lake, positional_lake, mixed_lake])
def test_partition_filters_skip_files(spark: SparkSession, tmp_path: Path, lake: type) -> None:
    """A filter on a partition column reads the files of its partitions only."""
    frame = read(spark, adopt(lake(), tmp_path))
    wanted = "place = 'oslo'" if "place" in frame.columns else "month = 10"
    with changed_settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        assert files_read(frame.select("id").where(wanted)) == 2
        assert files_read(frame.where(wanted).select("_hoodie_file_name")) == 2


def test_filters_on_both_sides_drop_the_same_rows(spark: SparkSession, hive_table: Path) -> None:
    """Filters on data and on meta columns, alone and together, agree with filtering afterwards."""
    frame = read(spark, hive_table)
    rows = [row.asDict() for row in frame.collect()]
    found = frame.where("n > 30 and _hoodie_record_key like '1%' and month = 10").collect()
    expected = [
        row
        for row in rows
        if (row["n"] or 0) > 30 and row["_hoodie_record_key"][0] == "1" and row["month"] == 10
    ]
    assert len(found) == len(expected) > 0
    name = rows[7]["_hoodie_file_name"]
    assert frame.where(f"_hoodie_file_name = '{name}'").count() == 6


def test_old_spark_reads_widened_columns_group_by_group(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each set of types is one scan with casts, and gives the rows that Spark 4 gives in one."""
    location = adopt(widened_lake(), tmp_path)
    frame = read(spark, location)
    assert plan_of(frame).count("FileScan") == (1 if spark.version >= "4" else 4)
    as_old = partial(as_stored, spark_version="3.5.8")
    monkeypatch.setattr(snapshot, "as_stored", lambda table, files, _: as_old(table, files))
    grouped = read(spark, location)
    assert plan_of(grouped).count("FileScan") == 4
    assert grouped.schema == frame.schema
    assert sorted(map(str, grouped.collect())) == sorted(map(str, frame.collect()))


def test_table_knows_whether_a_file_is_narrower(hive_table: Path, tmp_path: Path) -> None:
    """Footers are looked at only where it matters."""
    assert not open_table(str(hive_table)).has_widened
    assert open_table(str(adopt(widened_lake(), tmp_path))).has_widened


def test_widened_file_that_is_missing_is_drift(tmp_path: Path) -> None:
    """A footer that cannot be read names its file."""
    table = open_table(str(adopt(widened_lake(), tmp_path)))
    lost = Adopted(names=["x"], sources=FileSet(paths=[str(tmp_path / "gone.parquet")]))
    with pytest.raises(SourceDriftError, match=r"gone\.parquet"):
        list(as_stored(table, lost, "3.5.8"))


class _Forgetful(Scanner):
    """A scanner that names its files otherwise than Spark does."""

    def scan(self, files: FileSet, columns: StructType, *, with_rows: bool = False) -> Scan:
        """Scan, and lose the last file's name."""
        scan = Scanner.scan(self, files, columns, with_rows=with_rows)
        return replace(scan, texts=[*scan.texts[:-1], "file:/elsewhere"])


def test_rows_of_an_unknown_file_raise(spark: SparkSession, hive_table: Path) -> None:
    """A file that finds no constants fails the query; it never gives NULL."""
    table = open_table(str(hive_table))
    with BootstrapIndex.open(table.storage) or pytest.fail("no index") as index:
        view = ListingView(table.storage, table.timeline, index)
        found = gather(table, view, view.partitions(), lambda each: each)
    jvm = Jvm(spark)
    session = jvm.private_session(private_settings(2, None))
    scanner = _Forgetful(
        jvm=jvm,
        session=session,
        early=EarlyListing(jvm, session),
        partition=partition_schema(table.partition),
        takes_folders_apart=table.layout is SourceLayout.HIVE,
    )
    columns = struct_of(table.file_fields)
    frame = scan_adopted(scanner, table, found.adopted, columns)
    assert frame.select("id").count() == 48
    for column in set(META_COLUMNS) - {"_hoodie_commit_time", "_hoodie_record_key"}:
        with pytest.raises((PySparkException, Py4JError), match="not in the table"):
            frame.select(column).collect()


def test_files_that_spark_cannot_list_raise(spark: SparkSession, tmp_path: Path) -> None:
    """A file that vanishes before the scan is planned raises; it is not left out."""
    jvm = Jvm(spark)
    session = jvm.private_session(private_settings(2, None))
    scanner = Scanner(
        jvm=jvm,
        session=session,
        early=EarlyListing(jvm, session),
        partition=partition_schema(()),
        takes_folders_apart=False,
    )
    (tmp_path / "_hidden.parquet").touch()
    for name in ("gone.parquet", "_hidden.parquet"):
        with pytest.raises(SourceDriftError) as caught:
            scanner.scan(FileSet(paths=[f"{tmp_path}/{name}"]), partition_schema(()))
        assert caught.value.condition == "source/drift"


@pytest.mark.parametrize("folders", [100, 3])
def test_folders_listed_early_are_not_listed_again(
    spark: SparkSession, tmp_path: Path, folders: int
) -> None:
    """Many are in the cache when they are asked for, also beside one that is not there."""
    names = [str(tmp_path / f"{number:03}") for number in range(folders)]
    for name in names:
        Path(name).mkdir()
        (Path(name) / "a.parquet").touch()
    jvm = Jvm(spark)
    with EarlyListing(jvm, jvm.private_session(private_settings(2, None))) as early:
        early.begin(names)
        found = [early.cache.getLeafFiles(path) for path in jvm.listed(jvm.paths(names))]
        assert {each.isDefined() for each in found} == {folders == 100}
    assert not early.cache.getLeafFiles(jvm.listed(jvm.paths(names))[0]).isDefined()


def test_folders_that_cannot_be_listed_early_are_passed_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A guess may be wrong; requesting the files raises the error."""
    jvm = Jvm(spark)
    with EarlyListing(jvm, jvm.private_session(private_settings(2, None))) as early:
        early.begin([str(tmp_path / f"gone-{number}") for number in range(100)])
        assert early.cache is not None
