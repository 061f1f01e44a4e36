"""Input files that lack columns of the table, or fields of its structs, at any depth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.load.schema_evolution import Following, InputSchema, evolved
from framework.errors import PlanError
from framework.hudi.table.schema import absent_fields
from framework.vocabulary import (
    KeyScope,
    MissingColumns,
    SchemaEvolution,
    TableType,
    WriteOperation,
)
from tests.support.writing import Lake, load, rows_of

PART = pa.struct([("a", pa.int64()), ("b", pa.string())])
FULL = {"a": 1, "b": "kept"}
SHORT_PART = pa.struct([("a", pa.int64())])
SHORT = {"a": 2}
FILLED = {"a": 2, "b": None}

SHAPES: dict[str, tuple[pa.DataType, Any, pa.DataType, Any, str, Any]] = {
    "struct": (PART, FULL, SHORT_PART, SHORT, "c.b", FILLED),
    "struct_in_struct": (
        *(pa.struct([("s", PART)]), {"s": FULL}),
        *(pa.struct([("s", SHORT_PART)]), {"s": SHORT}),
        *("c.s.b", {"s": FILLED}),
    ),
    "struct_in_a_list": (
        *(pa.list_(PART), [FULL]),
        *(pa.list_(SHORT_PART), [SHORT]),
        *("c.element.b", [FILLED]),
    ),
    "struct_in_a_map": (
        *(pa.map_(pa.string(), PART), [("k", FULL)]),
        *(pa.map_(pa.string(), SHORT_PART), [("k", SHORT)]),
        *("c.value.b", [("k", FILLED)]),
    ),
    "struct_in_a_list_in_a_map": (
        *(pa.map_(pa.string(), pa.list_(PART)), [("k", [FULL])]),
        *(pa.map_(pa.string(), pa.list_(SHORT_PART)), [("k", [SHORT])]),
        *("c.value.element.b", [("k", [FILLED])]),
    ),
    "first_field_of_a_struct": (
        *(PART, FULL),
        *(pa.struct([("b", pa.string())]), {"b": "new"}),
        *("c.a", {"a": None, "b": "new"}),
    ),
}
"""Type and value in the table, those of the file that lacks a field, its path, the value then."""


def rows(kind: pa.DataType, values: dict[int, Any], *, name: str = "c") -> pa.Table:
    """Return rows with a column of a type, by id."""
    ids = list(values)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "day": ["mon"] * len(ids),
        name: pa.array(values.values(), kind),
    }
    return pa.table(columns)


def a_lake(folder: Path, kind: TableType = TableType.COPY_ON_WRITE) -> Lake:
    """Return a lake whose keys are unique in the table."""
    return Lake(folder=folder, scope=KeyScope.TABLE, type=kind)


def upsert(lake: Lake, *parts: pa.Table, **changes: Any) -> None:
    """Upsert parts, a file each."""
    load(lake, WriteOperation.UPSERT, *parts, **changes)


def values_of(lake: Lake) -> dict[int, Any]:
    """Return the values of the column `c` by id."""
    return {row["id"]: row.get("c") for row in rows_of(lake.location)}


def schemas(*parts: pa.Table) -> list[InputSchema]:
    """Return the columns of files of one name each."""
    return [
        InputSchema(number=at, schema=part.schema, file=f"{at}.parquet")
        for at, part in enumerate(parts)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_load_of_a_file_without_a_field_is_refused(tmp_path: Path, shape: str) -> None:
    """A stored value is not nulled; the error names field, file and what to set."""
    kind, value, short, less, path, _ = SHAPES[shape]
    lake = a_lake(tmp_path)
    upsert(lake, rows(kind, {1: value}))
    with pytest.raises(PlanError) as caught:
        upsert(lake, rows(short, {1: less}))
    assert caught.value.condition == "input/schema-differs"
    assert f"column '{path}' is missing" in caught.value.message
    assert "write.missing_columns: set_null" in caught.value.remedy
    assert (caught.value.where.file or "").endswith("00001.parquet")
    assert values_of(lake) == {1: value}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("evolution", SchemaEvolution)
@pytest.mark.parametrize("missing", MissingColumns)
def test_evolved_without_a_field_follows_missing_columns_alone(
    shape: str, evolution: SchemaEvolution, missing: MissingColumns
) -> None:
    """Each mode refuses by default, and accepts with `set_null`; the table keeps its columns."""
    kind, value, short, less, path, _ = SHAPES[shape]
    table = rows(kind, {1: value}).schema
    following = Following(evolution=evolution, missing=missing)
    if missing is MissingColumns.SET_NULL:
        assert evolved(table, schemas(rows(short, {1: less})), following, table="/t") == table
        return
    with pytest.raises(PlanError, match=f"column '{path}' is missing"):
        evolved(table, schemas(rows(short, {1: less})), following, table="/t")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("evolution", SchemaEvolution)
def test_evolved_with_a_new_field_follows_schema_evolution(
    shape: str, evolution: SchemaEvolution
) -> None:
    """`freeze` refuses it by its path; the others put it after the fields that are there."""
    kind, value, short, less, path, _ = SHAPES[shape]
    table, found = rows(short, {1: less}).schema, schemas(rows(kind, {1: value}))
    following = Following(evolution=evolution)
    if evolution is SchemaEvolution.FREEZE:
        with pytest.raises(PlanError, match=f"column '{path}' is new"):
            evolved(table, found, following, table="/t")
        return
    after = evolved(table, found, following, table="/t")
    assert not list(absent_fields(after, found[0].schema))
    assert not list(absent_fields(found[0].schema, after))


@pytest.mark.parametrize("kind", TableType)
def test_upsert_that_sets_null_replaces_stored_values(tmp_path: Path, kind: TableType) -> None:
    """Rows of a file without a field have null in it; other rows, and other fields, stay."""
    lake = a_lake(tmp_path, kind)
    table = {name: rows(shape[0], {1: shape[1], 2: shape[1]}) for name, shape in SHAPES.items()}
    less = {name: rows(shape[2], {1: shape[3]}) for name, shape in SHAPES.items()}
    upsert(lake, joined(table))
    upsert(lake, joined(less), missing=MissingColumns.SET_NULL)
    found = {row["id"]: row for row in rows_of(lake.location)}
    for name, shape in SHAPES.items():
        assert (found[1][name], found[2][name]) == (shape[5], shape[1])


def joined(parts: dict[str, pa.Table]) -> pa.Table:
    """Return the columns `c` of tables beside each other, each by the table's name."""
    one = next(iter(parts.values())).drop_columns(["c"])
    for name, part in parts.items():
        one = one.append_column(name, part["c"])
    return one


