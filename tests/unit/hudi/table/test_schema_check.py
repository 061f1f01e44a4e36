"""What keeps a schema out of a Hudi table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from framework.hudi.table.schema import check_schema, full_record_schema, millisecond_columns

FINE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("small", pa.int8()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("money", pa.decimal128(38, 10)),
        ("tags", pa.list_(pa.string())),
        ("props", pa.map_(pa.string(), pa.struct([("x", pa.float64())]))),
    ]
)


def test_schema_of_readable_types_and_names_has_no_issue() -> None:
    """Nested, decimal, date, timestamp, binary and required columns are all fine."""
    assert check_schema(FINE) == ()
    assert full_record_schema(FINE) == FINE


@pytest.mark.parametrize(
    ("kind", "condition", "readable"),
    [
        (pa.timestamp("ns"), "nanosecond-timestamp", pa.timestamp("us")),
        (
            pa.timestamp("ns", tz="UTC"),
            "nanosecond-timestamp",
            pa.timestamp("us", tz="UTC"),
        ),
        (pa.time32("ms"), "time", None),
        (pa.time64("us"), "time", None),
        (pa.float16(), "float16", pa.float32()),
        (pa.uint8(), "unsigned-integer", pa.int16()),
        (pa.uint16(), "unsigned-integer", pa.int32()),
        (pa.uint32(), "unsigned-integer", pa.int64()),
        (pa.uint64(), "unsigned-integer", pa.decimal128(20, 0)),
        (pa.decimal256(50, 2), "decimal-too-wide", None),
        (pa.null(), "type-not-readable", None),
        (pa.uuid(), "type-not-readable", None),
        (pa.month_day_nano_interval(), "type-not-readable", None),
    ],
)
def test_type_that_spark_does_not_read_is_an_issue(
    kind: pa.DataType, condition: str, readable: pa.DataType | None
) -> None:
    """Where a copy of the rows could have another type, the issue says that it helps."""
    for holder, path in (
        (kind, "c"),
        (pa.list_(kind), "c.element"),
        (pa.struct([("x", kind)]), "c.x"),
        (pa.map_(pa.string(), kind), "c.value"),
    ):
        schema = pa.schema([("id", pa.int32()), ("c", holder)])
        issues = check_schema(schema)
        assert [(i.condition, i.column) for i in issues] == [(f"schema/{condition}", path)]
        assert issues[0].full_record_helps is (readable is not None)
        assert issues[0].remedy
        copied = full_record_schema(schema)
        assert bool(check_schema(copied)) is (readable is None)
    assert full_record_schema(pa.schema([("c", kind)])).field("c").type == (readable or kind)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "1a", "é", "a-b", "a`b", "a'b", "a\n"])
def test_name_that_avro_forbids_is_an_issue(name: str) -> None:
    """At the top and inside structs."""
    for schema, column in (
        (pa.schema([(name, pa.int32())]), name),
        (pa.schema([("s", pa.struct([(name, pa.int32())]))]), f"s.{name}"),
    ):
        issues = check_schema(schema)
        assert [(i.condition, i.column) for i in issues] == [("schema/name-not-avro", column)]
        assert issues[0].full_record_helps is False


def test_names_that_differ_by_case_only_are_an_issue_of_each() -> None:
    """Spark takes them as one column."""
    schema = pa.schema([("a", pa.int32()), ("A", pa.int32()), ("b", pa.int32())])
    issues = check_schema(schema)
    assert [(i.condition, i.column) for i in issues] == [
        ("schema/same-but-case", "a"),
        ("schema/same-but-case", "A"),
    ]


def test_name_that_occurs_twice_is_an_issue() -> None:
    """Only Arrow allows it."""
    issues = check_schema(pa.schema([("a", pa.int32()), ("a", pa.int32())]))
    assert {i.condition for i in issues} == {"schema/duplicate-name"}


def test_meta_columns_in_the_source_are_an_issue() -> None:
    """Whatever their case; `_hoodie_is_deleted` would even delete rows."""
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("_HOODIE_is_deleted", pa.bool_())])
    assert [i.condition for i in check_schema(schema)] == ["schema/meta-column"] * 2


def test_columns_with_the_origin_of_rows_are_an_issue() -> None:
    """Quarantined rows have them, so a source with them would be ambiguous."""
    schema = pa.schema([("_lakestrap_row", pa.int64()), ("_LAKESTRAP_x", pa.bool_())])
    assert [i.condition for i in check_schema(schema)] == ["schema/reserved-column"] * 2


@pytest.mark.parametrize("name", ["_metadata", "_METADATA", "_tmp_metadata_row_index"])
def test_columns_that_spark_makes_itself_are_an_issue(name: str) -> None:
    """Spark hides what a file has under such a name, or reads row numbers instead of it."""
    (issue,) = check_schema(pa.schema([("id", pa.int64()), (name, pa.int64())]))
    assert (issue.condition, issue.column) == ("schema/reserved-column", name)
    assert "Spark" in issue.message


@pytest.mark.parametrize("name", ["_metadata", "_tmp_metadata_row_index"])
def test_nested_fields_named_like_columns_of_spark_are_readable(name: str) -> None:
    """Spark adds its columns at the top level alone."""
    inner = pa.struct([pa.field(name, pa.int64())])
    assert check_schema(pa.schema([("id", pa.int64()), ("facts", inner)])) == ()


def test_map_with_other_keys_than_strings_is_an_issue() -> None:
    """Avro's maps have string keys."""
    issues = check_schema(pa.schema([("m", pa.map_(pa.int32(), pa.int32()))]))
    assert [i.condition for i in issues] == ["schema/map-key-not-string"]


def test_schema_without_columns_is_an_issue() -> None:
    """Nothing to read, nothing to key."""
    assert [i.condition for i in check_schema(pa.schema([]))] == ["schema/no-columns"]


def test_milliseconds_are_found_at_every_depth_and_copied_as_microseconds() -> None:
    """Readable, so no issue; but Hudi 0.15.0 rewrites them wrong."""
    at = pa.timestamp("ms", tz="UTC")
    schema = pa.schema(
        [
            ("a", at),
            ("l", pa.list_(pa.struct([("t", pa.timestamp("ms")), ("u", pa.timestamp("us"))]))),
            ("m", pa.map_(pa.string(), at)),
        ]
    )
    assert check_schema(schema) == ()
    assert millisecond_columns(schema) == ("a", "l.element.t", "m.value")
    assert millisecond_columns(full_record_schema(schema)) == ()


def test_all_issues_are_reported_at_once() -> None:
    """In column order, reserved names first."""
    schema = pa.schema([("x y", pa.uint8()), ("_hoodie_x", pa.int32()), ("t", pa.timestamp("ns"))])
    assert [i.condition.partition("/")[2] for i in check_schema(schema)] == [
        "meta-column",
        "name-not-avro",
        "unsigned-integer",
        "nanosecond-timestamp",
    ]
