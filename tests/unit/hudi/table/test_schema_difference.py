"""Where two schemas differ, at any depth."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.table.schema import (
    DifferenceKind,
    absent_fields,
    differences,
    unify,
    with_absent_fields,
)

LEAVES = st.sampled_from([pa.int64(), pa.string(), pa.bool_()])


def structs(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    """Return structs of one to three fields."""
    fields = st.dictionaries(st.sampled_from("abc"), inner, min_size=1)
    return fields.map(lambda found: pa.struct(list(found.items())))


TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        structs(inner), inner.map(pa.list_), inner.map(lambda kind: pa.map_(pa.string(), kind))
    ),
    max_leaves=6,
)
SCHEMAS = st.dictionaries(st.sampled_from("xyz"), TYPES).map(lambda e: pa.schema(list(e.items())))


@given(SCHEMAS, SCHEMAS)
def test_schema_with_absent_fields_lacks_none(found: pa.Schema, wanted: pa.Schema) -> None:
    """What is filled lacks nothing any more, and keeps its own fields and types."""
    filled = with_absent_fields(found, wanted)
    assert not list(absent_fields(wanted, filled))
    assert not list(absent_fields(found, filled))
    assert filled.names[: len(found.names)] == found.names
    assert all(each.kind is DifferenceKind.NEW for each in differences(found, filled))


@given(SCHEMAS, SCHEMAS)
def test_schemas_without_differences_and_absent_fields_are_one(
    left: pa.Schema, right: pa.Schema
) -> None:
    """The two questions together see what the union sees."""
    union = unify([left, right])
    new = [e.path for e in differences(left, right) if e.kind is DifferenceKind.NEW]
    conflicts = {e.path for e in differences(left, right) if e.kind is DifferenceKind.CONFLICT}
    assert conflicts == {each.column for each in union.conflicts}
    assert new == [path for path, _ in absent_fields(right, left)]
    if not conflicts and not new:
        assert {f.name: f.type for f in union.schema} == {f.name: f.type for f in left}


@pytest.mark.parametrize(
    ("current", "found", "path"),
    [
        (pa.int32(), pa.int64(), "c"),
        (pa.struct([("a", pa.float32())]), pa.struct([("a", pa.float64())]), "c.a"),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), "c.element"),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int16()), "c.value"),
        (
            pa.struct([pa.field("a", pa.int8(), nullable=False)]),
            pa.struct([("a", pa.int8())]),
            "c.a",
        ),
    ],
)
def test_differences_name_what_is_wider(
    current: pa.DataType, found: pa.DataType, path: str
) -> None:
    """A wider type, or a nested field that may be null; the other way round there is none."""
    left, right = pa.schema([("c", current)]), pa.schema([("c", found)])
    assert [(e.kind, e.path) for e in differences(left, right)] == [(DifferenceKind.WIDER, path)]
    assert not list(differences(right, left))
