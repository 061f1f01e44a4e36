"""The record key as a Spark SQL expression, the same text that `keygen/text.py` makes.

Builds text only and does not need Spark. The expression means the same with and without Spark's
ANSI mode.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from framework.errors import PlanError
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.text import EMPTY_PART, NULL_PART
from framework.vocabulary import PartitionType

__all__ = ["key_sql", "quote_literal", "quote_name"]

# Up to this scale no value of a decimal is printed with an exponent.
_PLAIN_SCALE: Final = 6


def key_sql(rule: KeyRule, schema: pa.Schema) -> str:
    """Return the expression of the record key over columns of the table.

    Args:
        rule: names the key columns.
        schema: types of the table's columns; a partition column that is not in it keeps its
            declared type.

    Raises:
        PlanError: `key/column-missing`.
    """
    texts = [_text(name, _type(name, rule, schema)) for name in rule.record_key]
    if not rule.is_composite:
        return f"nullif({texts[0]}, '')"
    parts: list[str] = []
    for number, (name, text) in enumerate(zip(rule.record_key, texts, strict=True)):
        label = f"{',' if number else ''}{name}:"
        parts += [quote_literal(label), _placed(text, _type(name, rule, schema))]
    return f"concat({', '.join(parts)})"


def quote_name(name: str) -> str:
    """Return a column's name as one Spark SQL identifier, dots included."""
    return f"`{name.replace('`', '``')}`"


def quote_literal(text: str) -> str:
    """Return text as a Spark SQL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _type(name: str, rule: KeyRule, schema: pa.Schema) -> pa.DataType | PartitionType:
    if name in schema.names:
        return schema.field(name).type
    for field in rule.partition:
        if field.name == name:
            return field.type
    raise PlanError(
        "key/column-missing",
        f"key column '{name}' is in neither the files nor the folders",
        remedy=f"Columns are {', '.join(schema.names)}.",
    )


def _is_text(kind: pa.DataType | PartitionType) -> bool:
    """Whether values are strings."""
    if isinstance(kind, PartitionType):
        return kind is PartitionType.STRING
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _text(name: str, kind: pa.DataType | PartitionType) -> str:
    """Return the expression of one column's text; NULL stays NULL."""
    column = quote_name(name)
    if _is_text(kind):
        return column
    if not isinstance(kind, PartitionType) and pa.types.is_decimal(kind):
        return _decimal_text(column, kind.scale)
    return f"CAST({column} AS STRING)"


def _placed(text: str, kind: pa.DataType | PartitionType) -> str:
    """Return the expression of a part of a composite key, never NULL and never empty."""
    if not _is_text(kind):
        return f"coalesce({text}, '{NULL_PART}')"
    return (
        f"CASE WHEN {text} IS NULL THEN '{NULL_PART}' "
        f"WHEN {text} = '' THEN '{EMPTY_PART}' ELSE {text} END"
    )


def _decimal_text(column: str, scale: int) -> str:
    """Return `BigDecimal.toString` of a decimal: an exponent below 0.000001.

    Spark prints that exponent too, but not in ANSI mode. So the digits after the point are taken
    from a number that never has an exponent: the absolute value plus 1.
    """
    plain = f"CAST({column} AS STRING)"
    if scale <= _PLAIN_SCALE:
        return plain
    amount = f"CAST(abs({column}) AS DECIMAL({scale}, {scale}))"
    fraction = f"CAST({amount} + CAST(1 AS DECIMAL(1, 0)) AS STRING)"
    digits = f"regexp_replace(substring({fraction}, 3), '^0+(?=.)', '')"
    small = (
        f"concat(if({column} < 0, '-', ''), substring({digits}, 1, 1), "
        f"if(length({digits}) > 1, concat('.', substring({digits}, 2)), ''), "
        f"'E', CAST(length({digits}) - {scale + 1} AS STRING))"
    )
    return f"CASE WHEN abs({column}) >= 0.000001BD THEN {plain} ELSE {small} END"
