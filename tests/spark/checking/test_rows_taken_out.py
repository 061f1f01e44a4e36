"""Bad rows are quarantined, dropped or reported, and no row of the input is lost."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from framework.engine.reading.load_history import history
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import TableType, WriteOperation
from tests.support.checks import BOOTSTRAPS, DELETES, Gate, good_rows, quarantined_in
from tests.support.scenes import snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WRITES = [*BOOTSTRAPS, *(each.value for each in WriteOperation if each.value not in DELETES)]
AIMS = list(product(WRITES, [each.value for each in TableType]))
QUICK = {
    ("metadata_only", "copy_on_write"),
    ("full_record", "merge_on_read"),
    ("insert", "copy_on_write"),
    ("upsert", "copy_on_write"),
    ("upsert", "merge_on_read"),
    ("insert_overwrite", "copy_on_write"),
}
CHECKS: tuple[dict[str, Any], ...] = (
    {"name": "positive", "expect": "amount >= 0", "on_fail": "quarantine"},
    {"name": "known", "expect": "id <> 25", "on_fail": "quarantine"},
    {"name": "wanted", "expect": "id NOT IN (12, 13, 26)", "on_fail": "drop"},
    {"name": "sound", "expect": "ts = 2", "on_fail": "quarantine"},
    {"name": "warned", "expect": "id <> 14", "on_fail": "warn"},
    {"name": "strict", "expect": "amount >= 0"},
)
"""Of 20 rows 12 is bad by `positive` and `wanted`, 25 by `positive` and `known`."""

OUTCOMES = {
    "positive": ("quarantined", 20, 2),
    "known": ("quarantined", 20, 1),
    "wanted": ("dropped", 20, 3),
    "sound": ("passed", 20, 0),
    "warned": ("warned", 16, 1),
    "strict": ("passed", 16, 0),
}
"""Result of each, its checked rows, and its bad ones."""

FATE = {"input": 20, "published": 16, "quarantined": 2, "dropped": 2}


def a_gate(folder: Path, operation: str, kind: str) -> Gate:
    """Return a table with ten rows, where it is no bootstrap, and an input of two files."""
    gate = Gate(folder=folder, operation=operation, type=kind)
    gate.begin()
    gate.put("one", good_rows(range(10, 20), bad=(12,)))
    gate.put("two", good_rows(range(20, 30), bad=(25,)))
    return gate


def place_of(gate: Gate, name: str, number: int) -> tuple[str, int]:
    """Return file and row of the input where an id is."""
    folder = f"day={'ab'[number % 2]}/" if gate.is_bootstrap else f"{gate.source}/"
    path = gate.source / (folder if gate.is_bootstrap else "") / f"{name}.parquet"
    row = pq.read_table(path, partitioning=None)["id"].to_pylist().index(number)
    return f"{folder}{name}.parquet", row


@pytest.mark.parametrize(
    ("operation", "kind"),
    [pytest.param(*aim, marks=[] if aim in QUICK else pytest.mark.full) for aim in AIMS],
)
def test_bad_rows_meet_the_fate_that_their_check_says(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str
) -> None:
    """Outcomes and counts, the rows of the table, and file, row and rules of what is quarantined.

    Result, commit and history say the same, and the source is as it was.
    """
    gate = a_gate(tmp_path, operation, kind)
    source = snapshot(gate.source)
    result = gate.run(spark, *CHECKS)
    checks: Any = result.proof["checks"]
    outcomes = {each["name"]: (each["outcome"], each["rows"], each["failed"]) for each in checks}
    assert outcomes == OUTCOMES
    assert result.proof["fate"] == FATE
    there = {} if gate.is_bootstrap or operation == "insert_overwrite" else range(10)
    kept = [n for n in range(10, 30) if n not in {12, 13, 25, 26}]
    assert gate.amounts(spark) == {n: n for n in [*there, *kept]}
    assert snapshot(gate.source) == source
    rows = quarantined_in(gate.quarantine)
    found = [(row["id"], row["amount"], row["day"], row["_lakestrap_rules"]) for row in rows]
    assert found == [(12, -12, "a", ["positive", "wanted"]), (25, -25, "b", ["positive", "known"])]
    places = [(row["_lakestrap_file"], row["_lakestrap_row"]) for row in rows]
    assert places == [place_of(gate, "one", 12), place_of(gate, "two", 25)]
    assert {row["_lakestrap_instant"] for row in rows} == {result.instant}
    check_reports_agree(gate, result.proof)


def check_reports_agree(gate: Gate, proof: dict[str, object]) -> None:
    """The commit and the history say what the result says."""
    storage = open_storage(str(gate.location))
    newest = load_timeline(storage).completed[-1]
    assert json.loads(read_commit_head(storage, newest.path).extra["lakestrap.audit"]) == proof
    event = history(str(gate.location))[-1]
    assert event.audit["fate"] == FATE
    account: Any = proof.get("account")
    if account:
        assert account["input"] == FATE["published"]
        assert account["inserted"] + account["updated"] == FATE["published"]
    else:
        assert event.rows == FATE["published"]


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("operation", DELETES)
def test_delete_warns_and_continues(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str
) -> None:
    """It takes no rows in, so there is nothing that could be quarantined."""
    gate = Gate(folder=tmp_path, operation=operation, type=kind)
    gate.begin(bad=(1, 3))
    if operation == "delete":
        gate.put("one", good_rows(range(0, 10, 2)))
    result = gate.run(
        spark, {"name": "warned", "expect": "amount >= 0", "over": "table", "on_fail": "warn"}
    )
    checks: Any = result.proof["checks"]
    (check,) = checks
    assert (check["outcome"], check["rows"], check["failed"]) == ("warned", 5, 2)
    assert sorted(gate.amounts(spark)) == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("operation", ["metadata_only", "insert"])
def test_check_that_takes_out_no_row_leaves_no_trace_of_itself(
    spark: SparkSession, tmp_path: Path, operation: str
) -> None:
    """No folder, and no file that would have to be written in full."""
    gate = Gate(folder=tmp_path, operation=operation)
    gate.begin()
    gate.put("one", good_rows(range(10, 20)))
    result = gate.run(spark, CHECKS[0])
    assert result.proof["fate"] == {"input": 10, "published": 10, "quarantined": 0, "dropped": 0}
    assert not gate.quarantine.exists()
    assert "quarantine" not in result.proof


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("operation", ["metadata_only", "insert", "upsert"])
def test_input_of_bad_rows_alone_publishes_none_of_them(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str
) -> None:
    """The instant exists, and records that all were quarantined."""
    gate = Gate(folder=tmp_path, operation=operation, type=kind)
    gate.begin()
    gate.put("one", good_rows(range(10, 16), bad=range(10, 16)))
    result = gate.run(spark, CHECKS[0])
    assert result.proof["fate"] == {"input": 6, "published": 0, "quarantined": 6, "dropped": 0}
    assert sorted(gate.amounts(spark)) == ([] if gate.is_bootstrap else list(range(10)))
    assert [row["id"] for row in quarantined_in(gate.quarantine)] == (
        [10, 12, 14, 11, 13, 15] if gate.is_bootstrap else list(range(10, 16))
    )


def test_share_that_may_fail_is_of_the_rows_that_the_check_looks_at(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Two of the ten rows of day `a` are more than a tenth, and no more than a tenth of all."""
    gate = Gate(folder=tmp_path, operation="insert")
    gate.begin()
    gate.put("one", good_rows(range(10, 30), bad=(12, 14)))
    check = {**CHECKS[0], "where": "day = 'a'", "max_failed": "10%"}
    error = gate.refused(spark, check)
    assert error.condition == "audit/over-budget"
    assert "2 of 10 rows" in error.message
    result = gate.run(spark, {**check, "max_failed": "20%"})
    checks: Any = result.proof["checks"]
    assert [(each["rows"], each["failed"]) for each in checks] == [(10, 2)]
