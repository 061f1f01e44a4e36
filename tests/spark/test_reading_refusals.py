"""Tables and sources that a snapshot must not be read from, and partitions that are chosen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from framework.errors import (
    CorruptFileError,
    FrameworkError,
    PlanError,
    SourceDriftError,
    UnsupportedTableError,
)
from framework.spark import read
from framework.vocabulary import Verify
from tests.support.source_lakes import SourceLake, adopt, hive_lake, odd_lake, things, yearly_lake
from tests.support.tables import commit_base_file, disown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _touch(file: Path) -> None:
    os.utime(file, ns=(1, 1))


def _grow(file: Path) -> None:
    found = file.stat()
    with file.open("ab") as out:
        out.write(b"x")
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


def _become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("change", [_touch, _grow, _become_a_folder, os.unlink])
def test_changed_source_file_raises_with_its_name(
    spark: SparkSession, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """A source file that is missing or changed since the bootstrap is reported, not read."""
    table = adopt(hive_lake(), tmp_path)
    file = tmp_path / "source" / "month=10" / "part-1.parquet"
    change(file)
    with pytest.raises(SourceDriftError) as caught:
        read(spark, table)
    assert (caught.value.condition, caught.value.where.file) == ("source/drift", str(file))
    assert read(spark, table, partition="month=1").count() == 12


def _same_outside(file: Path, change: Callable[[bytes], bytes]) -> None:
    """Change bytes of a file, but neither its size nor its time."""
    found, data = file.stat(), file.read_bytes()
    changed = change(data)
    assert len(changed) == len(data)
    assert changed != data
    file.write_bytes(changed)
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


def _footer_changed(data: bytes) -> bytes:
    return data.replace(b"parquet-cpp", b"parquet-CPP")


@pytest.mark.parametrize("foreign", [False, True])
def test_deeper_checks_see_what_sizes_and_times_hide(
    spark: SparkSession, tmp_path: Path, *, foreign: bool
) -> None:
    """`FOOTER` finds another footer of ours, `FULL` a damaged page of anyone's."""
    table = adopt(SourceLake(files={"a.parquet": things(0, 50)}), tmp_path)
    if foreign:
        disown(table)
    file = tmp_path / "source" / "a.parquet"
    whole = file.read_bytes()
    for depth in Verify:
        assert read(spark, table, verify=depth).count() == 50
    _same_outside(file, lambda data: data[:4] + bytes(40) + data[44:])
    read(spark, table, verify=Verify.FOOTER)
    with pytest.raises(SourceDriftError, match="column 'id' of row group 0: ") as caught:
        read(spark, table, verify=Verify.FULL)
    assert caught.value.where.file == str(file)
    _same_outside(file, lambda _: whole)
    _same_outside(file, _footer_changed)
    read(spark, table)
    if not foreign:
        with pytest.raises(SourceDriftError):
            read(spark, table, verify=Verify.FOOTER)


