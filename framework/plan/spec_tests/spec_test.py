"""The tests of a spec as plain values, with the row types that the spec declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.tests_spec import ExpectedSpec, TestSpec
from framework.spec.sql.spark_types import TypeTextError, normal_type
from framework.vocabulary import PartitionType

__all__ = [
    "EXPECTED",
    "RowColumns",
    "SpecTest",
    "SpecTestRows",
    "ddl_columns",
    "given_columns",
    "spec_tests_of",
    "table_columns",
]

EXPECTED: Final = ("written", "table_after", "quarantined", "rejected")
"""The lists of rows that a test may expect, in the order of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestRows:
    """Rows as written in a spec.

    Attributes:
        path: key path of the list, such as `tests[0].given`.
        rows: column to value, as YAML reads it.
        columns: the columns that the spec declares; None for expected rows, whose columns come
            from the run.
    """

    path: str
    rows: tuple[Mapping[str, object], ...]
    columns: RowColumns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTest:
    """One test of a spec.

    Attributes:
        name: what it tests.
        path: its key path, such as `tests[0]`.
        before: the table's rows before the run; None if there is no table.
        given: the input rows.
        same_columns: whether input rows become the table's rows as they are, without transforms.
        expected: the lists that are expected, by name.
        refused_by: names of the checks that refuse the run; None if not given.
        is_refusal: whether the run must be refused.
    """

    name: str
    path: str
    before: SpecTestRows | None
    given: SpecTestRows
    same_columns: bool
    expected: Mapping[str, SpecTestRows]
    refused_by: tuple[str, ...] | None
    is_refusal: bool


def spec_tests_of(spec: PipelineSpec) -> tuple[SpecTest, ...]:
    """Return the tests of a spec in order; empty if it has none."""
    return tuple(_spec_test(spec, number, test) for number, test in enumerate(spec.tests))


def _spec_test(spec: PipelineSpec, number: int, test: TestSpec) -> SpecTest:
    path = f"tests[{number}]"
    before = None
    if test.table is not None:
        columns = table_columns(spec)
        before = SpecTestRows(path=f"{path}.table", rows=test.table, columns=columns)
    return SpecTest(
        name=test.name,
        path=path,
        before=before,
        given=SpecTestRows(path=f"{path}.given", rows=test.given, columns=given_columns(spec)),
        same_columns=not spec.transforms,
        expected=_expected(test.expect, f"{path}.expect"),
        refused_by=test.expect.refused_by,
        is_refusal=test.expect.is_refusal,
    )


def _expected(expected: ExpectedSpec, path: str) -> dict[str, SpecTestRows]:
    """Return the expected lists of rows that the spec has."""
    lists = ((name, getattr(expected, name)) for name in EXPECTED)
    return {
        name: SpecTestRows(path=f"{path}.{name}", rows=rows)
        for name, rows in lists
        if rows is not None
    }


_PARTITION_TYPES: Final[Mapping[PartitionType, str]] = {
    PartitionType.STRING: "string",
    PartitionType.INT: "int",
    PartitionType.LONG: "bigint",
    PartitionType.DATE: "date",
    PartitionType.BOOLEAN: "boolean",
}
_PIECE: Final = re.compile(r"`(?:``|[^`])*`|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|.", re.DOTALL)
_COLUMN: Final = re.compile(r"\s*(?:`((?:``|[^`])+)`|(\w+))\s*:?\s*(.*)", re.DOTALL)
_AFTER_TYPE: Final = re.compile(
    r"\s+(?:NOT\s+NULL|COMMENT|DEFAULT|GENERATED)\b.*", re.IGNORECASE | re.DOTALL
)
_OPENS, _CLOSES = "<(", ">)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """Columns of the rows of a test.

    Attributes:
        types: column to its type in Spark SQL's normal text, or None if the spec has none; the
            rows have all of these columns, in this order, before others.
        further: types of optional columns.
        said_by: what names the columns, for messages; "" if rows may have any others.
        in_folders: whether the further columns are in names of folders, not in files.
    """

    types: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    further: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    said_by: str = ""
    in_folders: bool = False


def given_columns(spec: PipelineSpec) -> RowColumns:
    """Return the columns of the input rows.

    `source.schema` defines those of a source. Without it the column contract does, if there is
    nothing between source and table; else it only provides types. Partition columns have types.
    """
    schema = spec.source.schema_text if spec.source else None
    partition = _partition(spec)
    if schema is not None:
        found = ddl_columns(schema)
        said_by = "`source.schema`" if found else ""
        beside = {name: kind for name, kind in partition.items() if name not in found}
        return RowColumns(types=found, further=beside, said_by=said_by, in_folders=bool(found))
    return (
        table_columns(spec)
        if not spec.transforms
        else RowColumns(further={**partition, **_contract(spec)})
    )


def table_columns(spec: PipelineSpec) -> RowColumns:
    """Return the columns of the table's rows before the run."""
    contract, partition = _contract(spec), _partition(spec)
    if not contract:
        schema = spec.source.schema_text if spec.source and not spec.transforms else None
        return RowColumns(further={**partition, **(ddl_columns(schema) if schema else {})})
    ordering = spec.table.ordering.columns if spec.table.ordering else ()
    named = dict.fromkeys((*spec.table.record_key.columns, *ordering))
    return RowColumns(types=contract, further={**named, **partition}, said_by="`table.columns`")


def ddl_columns(text: str) -> dict[str, str | None]:
    """Return name and type of each column of Spark's DDL, None for an unknown type.

    Empty if the text cannot be parsed; Spark then reports what is wrong with it.
    """
    found: dict[str, str | None] = {}
    for piece in _pieces(text):
        match = _COLUMN.fullmatch(piece)
        if match is None:
            return {}
        name = match[1].replace("``", "`") if match[1] else match[2]
        try:
            found[name] = normal_type(_AFTER_TYPE.sub("", match[3]))
        except TypeTextError:
            found[name] = None
    return found


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces between commas that are outside brackets and quotes."""
    depth, piece = 0, ""
    for sign in _PIECE.findall(text):
        depth += (sign in _OPENS) - (sign in _CLOSES)
        if sign == "," and depth == 0:
            yield piece
            piece = ""
        else:
            piece += sign
    yield piece


def _contract(spec: PipelineSpec) -> dict[str, str | None]:
    """Return the types of the column contract; a partition column has that of the partition."""
    partition = _partition(spec)
    columns = spec.table.columns or {}
    return {name: column.type or partition.get(name) for name, column in columns.items()}


def _partition(spec: PipelineSpec) -> dict[str, str | None]:
    return {each.name: _PARTITION_TYPES[each.type] for each in spec.table.partition_by}
