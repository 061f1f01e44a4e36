"""Avro schemas by Hudi's naming rule, from and to Arrow."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import UnsupportedTableError
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.schema import (
    arrow_schema,
    avro_schema,
    check_schema,
    sanitize_name,
    with_meta_columns,
)

NAMES = st.from_regex("[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True).filter(
    lambda name: not name.startswith("_hoodie_")
)
LEAVES = st.sampled_from(
    [
        pa.bool_(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us", tz="UTC"),
        pa.timestamp("us"),
        pa.decimal128(1, 0),
        pa.decimal128(9, 2),
        pa.decimal128(19, 4),
        pa.decimal128(38, 38),
    ]
)


def _children(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    """Return types that hold others."""
    return st.one_of(
        types.map(lambda kind: pa.list_(pa.field("element", kind))),
        types.map(lambda kind: pa.map_(pa.string(), pa.field("value", kind))),
        st.dictionaries(NAMES, types, min_size=1, max_size=3).map(
            lambda fields: pa.struct([pa.field(n, k) for n, k in fields.items()])
        ),
    )


SCHEMAS = st.dictionaries(
    NAMES, st.recursive(LEAVES, _children, max_leaves=6), min_size=1, max_size=4
).map(lambda fields: pa.schema([pa.field(n, k) for n, k in fields.items()]))


@pytest.mark.property
@given(SCHEMAS)
def test_schema_comes_back_from_avro(schema: pa.Schema) -> None:
    """Every readable nullable schema survives the way through Avro's JSON."""
    avro = json.loads(json.dumps(avro_schema(schema, table="t")))
    assert arrow_schema(avro) == schema


@pytest.mark.property
@given(SCHEMAS)
def test_avro_of_any_schema_is_valid_avro(schema: pa.Schema) -> None:
    """No full name is given twice, also with the meta columns before it."""
    fastavro.parse_schema(with_meta_columns(avro_schema(schema, table="t")))


def test_nested_names_follow_the_field_and_the_enclosing_record() -> None:
    """Hudi 0.15 refuses upserts where they do not."""
    point = pa.struct([("x", pa.decimal128(9, 2)), ("inner", pa.struct([("y", pa.int32())]))])
    schema = pa.schema([("p", point), ("l", pa.list_(point)), ("m", pa.map_(pa.string(), point))])
    avro = avro_schema(schema, table="trips")
    assert (avro["name"], avro["namespace"]) == ("trips_record", "hoodie.trips")
    records = {
        "p": avro["fields"][0]["type"][1],
        "l": avro["fields"][1]["type"][1]["items"][1],
        "m": avro["fields"][2]["type"][1]["values"][1],
    }
    for name, record in records.items():
        assert (record["name"], record["namespace"]) == (name, "hoodie.trips.trips_record")
        decimal, inner = (field["type"][1] for field in record["fields"])
        inside = f"hoodie.trips.trips_record.{name}"
        assert decimal == {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{inside}.x",
            "size": 4,
            "logicalType": "decimal",
            "precision": 9,
            "scale": 2,
        }
        assert (inner["name"], inner["namespace"]) == ("inner", inside)


@pytest.mark.parametrize(
    ("precision", "size"), [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)]
)
def test_decimal_is_the_smallest_fixed_that_holds_it(precision: int, size: int) -> None:
    """Spark's minBytesForPrecision."""
    avro = avro_schema(pa.schema([("d", pa.decimal128(precision, 0))]), table="t")
    assert avro["fields"][0]["type"][1]["size"] == size


def test_every_field_is_nullable_whatever_the_files_say() -> None:
    """As in the schema of whatever Spark read from files."""
    item = pa.field("element", pa.int32(), nullable=False)
    schema = pa.schema([pa.field("a", pa.list_(item), nullable=False)])
    avro = avro_schema(schema, table="t")
    assert avro["fields"][0]["type"][0] == "null"
    assert avro["fields"][0]["type"][1]["items"] == ["null", "int"]
    assert avro["fields"][0]["default"] is None


