"""Every kind of check runs before every operation on every table, and can refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.errors import AuditFailedError
from tests.support.checks import AIMS, DELETES, Gate, good_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KINDS: dict[str, dict[str, Any]] = {
    "expect": {"expect": "amount >= 0"},
    "expect_aggregate": {"expect_aggregate": "min(amount) >= 0"},
    "query": {"query": "SELECT id, day FROM this WHERE amount < 0"},
    "gx": {
        "gx": "expect_column_values_to_be_between",
        "arguments": {"column": "amount", "min_value": 0},
    },
}
"""One check of each kind, all broken by the same bad row."""

QUICK = {
    ("metadata_only", "copy_on_write"),
    ("full_record", "copy_on_write"),
    ("insert", "copy_on_write"),
    ("bulk_insert", "merge_on_read"),
    ("upsert", "copy_on_write"),
    ("upsert", "merge_on_read"),
    ("insert_overwrite", "copy_on_write"),
    ("delete", "copy_on_write"),
    ("delete", "merge_on_read"),
    ("delete_partition", "copy_on_write"),
}
"""Pairs that differ in what is written, or in how it is read back; the others follow."""


def quickly(aims: Iterable[tuple[str, ...]], *, chosen: Iterable[tuple[str, ...]]) -> list[Any]:
    """Return parameters, of which those that are not chosen wait for the full run."""
    quick = set(chosen)
    marked = [(aim, [] if aim in quick else [pytest.mark.full]) for aim in aims]
    return [pytest.param(*aim, marks=marks, id="-".join(aim)) for aim, marks in marked]


ALL_AIMS = [(operation, kind.value) for operation, kind in AIMS]
SINGLE = [(*aim, kind) for aim, kind in product(ALL_AIMS, KINDS)]
WRITES = [aim for aim in ALL_AIMS if aim[0] in {"insert", "bulk_insert", "upsert"}]


def a_gate(folder: Path, operation: str, kind: str) -> tuple[Gate, int]:
    """Return a table and an input, and the id of the bad row: one in the input's second file.

    Of a delete it is one of the rows that stay in the table.
    """
    gate = Gate(folder=folder, operation=operation, type=kind)
    gate.begin(bad=(1,) if operation in DELETES else ())
    if operation == "delete_partition":
        return gate, 1
    if operation == "delete":
        gate.put("one", good_rows(range(2, 6)))
        return gate, 1
    gate.put("one", good_rows(range(10, 20)))
    gate.put("two", good_rows(range(20, 30), bad=(25,)))
    return gate, 25


def checks(kinds: Iterable[str], over: str) -> list[dict[str, Any]]:
    """Return one check of each of these kinds, named after it."""
    return [{"name": f"by_{kind}", "over": over, **KINDS[kind]} for kind in kinds]


def refusing(error: AuditFailedError) -> dict[str, int]:
    """Return the checks that refuse, with their bad rows."""
    failed: Any = error.report["failed"]
    return {each["name"]: each["failed"] for each in failed}


@pytest.mark.parametrize(("operation", "kind"), quickly(ALL_AIMS, chosen=QUICK))
def test_check_of_each_kind_refuses_a_planted_violation_and_nothing_else_does(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str
) -> None:
    """All four are named, the folder is as it was to the byte; without them the run goes through.

    A delete that takes the bad row away is let through by the same checks.
    """
    gate, bad = a_gate(tmp_path, operation, kind)
    four = checks(KINDS, gate.over)
    error = gate.refused(spark, *four)
    assert error.condition == "audit/checks-failed"
    assert refusing(error) == {f"by_{each}": 1 for each in KINDS}
    assert gate.run(spark).instant is not None
    assert gate.amounts(spark)[bad] == -bad
    if operation == "delete":
        gate.put("two", good_rows(range(1, 2)))
        gate.run(spark, *four)
        assert bad not in gate.amounts(spark)


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_deleted_partition_with_the_bad_row_passes_the_checks_that_refuse_another_one(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """What is checked is the table after the run, not the one before."""
    gate, bad = a_gate(tmp_path, "delete_partition", kind)
    four = checks(KINDS, gate.over)
    gate.refused(spark, *four)
    with_the_bad_row = Gate(
        folder=tmp_path, operation="delete_partition", type=kind, partitions=("day=b",)
    )
    with_the_bad_row.run(spark, *four)
    assert sorted(gate.amounts(spark)) == [0, 2, 4, 6, 8]
    assert bad not in gate.amounts(spark)


@pytest.mark.parametrize(
    ("operation", "kind", "check"),
    quickly(SINGLE, chosen=[("upsert", "copy_on_write", each) for each in KINDS]),
)
def test_check_that_is_alone_refuses_by_itself(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str, check: str
) -> None:
    """No kind needs another to be looked at."""
    gate, _ = a_gate(tmp_path, operation, kind)
    assert refusing(gate.refused(spark, *checks([check], gate.over))) == {f"by_{check}": 1}


@pytest.mark.parametrize(
    ("operation", "kind"), quickly(WRITES, chosen=[w for w in WRITES if w[0] == "upsert"])
)
def test_bad_row_that_was_there_before_is_seen_over_the_table_alone(
    spark: SparkSession, tmp_path: Path, operation: str, kind: str
) -> None:
    """Even where its file is written again, for it is a row of an earlier run."""
    gate = Gate(folder=tmp_path, operation=operation, type=kind)
    gate.begin(bad=(1,))
    fresh = range(3, 4) if operation == "upsert" else range(11, 12)
    gate.put("one", good_rows(fresh, bad=(1,)))
    counted = {"name": "counted", "expect_aggregate": "count(*) = 1"}
    assert set(refusing(gate.refused(spark, *checks(KINDS, "table")))) == {
        f"by_{each}" for each in KINDS
    }
    gate.run(spark, *checks(KINDS, "written"), counted)
    assert gate.amounts(spark)[1] == -1
    assert gate.amounts(spark)[fresh[0]] == fresh[0]
