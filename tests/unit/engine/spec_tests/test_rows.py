"""Rows of a test as a table, and every fault in them at its place."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from framework.engine.spec_tests.rows import fitted_rows, rows_as_arrow
from framework.plan.refusals import Fault
from tests.support.spec_tests import a_spec, a_test, ready_tests, some_rows


def test_rows_have_columns_of_the_schema_then_those_they_name(tmp_path: Path) -> None:
    """What a row leaves out is null; a partition column goes into folders."""
    source = {"path": "a", "schema": "id INT, note STRING"}
    test = a_test(given=[{"p": 1, "id": 1}, {"id": 2}])
    (ready,), faults = ready_tests(a_spec(tmp_path, test, source=source))
    assert faults == []
    assert ready.given.schema == pa.schema(
        [("id", pa.int32()), ("note", pa.string()), ("p", pa.int32())]
    )
    assert ready.given.to_pylist()[1] == {"id": 2, "note": None, "p": None}
    assert ready.folders == ("p",)


def test_undeclared_types_are_inferred_from_both_lists(tmp_path: Path) -> None:
    """So that a whole number in one and a fraction in the other are of one type."""
    test = a_test(table=[{"id": 1, "v": 5}], given=[{"id": 1, "v": 7.5, "d": "2026-01-01"}])
    (ready,), _ = ready_tests(a_spec(tmp_path, test))
    assert ready.before is not None
    assert ready.before.schema.field("v").type == ready.given.schema.field("v").type == pa.float64()
    assert ready.given.schema.field("d").type == pa.string()
    assert ready.folders == ()


def test_empty_table_is_no_table(tmp_path: Path) -> None:
    """An insert of nothing makes none."""
    (ready,), _ = ready_tests(a_spec(tmp_path, a_test(table=[])))
    assert ready.before is None
    assert ready.given.num_rows == 0


def test_faults_of_rows_are_reported_at_once_with_their_paths(tmp_path: Path) -> None:
    """Values, unknown columns and columns of several types, in all lists."""
    contract = {"columns": {"id": {"type": "bigint"}, "v": {}}}
    first = a_test("a", table=[{"id": "x"}], given=[{"id": 1, "w": 1}])
    second = a_test("b", given=[{"v": None}, {"v": 1}, {"v": "a"}])
    _, faults = ready_tests(a_spec(tmp_path, first, second, table=contract))
    assert {(each.condition, each.key_path) for each in faults} == {
        ("tests/value-does-not-fit", "tests[0].table[0].id"),
        ("tests/unknown-column", "tests[0].given[0].w"),
        ("tests/mixed-types", "tests[1].given[2].v"),
    }


def test_expected_rows_take_the_types_of_the_rows_that_are_there() -> None:
    """Every row has each column that one of them names."""
    faults: list[Fault] = []
    schema = pa.schema([("id", pa.int64()), ("d", pa.decimal128(9, 2)), ("x", pa.string())])
    found = fitted_rows(some_rows({"id": 1}, {"d": 2}), schema, faults)
    assert found == [{"id": 1, "d": None}, {"id": None, "d": 2}]
    assert faults == []


def test_expected_column_that_is_not_there_is_a_fault() -> None:
    """Once, at the first row that names it, with the columns that there are."""
    faults: list[Fault] = []
    schema = pa.schema([("id", pa.int64()), ("_lakestrap_rules", pa.list_(pa.string()))])
    fitted_rows(some_rows({"id": 1}, {"di": 1}, {"di": 2}), schema, faults)
    (fault,) = faults
    assert (fault.condition, fault.key_path) == ("tests/unknown-column", "tests[0].given[1].di")
    assert fault.remedy == "Columns are id."


def test_lent_types_hold_where_the_spec_has_none() -> None:
    """And rows may be asked to have all of the columns that are lent."""
    lent = {"v": pa.decimal128(9, 2), "w": pa.date32(), "id": pa.string()}
    faults: list[Fault] = []
    found = rows_as_arrow(
        some_rows({"id": 1, "v": 2}, id="int"), faults, lent=lent, has_all_lent=True
    )
    assert found.schema == pa.schema(
        [("id", pa.int32()), ("v", pa.decimal128(9, 2)), ("w", pa.date32())]
    )
    assert faults == []