def test_small_integers_bytes_and_milliseconds_take_avros_next_type() -> None:
    """What Avro has no type for is what Spark's converter makes of it."""
    kinds = [pa.int8(), pa.int16(), pa.binary(3), pa.timestamp("ms", tz="UTC"), pa.timestamp("ms")]
    avro = avro_schema(pa.schema([(f"c{n}", k) for n, k in enumerate(kinds)]), table="t")
    assert [field["type"][1] for field in avro["fields"]] == [
        "int",
        "int",
        "bytes",
        {"type": "long", "logicalType": "timestamp-micros"},
        {"type": "long", "logicalType": "local-timestamp-micros"},
    ]


@pytest.mark.parametrize(
    "kind", [pa.uint8(), pa.timestamp("ns"), pa.time64("us"), pa.float16(), pa.null(), pa.uuid()]
)
def test_type_without_a_place_in_avro_raises(kind: pa.DataType) -> None:
    """And `check_schema` finds it first."""
    schema = pa.schema([("c", kind)])
    assert check_schema(schema)
    with pytest.raises(UnsupportedTableError) as caught:
        avro_schema(schema, table="t")
    assert caught.value.condition == "schema/type-not-readable"


def test_meta_columns_come_first_and_once() -> None:
    """A schema that has them already does not get them twice."""
    avro = avro_schema(pa.schema([("a", pa.int32())]), table="t")
    once = with_meta_columns(avro)
    assert [field["name"] for field in once["fields"]] == [*META_COLUMNS, "a"]
    assert with_meta_columns(once) == once
    assert [field["name"] for field in avro["fields"]] == ["a"]


def test_avro_of_other_writers_is_read() -> None:
    """Unions with null last, required fields, names referred to again, enums, bytes decimals."""
    fixed = {"type": "fixed", "name": "f", "namespace": "n", "size": 4}
    avro: dict[str, Any] = {
        "type": "record",
        "name": "n.r",
        "fields": [
            {"name": "a", "type": ["int", "null"]},
            {"name": "b", "type": "long"},
            {"name": "c", "type": fixed},
            {"name": "d", "type": ["null", "f"]},
            {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["X"]}},
            {"name": "g", "type": {"type": "string"}},
            {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
            {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
            {
                "name": "m",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
            },
        ],
    }
    assert arrow_schema(avro) == pa.schema(
        [
            pa.field("a", pa.int32()),
            pa.field("b", pa.int64(), nullable=False),
            pa.field("c", pa.binary(4), nullable=False),
            pa.field("d", pa.binary(4)),
            pa.field("e", pa.string(), nullable=False),
            pa.field("g", pa.string(), nullable=False),
            pa.field("t", pa.time32("ms"), nullable=False),
            pa.field("u", pa.string(), nullable=False),
            pa.field("m", pa.decimal128(5, 1), nullable=False),
        ]
    )


@pytest.mark.parametrize("kind", [["int", "string"], ["null"], "unknown", 3, {"type": "error"}])
def test_avro_without_an_arrow_counterpart_raises(kind: Any) -> None:
    """A table that this version does not support is reported as such."""
    avro = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    with pytest.raises(UnsupportedTableError) as caught:
        arrow_schema(avro)
    assert caught.value.condition == "schema/avro-not-supported"


def test_avro_that_is_no_record_raises() -> None:
    """A table's rows are records."""
    with pytest.raises(UnsupportedTableError):
        arrow_schema({"type": "array", "items": "int"})


@pytest.mark.parametrize(
    ("name", "safe"), [("a_1", "a_1"), ("1a", "__a"), ("a-b c", "a__b__c"), ("é", "__")]
)
def test_names_are_made_safe_as_hudi_does(name: str, safe: str) -> None:
    """HoodieAvroUtils.sanitizeName with its default mask."""
    assert sanitize_name(name) == safe
