"""Faults of declared or named columns against a table's columns.

Each function returns faults, none raises. The key path of a fault leads to its line, which may be
in the file of columns or in the project file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from framework.plan.quality.model import MAX_SPLITTING, Check, ColumnContract, Quality
from framework.plan.refusals import Fault
from framework.spec.document.findings import nearest
from framework.spec.document.positions import child_path
from framework.spec.rules.check_semantics import expectations, scanned
from framework.spec.sql.predicates import META_COLUMNS, text_faults, unknown_columns
from framework.spec.sql.spark_types import field_text
from framework.vocabulary import CheckKind

__all__ = [
    "column_faults",
    "contract_faults",
    "quality_faults",
    "spark_type_text",
    "splitting_faults",
]

_TYPES: Final[Mapping[Any, str]] = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.null(): "void",
}
_TEXTS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES: Final = (
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    pa.types.is_fixed_size_binary,
)
_LISTS: Final = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_CONTRACT: Final = "table.columns."


def quality_faults(quality: Quality, schema: Any) -> list[Fault]:
    """Return every fault of contract and checks against the table's schema.

    `schema` is an Arrow schema, partition columns included.
    """
    types = {field.name: spark_type_text(field.type) for field in schema}
    return [
        *splitting_faults(quality),
        *contract_faults(quality.columns, schema),
        *column_faults(quality, schema.names, types),
    ]


def splitting_faults(quality: Quality) -> list[Fault]:
    """Return the fault of too many checks that exclude rows, those of the contract included."""
    checks = quality.splitting
    if len(checks) <= MAX_SPLITTING:
        return []
    return [
        Fault(
            condition="quality/too-many",
            key_path=checks[MAX_SPLITTING].key_path,
            message=f"{len(checks)} checks quarantine or drop rows; at most {MAX_SPLITTING} can",
            remedy="Combine some with AND, or set some to abort or warn.",
        )
    ]


def contract_faults(columns: Sequence[ColumnContract], schema: Any) -> list[Fault]:
    """Return where the contract differs from the table's schema.

    Args:
        columns: the contract.
        schema: the table's Arrow schema, partition columns included. Case makes no difference.
    """
    fields = {field.name.lower(): field for field in schema}
    found = []
    for column in columns:
        field = fields.get(column.name.lower())
        if field is None:
            found.append(_missing(column, schema.names))
        elif column.type is not None and spark_type_text(field.type) != column.type:
            found.append(_differs(column, spark_type_text(field.type)))
    return found


def _missing(column: ColumnContract, names: Sequence[str]) -> Fault:
    close = nearest(column.name, names)
    likely = f"Did you mean '{close}'? " if close else ""
    return Fault(
        condition="contract/column-missing",
        key_path=column.key_path,
        message=f"column '{column.name}' is declared, but is not in the table",
        remedy=f"{likely}Correct the name, or remove the column from the contract.",
    )


def _differs(column: ColumnContract, there: str) -> Fault:
    return Fault(
        condition="contract/type-differs",
        key_path=f"{column.key_path}.type",
        message=f"column '{column.name}' is declared {column.type}, but is {there}",
        remedy=f"Declare it {there}, or cast it in a transform.",
    )


def spark_type_text(kind: Any) -> str:
    """Return an Arrow type as Spark SQL text, normalized as in a contract.

    A timestamp without a time zone is `timestamp_ntz`; a type that Spark lacks is Arrow's text.
    """
    if kind in _TYPES:
        return _TYPES[kind]
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    for name, tests in (("string", _TEXTS), ("binary", _BYTES)):
        if any(test(kind) for test in tests):
            return name
    return _nested_text(kind)


def _nested_text(kind: Any) -> str:
    if pa.types.is_dictionary(kind):
        return spark_type_text(kind.value_type)
    if any(test(kind) for test in _LISTS):
        return f"array<{spark_type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{spark_type_text(kind.key_type)},{spark_type_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        fields = (f"{field_text(each.name)}:{spark_type_text(each.type)}" for each in kind)
        return f"struct<{','.join(fields)}>"
    return str(kind).lower()


def column_faults(
    quality: Quality, names: Sequence[str], types: Mapping[str, str] | None = None
) -> list[Fault]:
    """Return the faults of unknown columns in checks, and of texts that do not fit their column.

    Args:
        quality: the checks; those of the contract are left to `contract_faults`.
        names: the table's columns, partition columns included; Hudi's own are known too.
        types: types of some columns as Spark SQL text, by name.
    """
    known = {name.lower(): name for name in (*META_COLUMNS, *names)}
    kinds = {name.lower(): kind for name, kind in (types or {}).items()}
    found: list[Fault] = []
    for check in quality.checks:
        if not check.key_path.startswith(_CONTRACT):
            found += _of_predicates(check, known, kinds)
            found += _of_arguments(check, known)
    for index, name in enumerate(quality.redacted):
        found += _of_name(f"quality.redact[{index}]", name, known)
    return found


def _of_predicates(
    check: Check, known: Mapping[str, str], types: Mapping[str, str]
) -> Iterator[Fault]:
    """Yield the column faults of a check's predicates."""
    texts = {"where": check.where}
    if check.kind in (CheckKind.EXPECT, CheckKind.EXPECT_AGGREGATE):
        texts[check.kind.value] = check.text
    for name, text in texts.items():
        found = scanned(text)
        if found is None:
            continue
        path = f"{check.key_path}.{name}"
        for fault in unknown_columns(found, known, "the table's columns"):
            yield _unknown(path, check.name, fault.message, fault.suggestion)
        for fault in text_faults(found, types):
            yield Fault(
                condition="quality/text-does-not-fit",
                key_path=path,
                message=f"check '{check.name}': {fault.message}",
                remedy="Compare the column with a value of its type.",
            )


def _of_arguments(check: Check, known: Mapping[str, str]) -> Iterator[Fault]:
    """Yield a fault for each unknown column in an expectation's arguments."""
    if check.kind is CheckKind.GX:
        for argument, column in expectations().column_arguments(check.text, check.arguments):
            path = child_path(f"{check.key_path}.arguments", argument)
            yield from _of_name(path, column, known, check.name)


def _of_name(
    path: str, name: str, known: Mapping[str, str], check: str | None = None
) -> Iterator[Fault]:
    """Yield a fault if the name is not a column of the table."""
    if name.lower() not in known:
        message = f"`{name}` is not a column of the table"
        yield _unknown(path, check, message, nearest(name, known.values()))


def _unknown(path: str, check: str | None, message: str, close: str | None) -> Fault:
    likely = f"Did you mean '{close}'?" if close else "Correct the name."
    return Fault(
        condition="quality/column-missing",
        key_path=path,
        message=f"check '{check}': {message}" if check else message,
        remedy=likely,
    )
