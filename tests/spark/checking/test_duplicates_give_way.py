"""`on_duplicate: rewrite_files` from end to end: one row of each key is in the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from framework.errors import AuditFailedError
from framework.spark import read
from tests.support.checks import Gate, good_rows, quarantined_in
from tests.support.scenes import snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

REWRITE = {"on_duplicate": "rewrite_files"}


def a_gate(folder: Path, **more: Any) -> Gate:
    """Return a bootstrap that keeps one row of each key."""
    return Gate(folder=folder, operation="metadata_only", bootstrap=REWRITE, **more)


def lies_in_quarantine(gate: Gate) -> list[tuple[str, int, int, list[str]]]:
    """Return file, row, id and rules of what was quarantined."""
    names = ("_lakestrap_file", "_lakestrap_row", "id", "_lakestrap_rules")
    return [tuple(row[name] for name in names) for row in quarantined_in(gate.quarantine)]


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_losers_are_quarantined_and_only_their_files_are_written_in_full(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """In one file, across files and across partitions; the winner's file stays a skeleton.

    The source is as it was, and running again changes nothing.
    """
    gate = a_gate(tmp_path, type=kind)
    gate.put("plain", good_rows(range(100, 110)))
    gate.put("winners", good_rows(range(10), ts=9))
    gate.put("twice", [*good_rows(range(20, 24), day="a"), *good_rows([20], day="a", ts=5)])
    gate.put("losers", good_rows(range(8, 12), day="a"))
    before = snapshot(gate.source)
    result = gate.run(spark)
    expected = [
        ("day=a/losers.parquet", 0, 8, ["duplicate-key"]),
        ("day=a/losers.parquet", 1, 9, ["duplicate-key"]),
        ("day=a/twice.parquet", 0, 20, ["duplicate-key"]),
    ]
    assert lies_in_quarantine(gate) == expected
    kept = [*range(12), *range(20, 24), *range(100, 110)]
    assert sorted(gate.amounts(spark)) == kept
    table = {row.id: (row.ts, row.day) for row in read(spark, gate.location).collect()}
    assert (table[8], table[9], table[20]) == ((9, "a"), (9, "b"), (5, "a"))
    assert result.proof["unique"] is True
    assert result.proof["fate"] == {
        "input": len(kept) + 3,
        "published": len(kept),
        "quarantined": 3,
        "dropped": 0,
    }
    held = {path.name: path.stat().st_size for path in gate.location.glob("day=*/*.parquet")}
    assert len(held) == result.files == 6
    assert snapshot(gate.source) == before
    assert gate.run(spark).instant is None


def test_keys_unique_within_their_partition_may_repeat_in_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Only what is twice in one folder gives way."""
    keys = {"record_key": {"columns": ["id"], "unique_within": "partition"}}
    gate = a_gate(tmp_path, table=keys)
    gate.put("one", [*good_rows(range(4), day="a"), *good_rows(range(4), day="b")])
    gate.put("two", good_rows(range(1), day="a", ts=9))
    gate.run(spark)
    assert lies_in_quarantine(gate) == [("day=a/one.parquet", 0, 0, ["duplicate-key"])]
    rows = [(row.day, row.id) for row in read(spark, gate.location).collect()]
    assert sorted(rows) == [(day, n) for day in "ab" for n in range(4)]


def test_rows_that_checks_take_out_are_not_duplicates(spark: SparkSession, tmp_path: Path) -> None:
    """The best row of a key is bad, so the next best one stays, and no row goes by two ways."""
    gate = a_gate(tmp_path)
    rows = pa.table(
        {
            "id": pa.array([1, 1, 1, 2, 2, 3], pa.int64()),
            "day": ["a"] * 6,
            "ts": pa.array([1, 2, 3, 1, 2, 1], pa.int64()),
            "amount": [1.0, 2.0, -3.0, 1.0, None, -1.0],
        }
    )
    gate.put("one", rows)
    check = {"name": "positive", "expect": "amount >= 0", "on_fail": "quarantine"}
    result = gate.run(spark, check)
    assert gate.amounts(spark) == {1: 2.0, 2: 1.0}
    assert lies_in_quarantine(gate) == [
        ("day=a/one.parquet", 0, 1, ["duplicate-key"]),
        ("day=a/one.parquet", 2, 1, ["positive"]),
        ("day=a/one.parquet", 4, 2, ["positive"]),
        ("day=a/one.parquet", 5, 3, ["positive"]),
    ]
    assert result.proof["fate"] == {"input": 6, "published": 2, "quarantined": 4, "dropped": 0}


def test_rows_without_a_key_refuse_the_run_as_before(spark: SparkSession, tmp_path: Path) -> None:
    """They are no duplicates of each other, and nothing is quarantined."""
    gate = a_gate(tmp_path)
    rows = pa.table(
        {"id": pa.array([1, None, None, 1], pa.int64()), "day": ["a"] * 4, "ts": [1, 1, 1, 2]}
    )
    gate.put("one", rows)
    error = gate.refused(spark)
    assert error.condition == "audit/null-keys"
    assert not gate.quarantine.exists()
    assert not gate.location.exists()


def test_automatic_keys_are_all_different_so_that_no_row_gives_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows that are alike in every column are rows of their own."""
    gate = a_gate(tmp_path, table={"record_key": "auto"})
    gate.put("one", [*good_rows(range(4), day="a"), *good_rows(range(4), day="a")])
    gate.run(spark)
    assert sorted(row.id for row in read(spark, gate.location).collect()) == sorted([*range(4)] * 2)
    assert not gate.quarantine.exists()


def test_one_key_in_all_rows_keeps_one_and_max_ratio_bounds_what_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Ten thousand rows, of which a third may go at most; then all but one."""
    gate = a_gate(tmp_path)
    count = 5_000
    for name in ("one", "two"):
        ts = range(count) if name == "one" else range(count, 2 * count)
        rows = {
            "id": pa.array([7] * count, pa.int64()),
            "day": ["a"] * count,
            "ts": pa.array(ts, pa.int64()),
            "amount": [float(each) for each in ts],
        }
        gate.put(name, pa.table(rows))
    error = gate.refused(spark, quarantine={"max_ratio": 0.3})
    assert error.condition == "audit/too-many-set-aside"
    gate.run(spark)
    assert gate.amounts(spark) == {7: 2.0 * count - 1}
    assert len(quarantined_in(gate.quarantine)) == 2 * count - 1


def test_duplicates_refuse_the_run_where_the_spec_does_not_say_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    """This is the default; the findings of checks are reported too."""
    gate = Gate(folder=tmp_path, operation="metadata_only")
    gate.put("one", good_rows(range(4), day="a"))
    gate.put("two", good_rows(range(3, 6), day="a", bad=(5,)))
    with pytest.raises(AuditFailedError) as caught:
        gate.run(spark, {"name": "positive", "expect": "amount >= 0"})
    assert caught.value.condition == "audit/duplicate-keys"
    assert len(caught.value.results) == 1