def test_torn_log_file_counts_for_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Its writer died, so its instant never completed; the slice has the rows of its base file."""
    table = adopt(hive_lake(), tmp_path)
    whole = read(spark, table).count()
    _with_log(table, b"#HUDI#")
    assert read(spark, table).count() == whole


def test_damaged_log_file_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """What is neither a block nor the beginning of one held updates; other partitions are read."""
    table = adopt(hive_lake(), tmp_path)
    log = _with_log(table, b"#hudi#" + bytes(20))
    with pytest.raises(Exception, match=f"log/damaged.*{log.name}|{log.name}.*log/damaged"):
        read(spark, table).count()
    assert read(spark, table, partition="month=10").count() == 12


def _with_log(table: Path, data: bytes) -> Path:
    """Give a slice of one partition a log file."""
    base = next((table / "month=2").glob("*.parquet")).name.partition("_")[0]
    log = table / "month=2" / f".{base}_00000000000001.log.1_1-0-1"
    log.write_bytes(data)
    return log


def _without_index(table: Path) -> None:
    shutil.rmtree(table / ".hoodie" / ".aux")


def _without_half_an_index(table: Path) -> None:
    shutil.rmtree(table / ".hoodie" / ".aux" / ".bootstrap" / ".fileids")


def _at_version_eight(table: Path) -> None:
    file = table / ".hoodie" / "hoodie.properties"
    file.write_text(file.read_text().replace("table.version=6", "table.version=8"))


def _without_table(table: Path) -> None:
    shutil.rmtree(table / ".hoodie")


def _without_schema(table: Path) -> None:
    (table / ".hoodie" / "00000000000001.commit").write_text('{"extraMetadata": {}}')


def _with_unreadable_schema(table: Path) -> None:
    (table / ".hoodie" / "00000000000001.commit").write_text('{"extraMetadata": {"schema": "{"}}')


def _with_another_generator(table: Path) -> None:
    disown(table)
    file = table / ".hoodie" / "hoodie.properties"
    file.write_text(file.read_text().replace("keygen.Simple", "keygen.TimestampBased"))


@pytest.mark.parametrize(
    ("damage", "kind", "condition"),
    [
        (_without_index, CorruptFileError, "read/skeleton-not-indexed"),
        (_without_half_an_index, CorruptFileError, "bootstrap-index/half"),
        (_at_version_eight, UnsupportedTableError, "read/table-version"),
        (_without_table, UnsupportedTableError, "read/not-a-table"),
        (_without_schema, UnsupportedTableError, "read/no-schema"),
        (_with_unreadable_schema, CorruptFileError, "read/schema-not-readable"),
        (_with_another_generator, UnsupportedTableError, "read/key-generator"),
    ],
)
def test_damaged_or_strange_tables_raise(
    spark: SparkSession,
    tmp_path: Path,
    damage: Callable[[Path], None],
    kind: type[FrameworkError],
    condition: str,
) -> None:
    """What others would read as nulls, or guess at, is refused with its own condition."""
    table = adopt(hive_lake(), tmp_path)
    damage(table)
    with pytest.raises(kind) as caught:
        read(spark, table)
    assert caught.value.condition == condition


def test_later_commit_replaces_slices_and_widens_the_schema(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A base file of a later commit hides its group's skeleton; new columns are null elsewhere."""
    table = adopt(hive_lake(), tmp_path)
    before = read(spark, table)
    old = before.where("month = 1").orderBy("_hoodie_commit_seqno").limit(6).collect()
    instant = "20260102030405006"
    group = old[0]["_hoodie_file_name"].partition("_")[0]
    name = f"{group}_1-0-1_{instant}.parquet"
    rows = pa.table({column: [row[column] for row in old] for column in before.columns})
    rows = rows.set_column(4, "_hoodie_file_name", pa.array([name] * 6))
    rows = rows.set_column(6, "n", pa.array([-1] * 6, pa.int32()))
    rows = rows.set_column(8, "month", pa.array([1] * 6, pa.int32()))
    rows = rows.append_column("added", pa.array(["later"] * 6))
    commit_base_file(table, instant, f"month=1/{name}", rows)
    frame = read(spark, table)
    assert frame.columns[-1] == "added"
    assert frame.count() == 48
    changed = frame.where("added = 'later'")
    assert {row["_hoodie_file_name"] for row in changed.collect()} == {name}
    assert changed.where("n = -1 and month = 1").count() == 6
    assert before.where("n = -1").count() == 0


def test_partitions_are_chosen_by_path_and_glob(spark: SparkSession, tmp_path: Path) -> None:
    """A path, a folder above some, and globs choose partitions; others are not even looked at."""
    table = adopt(yearly_lake(), tmp_path)
    shutil.rmtree(tmp_path / "source" / "year=2024" / "day=2024-02-01")
    counts = {
        "year=2023": 10,
        "/year=2023/": 10,
        "year=2023/day=2023-01-01": 5,
        "year=*/day=*-01-01": 10,
        "year=202[13]": 10,
        "year=2024/day=2024-0?-{01,02}": None,
        "*/*-01-01": 10,
    }
    for pattern, count in counts.items():
        if count is not None:
            assert read(spark, table, partition=pattern).count() == count
    for pattern in ("year=2025", "year=2023/day=2023-01", "year", ""):
        with pytest.raises(PlanError) as caught:
            read(spark, table, partition=pattern)
        assert caught.value.condition == "read/partition-matches-nothing"


def test_partition_path_with_glob_characters_is_itself(spark: SparkSession, tmp_path: Path) -> None:
    """A text that is a partition path means that partition, whatever a glob would make of it."""
    table = adopt(odd_lake(), tmp_path)
    for path in ("p=a%5Bb", "p=%7Ba,b}", "p=a%2Ab", "p=é"):
        found = read(spark, table, partition=path).select("_hoodie_partition_path").distinct()
        assert [row[0] for row in found.collect()] == [path]


def test_files_per_split_below_one_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """There is no task without files."""
    with pytest.raises(PlanError) as caught:
        read(spark, tmp_path, files_per_split=0)
    assert caught.value.condition == "read/files-per-split"
