"""Tables of which the gate took rows out: Apache Hudi reads them, writes on, and we read that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.spark import read, run
from tests.interop.canonical import canonical_rows
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.support.checks import COLUMNS, Gate, Rows, good_rows, quarantined_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.taking_turns]

CHECK = {"name": "positive", "expect": "amount >= 0", "on_fail": "quarantine"}


def compare(gate: Gate, judge: Judge, spark: SparkSession, rows: Rows) -> None:
    """Read the table, let the judge read it, and compare both with what it is to hold."""
    table = pa.Table.from_pylist(rows, COLUMNS)
    expected = canonical_rows([tuple(row.values()) for row in table.to_pylist()])
    found = read(spark, gate.location).select(*COLUMNS.names).collect()
    assert canonical_rows([tuple(row) for row in found]) == expected
    assert judge.rows(gate.location, COLUMNS.names) == expected


def theirs(gate: Gate, judge: Judge, rows: Rows) -> None:
    """Let the judge upsert rows under the options that we print."""
    batch = gate.folder / "theirs.parquet"
    pq.write_table(pa.Table.from_pylist(rows, COLUMNS), batch)
    judge.upsert(gate.location, batch, dict(printed_options(gate.location)))


def changed(rows: Rows, ids: set[int], **values: Any) -> Rows:
    """Return rows, some of them with other values."""
    return [{**row, **values} if row["id"] in ids else row for row in rows]


def a_mixed_table(spark: SparkSession, gate: Gate) -> Rows:
    """Adopt files of which some lose rows, one all of them; return the table's rows."""
    good = good_rows(range(10))
    mixed = good_rows(range(10, 20), bad=(12, 13))
    gate.put("good", good)
    gate.put("mixed", mixed)
    gate.put("empty", good_rows(range(20, 22), bad=(20, 21)))
    gate.put("twice", [*good_rows(range(4, 6), ts=1), *good_rows(range(30, 32))])
    gate.run(spark, CHECK)
    rules = {(row["id"], *row["_lakestrap_rules"]) for row in quarantined_in(gate.quarantine)}
    assert rules == {
        *((n, "positive") for n in (12, 13, 20, 21)),
        *((n, "duplicate-key") for n in (4, 5)),
    }
    kept = [row for row in mixed if row["id"] not in {12, 13}]
    return [*good, *kept, *good_rows(range(30, 32))]


@pytest.mark.parametrize(
    "kind", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.full)]
)
def test_partitions_that_mix_skeletons_and_files_without_their_bad_rows_are_written_on(
    judge: Judge, spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """One instant with a skeleton, a full file and one that lost all rows, in each folder.

    The judge reads the right rows, updates some of both kinds and adds others; then we load through
    the same gate, and both read what is there. Merge on read keeps to an index by partition, since
    0.15.0 fails with a global one wherever it meets a skeleton.
    """
    scope = "partition" if kind == "merge_on_read" else "table"
    gate = Gate(
        folder=tmp_path,
        operation="metadata_only",
        type=kind,
        bootstrap={"on_duplicate": "rewrite_files"},
        table={"record_key": {"columns": ["id"], "unique_within": scope}},
    )
    rows = a_mixed_table(spark, gate)
    compare(gate, judge, spark, rows)
    touched = {0, 1, 10, 11, 30}
    update = [{**row, "amount": 0.5, "ts": 3} for row in rows if row["id"] in touched]
    fresh = good_rows(range(40, 42), ts=3)
    theirs(gate, judge, [*update, *fresh])
    rows = [*changed(rows, touched, amount=0.5, ts=3), *fresh]
    compare(gate, judge, spark, rows)
    ours = Gate(folder=tmp_path / "ours", operation="upsert", type=kind, table=gate.table)
    ours.put("one", good_rows(range(14, 18), bad=(15,), ts=9))
    document = ours.document(CHECK)
    document["table"]["location"] = str(gate.location)
    run(spark, ours.written(document))
    compare(gate, judge, spark, changed(rows, {14, 16, 17}, ts=9))


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.full
def test_loads_through_a_gate_are_read_by_the_judge(
    judge: Judge, spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Rows that are quarantined and dropped are in no file of the table."""
    gate = Gate(folder=tmp_path, operation="upsert", type=kind)
    gate.begin()
    gate.put("one", good_rows(range(5, 15), bad=(6, 12)))
    drop = {"name": "wanted", "expect": "id <> 13", "on_fail": "drop"}
    gate.run(spark, CHECK, drop)
    rows = [row for row in good_rows(range(5, 15)) if row["id"] not in {6, 12, 13}]
    before = good_rows(range(10), ts=1)
    kept = [row for row in before if row["id"] < 5 or row["id"] == 6]
    compare(gate, judge, spark, [*kept, *rows])
