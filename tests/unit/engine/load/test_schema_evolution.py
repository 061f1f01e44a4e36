"""Which columns a table has after a load."""

from __future__ import annotations

import pyarrow as pa
import pytest

from framework.engine.load.schema_evolution import Following, InputSchema, check_holds, evolved
from framework.errors import PlanError
from framework.vocabulary import SchemaEvolution

TABLE = pa.schema([("id", pa.int64()), ("price", pa.float64())])


def following(
    current: pa.Schema | None, found: pa.Schema, policy: SchemaEvolution = SchemaEvolution.FREEZE
) -> pa.Schema:
    """Return the table's columns after loading one file."""
    inputs = [InputSchema(number=0, schema=found)]
    return evolved(current, inputs, Following(evolution=policy), table="/t")


def after(found: pa.Schema, policy: SchemaEvolution = SchemaEvolution.FREEZE) -> list[str]:
    """Return the table's columns after loading `found`, as `name: type`."""
    schema = following(TABLE, found, policy)
    return [f"{field.name}: {field.type}" for field in schema]


def refusal(found: pa.Schema, policy: SchemaEvolution = SchemaEvolution.FREEZE) -> PlanError:
    """Return the refusal of `found`."""
    with pytest.raises(PlanError) as caught:
        following(TABLE, found, policy)
    return caught.value


def test_evolved_same_columns_in_another_order_keeps_the_table() -> None:
    """Columns are found by name."""
    found = pa.schema([("price", pa.float64()), ("id", pa.int64())])
    assert after(found) == ["id: int64", "price: double"]


def test_evolved_narrower_type_is_taken() -> None:
    """Values of a narrower type fit, and the table stays as it is."""
    assert after(pa.schema([("id", pa.int32()), ("price", pa.float32())])) == [
        "id: int64",
        "price: double",
    ]


@pytest.mark.parametrize("policy", SchemaEvolution)
def test_evolved_missing_column_is_refused(policy: SchemaEvolution) -> None:
    """A missing column cannot be distinguished from one that should become null."""
    error = refusal(pa.schema([("id", pa.int64())]), policy)
    assert error.condition == "input/schema-differs"
    assert "'price' is missing" in error.message


def test_evolved_new_column_follows_the_policy() -> None:
    """`freeze` refuses a new column; the others put it at the end, nullable."""
    found = pa.schema([pa.field("note", pa.string(), nullable=False), *TABLE])
    assert "'note' is new" in refusal(found).message
    schema = following(TABLE, found, SchemaEvolution.ADD_COLUMNS)
    assert schema.names == ["id", "price", "note"]
    assert schema.field("note").nullable


def test_evolved_wider_type_follows_the_policy() -> None:
    """Only `widen` lets a column grow."""
    narrow = pa.schema([("id", pa.int32())])
    wide = pa.schema([("id", pa.int64())])
    with pytest.raises(PlanError, match="wider than"):
        following(narrow, wide, SchemaEvolution.ADD_COLUMNS)
    assert following(narrow, wide, SchemaEvolution.WIDEN) == wide


def test_evolved_conflicts_are_reported_together() -> None:
    """Everything that does not fit is in one message."""
    message = refusal(pa.schema([("id", pa.string()), ("x", pa.int8())])).message
    assert "'id' is string, but int64 in the table" in message
    assert "'price' is missing" in message
    assert "'x' is new" in message


def test_evolved_new_table_takes_what_readers_can_read() -> None:
    """A table that begins has the input's columns, all nullable, without Hudi's own."""
    found = pa.schema(
        [("_hoodie_record_key", pa.string()), pa.field("at", pa.timestamp("ms", "UTC"))]
    )
    schema = following(None, found)
    assert schema == pa.schema([("at", pa.timestamp("us", "UTC"))])


@pytest.mark.parametrize(
    ("found", "condition"),
    [
        (pa.schema([]), "input/no-columns"),
        (pa.schema([("_hoodie_commit_time", pa.string())]), "input/no-columns"),
        (pa.schema([("_hoodie_is_deleted", pa.bool_())]), "input/reserved-column"),
        (pa.schema([("at", pa.timestamp("ns"))]), "schema/nanosecond-timestamp"),
    ],
)
def test_evolved_input_that_is_no_table_is_refused(found: pa.Schema, condition: str) -> None:
    """What no table could hold is refused by its name."""
    with pytest.raises(PlanError) as caught:
        following(None, found)
    assert caught.value.condition == condition


def test_check_holds_missing_key_column_is_refused() -> None:
    """A delete needs the columns that it takes rows by, and no others."""
    inputs = [InputSchema(number=0, schema=TABLE)]
    check_holds(inputs, ["id"], table="/t")
    with pytest.raises(PlanError, match="'day' is missing"):
        check_holds(inputs, ["id", "day"], table="/t")
