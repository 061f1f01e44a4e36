"""The tests of a spec as plain values, and the types of their rows as far as the spec says."""

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
"""What a test may expect rows of, in the order in which it is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestRows:
    """Rows as they are written in a spec.

    Attributes:
        path: where the list stands, such as `tests[0].given`.
        rows: column to value, as YAML reads it.
        columns: what the spec says of the columns; of expected rows the run's own columns do.
    """

    path: str
    rows: tuple[Mapping[str, object], ...]
    columns: RowColumns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTest:
    """One test of a spec.

    Attributes:
        name: what it shows.
        path: where it stands, such as `tests[0]`.
        before: rows that the table has before, None where there is no table.
        given: rows that come in.
        same_columns: whether rows become those of the table as they are, without transforms.
        expected: the lists that are expected, by their names.
        refused_by: names of the checks that refuse the run, None where that is not said.
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
    """Return the tests of a spec in their order; none where it has none."""
    return tuple(_spec_test(spec, number, test) for number, test in enumerate(spec.tests))


def _spec_test(spec: PipelineSpec, number: int, test: TestSpec) -> SpecTest:
    """Return one test."""
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
    """Return the lists of rows that are written."""
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
        types: column to its type in Spark SQL's normal text, or None where the spec has none; the
            rows have all of these columns, in this order, before others.
        further: types of columns that rows may have besides.
        said_by: what names the columns, for people; "" where rows may have any others.
        in_folders: whether the further columns are not in files, but in the names of folders.
    """

    types: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    further: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    said_by: str = ""
    in_folders: bool = False


def given_columns(spec: PipelineSpec) -> RowColumns:
    """Return the columns of the rows that come in.

    `source.schema` says what a source has. Without it the column contract does where nothing
    stands between source and table; else it only lends its types. Partition columns have types.
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
    """Return the columns of the rows that the table has before."""
    contract, partition = _contract(spec), _partition(spec)
    if not contract:
        schema = spec.source.schema_text if spec.source and not spec.transforms else None
        return RowColumns(further={**partition, **(ddl_columns(schema) if schema else {})})
    ordering = spec.table.ordering.columns if spec.table.ordering else ()
    named = dict.fromkeys((*spec.table.record_key.columns, *ordering))
    return RowColumns(types=contract, further={**named, **partition}, said_by="`table.columns`")


def ddl_columns(text: str) -> dict[str, str | None]:
    """Return name and type of each column of Spark's DDL, a type that is not known as None.

    Empty where the text is not understood; Spark will then say what is wrong with it.
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
    """Yield what stands between commas that are in no brackets and no quotes."""
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
    """Return the types of the partition columns."""
    return {each.name: _PARTITION_TYPES[each.type] for each in spec.table.partition_by}
