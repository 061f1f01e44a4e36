"""Rows of a test: typed, with all their faults, and written to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.spec_tests.values import UnfitError, arrow_type, fitted, inferred
from framework.hudi.table.partition_path import PartitionField, PartitionValue, render_partition
from framework.plan.refusals import Fault
from framework.plan.spec_tests.spec_test import RowColumns, SpecTest, SpecTestRows
from framework.vocabulary import SourceLayout

__all__ = [
    "ReadySpecTest",
    "fitted_rows",
    "made_ready",
    "rows_as_arrow",
    "with_lent_types",
    "write_file",
    "write_partitions",
]

_NAME = "rows.parquet"
_NONE: Final[Mapping[str, pa.DataType]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySpecTest:
    """A test that is ready to run.

    Attributes:
        test: as the spec has it.
        before: the table's rows before the run; None if there is no table.
        given: the input rows.
        folders: columns of `given` that are in names of folders, not in files.
    """

    test: SpecTest
    before: pa.Table | None
    given: pa.Table
    folders: tuple[str, ...] = ()


def made_ready(test: SpecTest, faults: list[Fault]) -> ReadySpecTest:
    """Return a test with its rows typed; their faults are added to `faults`."""
    columns = test.given.columns
    shared = test.same_columns
    given = rows_as_arrow(test.given, faults, beside=test.before if shared else None)
    before = None
    if test.before is not None and test.before.rows:
        before = rows_as_arrow(test.before, faults, beside=test.given if shared else None)
    further = columns.further if columns is not None and columns.in_folders else {}
    return ReadySpecTest(
        test=test,
        before=before,
        given=given,
        folders=tuple(name for name in given.column_names if name in further),
    )


def with_lent_types(
    ready: ReadySpecTest, lent: Mapping[str, pa.DataType], faults: list[Fault], *, has_all: bool
) -> ReadySpecTest:
    """Return a test whose rows before have the types of the run's input.

    A type in the spec takes precedence. With `has_all` the rows have every loaded column. Faults
    of the rows are added to `faults`.
    """
    if ready.test.before is None or ready.before is None or not lent:
        return ready
    before = rows_as_arrow(ready.test.before, faults, lent=lent, has_all_lent=has_all)
    return replace(ready, before=before)


def write_file(rows: pa.Table, folder: str) -> str:
    """Write rows, if any, into a new file of a folder, creating the folder; return its path."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = f"{folder}/{_NAME}"
    if rows.num_rows:
        pq.write_table(rows, path)
    return path