@pytest.mark.parametrize("kind", TableType)
def test_files_without_a_column_that_one_load_brought_can_be_loaded_on(
    tmp_path: Path, kind: TableType
) -> None:
    """The default refuses them and says what to set; with it, new and updated rows have null."""
    lake = a_lake(tmp_path, kind)
    plain = rows(pa.int64(), {1: 10, 2: 20})
    upsert(lake, plain)
    wider = {"evolution": SchemaEvolution.WIDEN}
    upsert(lake, with_note({2: "two", 3: "three"}), **wider)
    with pytest.raises(PlanError) as caught:
        upsert(lake, plain, **wider)
    assert "column 'note' is missing" in caught.value.message
    assert "write.missing_columns: set_null" in caught.value.remedy
    upsert(lake, rows(pa.int64(), {2: 21, 4: 40}), **wider, missing=MissingColumns.SET_NULL)
    found = {row["id"]: (row["c"], row["note"]) for row in rows_of(lake.location)}
    assert found == {1: (10, None), 2: (21, None), 3: (3, "three"), 4: (40, None)}


def with_note(notes: dict[int, str]) -> pa.Table:
    """Return rows with a column more."""
    plain = rows(pa.int64(), {number: number for number in notes})
    return plain.append_column("note", pa.array(notes.values()))


def test_one_file_of_several_without_a_column_is_refused_by_name(tmp_path: Path) -> None:
    """Its neighbours have the column, and do not hide that it is missing."""
    lake = a_lake(tmp_path)
    full, short = with_note({1: "one", 2: "two"}), rows(pa.int64(), {1: 1})
    upsert(lake, full)
    with pytest.raises(PlanError, match="'note' is missing") as caught:
        upsert(lake, full, short, full)
    assert (caught.value.where.file or "").endswith("00002.parquet")
    assert {row["note"] for row in rows_of(lake.location)} == {"one", "two"}


@pytest.mark.parametrize(
    ("order", "file"),
    [("less more", None), ("more less", "1.parquet"), ("less more less", "2.parquet")],
)
@pytest.mark.parametrize("begins", [True, False])
def test_evolved_takes_files_as_though_loaded_one_by_one(
    order: str, file: str | None, *, begins: bool
) -> None:
    """A column that a later file brings is new; one that an earlier file brought is missing."""
    parts = {"less": rows(pa.int64(), {1: 1}), "more": with_note({1: "one"})}
    table = None if begins else parts["less"].schema
    found = schemas(*(parts[name] for name in order.split()))
    following = Following(evolution=SchemaEvolution.ADD_COLUMNS)
    if file is None:
        assert evolved(table, found, following, table="/t") == parts["more"].schema
        return
    with pytest.raises(PlanError, match="'note' is missing") as caught:
        evolved(table, found, following, table="/t")
    assert caught.value.where.file == file


@pytest.mark.parametrize("name", ["id", "day", "ts"])
def test_key_partition_and_ordering_columns_are_never_set_null(tmp_path: Path, name: str) -> None:
    """Of several files, one that lacks such a column is refused by name, before any row is read."""
    lake = replace(a_lake(tmp_path), ordering="ts")
    full = rows(pa.int64(), {1: 1}, name="ts")
    upsert(lake, full)
    with pytest.raises(PlanError, match=f"'{name}' is missing") as caught:
        upsert(lake, full, full.drop_columns([name]), missing=MissingColumns.SET_NULL)
    assert caught.value.condition == "input/schema-differs"
    assert (caught.value.where.file or "").endswith("00002.parquet")


def test_delete_by_files_of_which_one_lacks_the_key_is_refused(tmp_path: Path) -> None:
    """Only the key is needed, but of every file."""
    lake = a_lake(tmp_path)
    full = rows(pa.int64(), {1: 1, 2: 2})
    upsert(lake, full)
    with pytest.raises(PlanError, match="'id' is missing"):
        load(lake, WriteOperation.DELETE, full, full.drop_columns(["id"]))
    load(lake, WriteOperation.DELETE, full.select(["id"]).slice(0, 1))
    assert set(values_of(lake)) == {2}


@pytest.mark.parametrize("evolution", SchemaEvolution)
def test_evolved_column_that_may_not_be_null_is_set_null_by_widen_alone(
    evolution: SchemaEvolution,
) -> None:
    """Loosening a column is a wider type."""
    table = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.string(), nullable=False)])
    found = [InputSchema(number=0, schema=pa.schema([("id", pa.int64())]))]
    following = Following(evolution=evolution, missing=MissingColumns.SET_NULL)
    if evolution is SchemaEvolution.WIDEN:
        assert evolved(table, found, following, table="/t").field("v").nullable
        return
    with pytest.raises(PlanError, match="may not be null in the table"):
        evolved(table, found, following, table="/t")
