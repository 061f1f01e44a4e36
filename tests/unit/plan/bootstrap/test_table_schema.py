"""The schema of the planned table: what unites, what is converted, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from framework.plan.observation import SchemaConflict, SourceInventory, SourceSchema
from tests.support.planning import (
    FLIGHTS_SCHEMA,
    a_plan,
    a_source,
    findings_of,
    partition,
    seen,
    with_columns,
)

FULL = {"mode: metadata_only": "mode: full_record"}


@pytest.mark.parametrize(
    ("column", "kind", "condition"),
    [
        ("seen_at", pa.timestamp("ns", "UTC"), "schema/nanosecond-timestamp"),
        ("at", pa.time64("us"), "schema/time"),
        ("half", pa.float16(), "schema/float16"),
        ("count", pa.uint32(), "schema/unsigned-integer"),
        ("bad name", pa.int32(), "schema/name-not-avro"),
        ("_hoodie_commit_time", pa.string(), "schema/meta-column"),
    ],
)
def test_build_of_a_column_that_readers_cannot_use_is_refused(
    tmp_path: Path, column: str, kind: pa.DataType, condition: str
) -> None:
    """A skeleton keeps the column unchanged, so it would be unreadable."""
    source = a_source("month=1", schema=with_columns(**{column: kind}))
    (finding,) = findings_of(tmp_path, seen(source))
    assert (finding.rule, finding.key_path) == (condition, "bootstrap.path")
    assert column in finding.message
    assert "'month=1'" in finding.message


def test_build_of_columns_that_differ_by_case_only_is_refused(tmp_path: Path) -> None:
    """Spark takes them for one; both are named."""
    source = a_source("month=1", schema=with_columns(Origin=pa.string()))
    assert {f.rule for f in findings_of(tmp_path, seen(source))} == {"schema/same-but-case"}


def test_build_in_full_of_a_column_that_full_record_converts_is_allowed(tmp_path: Path) -> None:
    """Files that are written anew get a type that Spark reads, and the table has that type."""
    source = a_source("month=1", schema=with_columns(seen_at=pa.timestamp("ns", "UTC")))
    plan = a_plan(tmp_path, seen(source), changes=FULL)
    assert plan.schema.field("seen_at").type == pa.timestamp("us", "UTC")


def test_build_in_full_of_a_column_that_nothing_converts_is_refused(tmp_path: Path) -> None:
    """`full_record` does not help a time of day."""
    source = a_source("month=1", schema=with_columns(at=pa.time64("us")))
    (finding,) = findings_of(tmp_path, seen(source), changes=FULL)
    assert finding.rule == "schema/time"


def two_schemas(first: pa.Schema, second: pa.Schema) -> SourceInventory:
    """Return a source of two partitions, each with a schema of its own."""
    return a_source(
        partition("month=1", 0, schemas=(0,)),
        partition("month=12", 1, schemas=(1,)),
        schemas=(
            SourceSchema(schema=first, example="month=1/a.parquet"),
            SourceSchema(schema=second, example="month=12/b.parquet"),
        ),
    )


def test_build_with_conflicting_schemas_names_column_types_and_files(tmp_path: Path) -> None:
    """Incompatible types are reported with a file of each."""
    source = two_schemas(FLIGHTS_SCHEMA, with_columns(origin=pa.int64()))
    (finding,) = findings_of(tmp_path, seen(source))
    assert (finding.rule, finding.key_path) == ("schema/conflict", "bootstrap.path")
    assert "string in month=1/a.parquet, int64 in month=12/b.parquet" in finding.message


def test_build_with_a_conflict_and_a_missing_key_reports_both(tmp_path: Path) -> None:
    """A conflict in one column does not hide faults of others."""
    source = two_schemas(FLIGHTS_SCHEMA, with_columns(origin=pa.int64()))
    found = findings_of(tmp_path, seen(source), changes={"carrier, flight": "carrier, flihgt"})
    assert [f.rule for f in found] == ["key/column-missing", "schema/conflict"]


def test_build_with_conflicts_of_the_common_schema_reports_them(tmp_path: Path) -> None:
    """If schemas are not known by partition, the inventory's conflicts count."""
    conflict = SchemaConflict(column="origin", types=(("string", "a"), ("int64", "b")))
    (finding,) = findings_of(tmp_path, seen(a_source("month=1", conflicts=(conflict,))))
    assert finding.rule == "schema/conflict"


def test_build_with_a_conflict_in_a_skipped_partition_is_allowed(tmp_path: Path) -> None:
    """A partition outside the table has no say in its schema."""
    source = two_schemas(FLIGHTS_SCHEMA, with_columns(origin=pa.int64()))
    rules = "mode: metadata_only\n  rules: [{partition: month=12, mode: skip}]\n"
    plan = a_plan(tmp_path, seen(source), changes={"mode: metadata_only\n": rules})
    assert plan.schema.field("origin").type == pa.string()


def test_build_with_nanoseconds_in_a_full_partition_only_is_allowed(tmp_path: Path) -> None:
    """A rule gives the odd partition `full_record`, and the table has microseconds."""
    micro, nano = (
        with_columns(seen_at=pa.timestamp("us", "UTC")),
        with_columns(seen_at=pa.timestamp("ns", "UTC")),
    )
    rules = "mode: metadata_only\n  rules: [{partition: month=12, mode: full_record}]\n"
    changes = {"mode: metadata_only\n": rules}
    plan = a_plan(tmp_path, seen(two_schemas(micro, nano)), changes=changes)
    assert plan.schema.field("seen_at").type == pa.timestamp("us", "UTC")
    (finding,) = findings_of(tmp_path, seen(two_schemas(nano, micro)), changes=changes)
    assert (finding.rule, finding.where.partition) == ("schema/nanosecond-timestamp", "month=1")


def test_build_with_evolving_schemas_widens_them(tmp_path: Path) -> None:
    """Columns are added and integers widened."""
    first = with_columns(flight=pa.int32())
    plan = a_plan(tmp_path, seen(two_schemas(first, with_columns(note=pa.string()))))
    assert plan.schema.field("flight").type == pa.int64()
    assert plan.schema.field("note").nullable


def test_build_of_a_partition_column_of_another_type_in_the_files_is_refused(
    tmp_path: Path,
) -> None:
    """A column in both folders and files has one type."""
    source = a_source("month=1", schema=with_columns(month=pa.string()))
    (finding,) = findings_of(tmp_path, seen(source))
    assert (finding.rule, finding.key_path) == ("partition/type-differs", "table.partition_by")
