"""One schema for many files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.table.schema import SchemaConflict, unify, widenings


def _schema(**types: pa.DataType) -> pa.Schema:
    """Return a schema of required columns."""
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int8(), pa.int16(), pa.int16()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(9, 2), pa.decimal128(18, 2), pa.decimal128(18, 2)),
        (pa.timestamp("ms", tz="UTC"), pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.list_(pa.int64())),
        (
            pa.struct([("x", pa.int32())]),
            pa.struct([("x", pa.int64())]),
            pa.struct([("x", pa.int64())]),
        ),
        (
            pa.map_(pa.string(), pa.float32()),
            pa.map_(pa.string(), pa.float64()),
            pa.map_(pa.string(), pa.float64()),
        ),
        (
            pa.struct([pa.field("x", pa.int32(), nullable=False)]),
            pa.struct([pa.field("y", pa.int32(), nullable=False)]),
            pa.struct([("x", pa.int32()), ("y", pa.int32())]),
        ),
    ],
)
def test_types_widen_in_either_order(
    left: pa.DataType, right: pa.DataType, wider: pa.DataType
) -> None:
    """No value is lost, so no conflict."""
    for one, other in ((left, right), (right, left)):
        found = unify([_schema(c=one), _schema(c=other)])
        assert found.conflicts == ()
        if not pa.types.is_struct(wider) or one is left:
            assert found.schema == _schema(c=wider)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.int32(), pa.string()),
        (pa.int64(), pa.float64()),
        (pa.string(), pa.binary()),
        (pa.decimal128(9, 2), pa.decimal128(9, 3)),
        (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
        (pa.date32(), pa.timestamp("us")),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.int32(), pa.int32())),
    ],
)
def test_types_that_do_not_fit_are_a_conflict(left: pa.DataType, right: pa.DataType) -> None:
    """The first type is kept, and both schemas are named."""
    same = _schema(c=left)
    found = unify([_schema(a=left), same, same, _schema(c=right)])
    assert found.conflicts == (
        SchemaConflict(column="c", left=str(left), right=str(right), left_index=1, right_index=3),
    )
    assert found.schema.field("c").type == left


def test_conflict_inside_a_nested_column_names_its_path() -> None:
    """Down to the field that differs."""
    left = pa.list_(pa.struct([("x", pa.int32()), ("y", pa.int32())]))
    right = pa.list_(pa.struct([("x", pa.string()), ("y", pa.int64())]))
    found = unify([_schema(l=left), _schema(l=right)])
    assert [c.column for c in found.conflicts] == ["l.element.x"]


def test_column_that_some_files_lack_is_nullable() -> None:
    """In whichever file it is missing; order is that of first appearance."""
    found = unify([_schema(a=pa.int32(), b=pa.int32()), _schema(c=pa.int32(), a=pa.int32())])
    assert found.schema == pa.schema(
        [pa.field("a", pa.int32(), nullable=False), ("b", pa.int32()), ("c", pa.int32())]
    )


def test_no_schemas_unify_to_an_empty_one() -> None:
    """An empty source has no columns."""
    assert unify([]).schema == pa.schema([])


@pytest.mark.property
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abcd"),
            st.sampled_from([pa.int8(), pa.int32(), pa.int64()]),
            max_size=4,
        ).map(lambda types: _schema(**types)),
        max_size=5,
    )
)
def test_unified_schema_holds_every_column_of_every_file(schemas: list[pa.Schema]) -> None:
    """Each column is there, as wide as its widest; a second pass over the result adds nothing."""
    found = unify(schemas).schema
    for schema in schemas:
        for field in schema:
            assert found.field(field.name).type.bit_width >= field.type.bit_width
    assert set(found.names) == {name for schema in schemas for name in schema.names}
    assert unify([found, *schemas]).schema == unify([found, found]).schema


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int64(), False),
        (pa.list_(pa.float32()), pa.list_(pa.float64()), True),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64()), True),
        (
            pa.struct([("a", pa.int32())]),
            pa.struct([("a", pa.int64()), ("b", pa.string())]),
            True,
        ),
        (
            pa.struct([("a", pa.int32())]),
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
            False,
        ),
    ],
)
def test_column_is_widened_where_a_leaf_has_another_type(
    narrow: pa.DataType, wide: pa.DataType, *, expected: bool
) -> None:
    """A field that a file lacks is no widening: readers fill it in by themselves."""
    found = list(widenings(narrow, wide))
    assert bool(found) is expected
    assert [each.is_nested for each in found] == [pa.types.is_nested(narrow)] * len(found)
