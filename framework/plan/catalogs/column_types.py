"""Types of columns in the words of Hive, and as the JSON in which Spark keeps schemas.

Both are what Apache Hudi 1.2.0's sync writes, byte for byte, spaces in the JSON included: a sync of
Hudi after ours compares texts. `tests/golden/catalogs` has what it wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from framework.errors import PlanError

__all__ = ["PART_LENGTH", "hive_type", "schema_parts", "spark_schema"]

PART_LENGTH: Final = 4000
"""Characters of a property's value at most: the metastore's column has no more."""

_Check = Callable[[pa.DataType], bool]
_NESTED_NAME: Final = re.compile(r"[A-Za-z0-9_.]+", re.ASCII)
_text: Final = json.JSONEncoder(ensure_ascii=False).encode


def _is_int(kind: pa.DataType) -> bool:
    """Whether Avro's 32-bit int holds it."""
    small = pa.types.is_int8(kind) or pa.types.is_int16(kind) or pa.types.is_int32(kind)
    return bool(small or pa.types.is_time32(kind))


def _is_long(kind: pa.DataType) -> bool:
    """Whether Avro's long holds it, and it is not a point in time."""
    return bool(pa.types.is_int64(kind) or pa.types.is_time64(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    some = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return bool(some or pa.types.is_fixed_size_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


_NAMES: Final[Sequence[tuple[_Check, str, str]]] = (
    (pa.types.is_boolean, "boolean", "boolean"),
    (_is_int, "int", "integer"),
    (_is_long, "bigint", "long"),
    (pa.types.is_float32, "float", "float"),
    (pa.types.is_float64, "double", "double"),
    (_is_text, "string", "string"),
    (_is_bytes, "binary", "binary"),
    (pa.types.is_date32, "date", "date"),
)
"""Types without parameters: in Hive, and in Spark's JSON."""


def hive_type(kind: pa.DataType, *, support_timestamp: bool, column: str) -> str:
    """Return Hive's type, in lower case and without spaces.

    Args:
        kind: type of a column, or inside of one.
        support_timestamp: whether a point in time is `timestamp`, or else `bigint`.
        column: the column's name, for errors.

    Raises:
        PlanError: `catalog/column-type`, `catalog/nested-name`.
    """
    if pa.types.is_timestamp(kind):
        return "timestamp" if support_timestamp else "bigint"
    if not pa.types.is_nested(kind):
        return _decimal(kind) or _named(kind, column)[0]

    def inner(part: pa.DataType) -> str:
        return hive_type(part, support_timestamp=support_timestamp, column=column)

    if _is_list(kind):
        return f"array<{inner(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{inner(kind.key_type)},{inner(kind.item_type)}>"
    fields = (f"{_nested_name(f.name, column)}:{inner(f.type)}" for f in kind)
    return f"struct<{','.join(fields)}>"


def spark_schema(schema: pa.Schema, partition: Sequence[str]) -> str:
    """Return the JSON of Spark's schema of these columns, the partition columns last.

    Raises:
        PlanError: `catalog/column-type`.
    """
    last = {name: schema.field(name) for name in partition}
    return _struct([*(f for f in schema if f.name not in last), *last.values()])


def schema_parts(text: str) -> tuple[str, ...]:
    """Return a text in parts that a metastore can store; one part at least.

    The length is in UTF-16 units, as Java counts; a character outside of the basic plane is not
    split.
    """
    return tuple(_parts(text)) or ("",)


def _parts(text: str) -> Iterator[str]:
    start = length = 0
    for place, char in enumerate(text):
        units = 1 + (ord(char) > 0xFFFF)  # noqa: PLR2004  the basic plane
        if length + units > PART_LENGTH:
            yield text[start:place]
            start, length = place, 0
        length += units
    if start < len(text):
        yield text[start:]


def _struct(fields: Sequence[pa.Field]) -> str:
    entries = (
        f'{{"name":{_text(f.name)},"type":{_spark_type(f.type, f.name)},'
        f'"nullable":{str(f.nullable).lower()},"metadata":{{}}}}'
        for f in fields
    )
    return f'{{"type":"struct","fields":[{",".join(entries)}]}}'


def _spark_type(kind: pa.DataType, column: str) -> str:
    """Return the JSON of one type."""
    if pa.types.is_timestamp(kind):
        return '"timestamp_ntz"' if kind.tz is None else '"timestamp"'
    if not pa.types.is_nested(kind):
        return f'"{_decimal(kind) or _named(kind, column)[1]}"'
    if _is_list(kind):
        element = _spark_type(kind.value_type, column)
        nulls = str(kind.value_field.nullable).lower()
        return f'{{"type":"array", "elementType":{element},"containsNull":{nulls}}}'
    if pa.types.is_map(kind):
        key, value = (_spark_type(each, column) for each in (kind.key_type, kind.item_type))
        nulls = str(kind.item_field.nullable).lower()
        types = f'"keyType":{key},"valueType":{value}'
        return f'{{"type":"map", {types},"valueContainsNull":{nulls}}}'
    return _struct(list(kind))


def _decimal(kind: pa.DataType) -> str:
    """Return the type of a decimal, which is the same in both; "" for others."""
    return f"decimal({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else ""


_TRANSLATED: Final[Mapping[int, str]] = {ord("$"): "_dollar_", ord("-"): "_"}


def _nested_name(name: str, column: str) -> str:
    """Return the name of a struct's field as Hive's parser of types accepts it.

    Raises:
        PlanError: `catalog/nested-name`.
    """
    found = name.translate(_TRANSLATED).lower()
    if not _NESTED_NAME.fullmatch(found):
        raise PlanError(
            "catalog/nested-name",
            f"the field {name!r} inside of column '{column}' has a name that Hive cannot parse",
            remedy="Rename the field; letters, digits and `_` are safe.",
        )
    return found


def _named(kind: pa.DataType, column: str) -> tuple[str, str]:
    """Return the words of Hive and Spark for a type without parameters.

    Raises:
        PlanError: `catalog/column-type`.
    """
    for check, hive, spark in _NAMES:
        if check(kind):
            return hive, spark
    raise PlanError(
        "catalog/column-type",
        f"column '{column}' is {kind}, for which catalogs have no type",
        remedy="Cast the column, or remove the section `catalog`.",
    )