def write_partitions(
    rows: pa.Table, folder: str, fields: Sequence[PartitionField], layout: SourceLayout
) -> None:
    """Write rows into one file per partition, in a folder that encodes the partition's values.

    The files lack the partition columns; one that the rows lack is null.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    if layout is SourceLayout.NONE:
        write_file(rows, folder)
        return
    paths = _partition_paths(rows, fields, layout)
    kept = rows.drop_columns([f.name for f in fields if f.name in rows.column_names])
    for path in dict.fromkeys(paths):
        chosen = kept.filter(pa.array([each == path for each in paths]))
        write_file(chosen, f"{folder}/{path}")


def _partition_paths(
    rows: pa.Table, fields: Sequence[PartitionField], layout: SourceLayout
) -> list[str]:
    """Return the partition path of each row."""
    nothing: list[PartitionValue] = [None] * rows.num_rows
    columns = [
        rows[each.name].to_pylist() if each.name in rows.column_names else nothing
        for each in fields
    ]
    return [render_partition(values, fields, layout) for values in zip(*columns, strict=True)]


def rows_as_arrow(
    given: SpecTestRows,
    faults: list[Fault],
    *,
    beside: SpecTestRows | None = None,
    lent: Mapping[str, pa.DataType] = _NONE,
    has_all_lent: bool = False,
) -> pa.Table:
    """Return input rows, or those of a table; their faults are added to `faults`.

    The columns are those that the spec has types for, then those that the rows name; one that a row
    omits is null. A type that the spec lacks is the one in `lent`, else that of the values, with
    those of `beside`. With `has_all_lent` the rows have all columns of it.
    """
    columns = given.columns or RowColumns()
    known = {**columns.further, **columns.types}
    named = dict.fromkeys(name for row in given.rows for name in row)
    if columns.said_by:
        _note_unknown(given, columns, faults)
    fields, arrays = [], []
    for name in dict.fromkeys((*columns.types, *named, *(lent if has_all_lent else ()))):
        text = known.get(name)
        kind = arrow_type(text) if text else lent.get(name)
        if kind is None:
            kind = _inferred(given, beside, name, faults)
        fields.append(pa.field(name, kind))
        arrays.append(pa.array(_fitted(given, name, kind, faults), kind))
    return pa.table(arrays, schema=pa.schema(fields))


def fitted_rows(
    expected: SpecTestRows, schema: pa.Schema, faults: list[Fault]
) -> list[dict[str, Any]]:
    """Return expected rows in the types of the rows to compare them with, by column.

    Every row has every column that one of them names; an omitted one is None.
    """
    named = list(dict.fromkeys(name for row in expected.rows for name in row))
    columns: list[list[Any]] = []
    for name in named:
        at = schema.get_field_index(name)
        if at < 0:
            _note_missing(expected, name, schema.names, faults)
            columns.append([None] * len(expected.rows))
        else:
            columns.append(_fitted(expected, name, schema.field(at).type, faults))
    if not named:
        return [{} for _ in expected.rows]
    return [dict(zip(named, values, strict=True)) for values in zip(*columns, strict=True)]


def _fitted(rows: SpecTestRows, name: str, kind: pa.DataType, faults: list[Fault]) -> list[Any]:
    """Return one column's values; None where one does not fit."""
    found: list[Any] = []
    if pa.types.is_null(kind):
        return [None] * len(rows.rows)
    for number, row in enumerate(rows.rows):
        try:
            found.append(fitted(row.get(name), kind))
        except UnfitError as error:
            found.append(None)
            faults.append(
                Fault(
                    condition="tests/value-does-not-fit",
                    key_path=f"{rows.path}[{number}].{name}",
                    message=f"column '{name}': {error.message}",
                    remedy=error.remedy,
                )
            )
    return found


def _inferred(
    rows: SpecTestRows, beside: SpecTestRows | None, name: str, faults: list[Fault]
) -> pa.DataType:
    """Return the type of an undeclared column; the null type if it has none."""
    values = [row.get(name) for row in rows.rows]
    try:
        own = inferred(values)
        others = [row.get(name) for row in beside.rows] if beside else []
        return _in_common([*values, *others], own)
    except UnfitError as error:
        classes = [None if value is None else type(value) for value in values]
        first = next(each for each in classes if each is not None)
        other = next((at for at, each in enumerate(classes) if each not in (None, first)), 0)
        faults.append(
            Fault(
                condition="tests/mixed-types",
                key_path=f"{rows.path}[{other}].{name}",
                message=f"column '{name}': {error.message}",
                remedy="Declare its type in `source.schema` or `table.columns`, or use one type.",
            )
        )
        return pa.null()


def _in_common(values: Sequence[Any], own: pa.DataType) -> pa.DataType:
    """Return the common type of all values, or `own` if there is none."""
    try:
        return inferred(values)
    except UnfitError:
        return own


def _note_unknown(rows: SpecTestRows, columns: RowColumns, faults: list[Fault]) -> None:
    """Add a fault for each column that the spec lacks."""
    known = {**columns.types, **columns.further}
    for number, row in enumerate(rows.rows):
        for name in row:
            if name not in known:
                path = f"{rows.path}[{number}].{name}"
                faults.append(_unknown(path, name, columns.said_by, known))


def _note_missing(rows: SpecTestRows, name: str, there: Sequence[str], faults: list[Fault]) -> None:
    """Add a fault for a column that the rows to compare with lack."""
    number = next(at for at, row in enumerate(rows.rows) if name in row)
    known = dict.fromkeys(each for each in there if not each.startswith("_"))
    faults.append(_unknown(f"{rows.path}[{number}].{name}", name, "the run", known))


def _unknown(path: str, name: str, said_by: str, known: Mapping[str, object]) -> Fault:
    return Fault(
        condition="tests/unknown-column",
        key_path=path,
        message=f"{said_by} has no column '{name}'",
        remedy=f"Columns are {', '.join(known)}.",
    )
