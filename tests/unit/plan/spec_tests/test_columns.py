"""Which types the rows of tests have, as far as a spec says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from framework.plan.spec_tests.spec_test import ddl_columns, given_columns, table_columns
from tests.support.spec_tests import a_spec

SCHEMA: dict[str, Any] = {"path": "lake/landing", "schema": "id INT, amount DECIMAL(9,2)"}
CONTRACT: dict[str, Any] = {"columns": {"id": {"type": "bigint"}, "note": {}, "p": {}}}
SQL = [{"name": "all_rows", "sql": "SELECT * FROM source"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id BIGINT, b STRING", {"id": "bigint", "b": "string"}),
        ("id: long NOT NULL , `a, b` Decimal(9, 2)", {"id": "bigint", "a, b": "decimal(9,2)"}),
        ("a STRING COMMENT 'x, y INT', Bc int", {"a": "string", "Bc": "int"}),
        (
            "m MAP<STRING, INT>, s STRUCT<a: INT, b: INT>",
            {
                "m": "map<string,int>",
                "s": "struct<a:int,b:int>",
            },
        ),
        ("v VARIANT, i INTERVAL DAY", {"v": None, "i": None}),
        ("<<<", {}),
    ],
)
def test_ddl_of_a_schema_gives_names_and_types(text: str, expected: dict[str, str | None]) -> None:
    """Names keep their case; a type that tables cannot have is not known."""
    assert ddl_columns(text) == expected


def test_given_rows_have_the_columns_of_the_source_schema(tmp_path: Path) -> None:
    """It beats the contract; partition columns that it lacks are in the names of folders."""
    found = given_columns(a_spec(tmp_path, source=SCHEMA, table=CONTRACT, transforms=SQL))
    assert found.types == {"id": "int", "amount": "decimal(9,2)"}
    assert found.further == {"p": "int"}
    assert found.said_by == "`source.schema`"
    assert found.in_folders


def test_given_rows_without_schema_have_the_columns_of_the_contract(tmp_path: Path) -> None:
    """With those of key and partition; a column without a type has that of the partition."""
    found = given_columns(a_spec(tmp_path, table=CONTRACT))
    assert found.types == {"id": "bigint", "note": None, "p": "int"}
    assert set(found.further) == {"id", "p"}
    assert found.said_by == "`table.columns`"


def test_contract_behind_transforms_only_lends_its_types(tmp_path: Path) -> None:
    """The table's columns after them do not determine the source's before them."""
    found = given_columns(a_spec(tmp_path, table=CONTRACT, transforms=SQL))
    assert (found.types, found.said_by) == ({}, "")
    assert found.further["id"] == "bigint"


def test_rows_before_have_the_types_of_the_contract_else_of_the_schema(tmp_path: Path) -> None:
    """The schema applies only without transforms."""
    contract = table_columns(a_spec(tmp_path, source=SCHEMA, table=CONTRACT))
    assert contract.types["id"] == "bigint"
    schema = table_columns(a_spec(tmp_path, source=SCHEMA))
    assert schema.further == {"p": "int", "id": "int", "amount": "decimal(9,2)"}
    behind = table_columns(a_spec(tmp_path, source=SCHEMA, transforms=SQL))
    assert behind.further == {"p": "int"}
