"""The rule that gives rows their record key and partition path, as one frozen value.

The rule is derived once from the spec, stored as JSON in descriptors and journals, and its encoding
is pinned in the table's properties. A composite key is `column:value,column:value`; a key of one
column is the bare value (format sheet, section 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum, unique
from typing import Any, Final, Self

import pyarrow as pa

from framework.errors import CorruptFileError, PlanError
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.partition_path import PartitionField
from framework.vocabulary import KeyScope, PartitionType, SourceLayout

__all__ = [
    "KeyFault",
    "KeyGenerator",
    "KeyRule",
    "PartitionField",
    "choose_rule",
    "key_faults",
]

# Spark holds 38 digits; two of them are needed to print an exponent (keygen/spark_sql.py).
_MAX_DECIMAL_SCALE: Final = 36
_UNSAFE_NAME_CHARACTERS: Final = frozenset(",:`=/")


@unique
class KeyGenerator(StrEnum):
    """Apache Hudi's key generator that makes the same keys (format sheet, section 7.2)."""

    SIMPLE = "simple"
    COMPLEX = "complex"
    NON_PARTITIONED = "non_partitioned"
    CUSTOM = "custom"

    @property
    def class_name(self) -> str:
        """The value of `hoodie.table.keygenerator.class`."""
        return f"org.apache.hudi.keygen.{_CLASSES[self]}"


_CLASSES: Final = {
    KeyGenerator.SIMPLE: "SimpleKeyGenerator",
    KeyGenerator.COMPLEX: "ComplexKeyGenerator",
    KeyGenerator.NON_PARTITIONED: "NonpartitionedKeyGenerator",
    KeyGenerator.CUSTOM: "CustomKeyGenerator",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFault:
    """One reason why a rule does not fit a schema."""

    condition: str
    column: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """How rows get their record key and partition path.

    Attributes:
        record_key: key columns, in the order of the text; empty if keys are automatic.
        partition: partition columns, in folder order; empty for an unpartitioned table.
        generator: the key generator of Apache Hudi that continues the table.
        hive_style: whether folders are `column=value`.
        url_encode: whether special characters of partition values are `%XX`.
        scope: where a key is unique.
    """

    record_key: tuple[str, ...]
    partition: tuple[PartitionField, ...]
    generator: KeyGenerator
    hive_style: bool
    url_encode: bool
    scope: KeyScope

    @property
    def is_automatic(self) -> bool:
        """Whether a row's key is its number in the commit that wrote it (RFC-76)."""
        return not self.record_key

    @property
    def is_composite(self) -> bool:
        """Whether the key text names its columns."""
        return len(self.record_key) > 1

    @property
    def layout(self) -> SourceLayout:
        """The folder layout that this rule reads and writes."""
        if not self.partition:
            return SourceLayout.NONE
        return SourceLayout.HIVE if self.hive_style else SourceLayout.POSITIONAL

    def properties(self) -> dict[str, str]:
        """Return the entries of `hoodie.properties` that pin this rule at table version 6.

        Partition fields are plain names for every generator: version 6 keeps no `:SIMPLE`.
        """
        names = ",".join(field.name for field in self.partition)
        found = {}
        if not self.is_automatic:
            found["hoodie.table.recordkey.fields"] = ",".join(self.record_key)
        if names:
            found["hoodie.table.partition.fields"] = names
        return found | {
            "hoodie.table.keygenerator.class": self.generator.class_name,
            "hoodie.datasource.write.hive_style_partitioning": _text(self.hive_style),
            "hoodie.datasource.write.partitionpath.urlencode": _text(self.url_encode),
        }

    def writer_options(self) -> dict[str, str]:
        """Return the options with which an Apache Hudi DataFrame writer makes the same keys."""
        custom = self.generator is KeyGenerator.CUSTOM
        names = [f"{f.name}:SIMPLE" if custom else f.name for f in self.partition]
        key = {"hoodie.datasource.write.recordkey.field": ",".join(self.record_key)}
        return {
            **({} if self.is_automatic else key),
            "hoodie.datasource.write.partitionpath.field": ",".join(names),
            "hoodie.datasource.write.keygenerator.class": self.generator.class_name,
            "hoodie.datasource.write.hive_style_partitioning": _text(self.hive_style),
            "hoodie.datasource.write.partitionpath.urlencode": _text(self.url_encode),
        }

    def sql_table_properties(self) -> dict[str, str]:
        """Return the `TBLPROPERTIES` with which Hudi's SQL writes make the same keys.

        Only the custom generator needs any: SQL passes it plain names, which it refuses.
        """
        key = "hoodie.datasource.write.partitionpath.field"
        return {key: self.writer_options()[key]} if self.generator is KeyGenerator.CUSTOM else {}

    def as_json(self) -> dict[str, Any]:
        """Return the rule as JSON-ready values; `from_json` reads them back."""
        return {
            "record_key": list(self.record_key),
            "partition": [{"name": f.name, "type": f.type.value} for f in self.partition],
            "generator": self.generator.value,
            "hive_style": self.hive_style,
            "url_encode": self.url_encode,
            "scope": self.scope.value,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the rule that `as_json` wrote.

        Raises:
            CorruptFileError: `key/bad-rule`.
        """
        try:
            return cls(
                record_key=tuple(map(str, value["record_key"])),
                partition=tuple(
                    PartitionField(name=str(f["name"]), type=PartitionType(f["type"]))
                    for f in value["partition"]
                ),
                generator=KeyGenerator(value["generator"]),
                hive_style=bool(value["hive_style"]),
                url_encode=bool(value["url_encode"]),
                scope=KeyScope(value["scope"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(
                "key/bad-rule", f"not a key rule: {error!r}", remedy="Run again with `--fresh`."
            ) from error


def choose_rule(
    record_key: Sequence[str],
    partition: Sequence[PartitionField],
    *,
    layout: SourceLayout,
    scope: KeyScope,
) -> KeyRule:
    """Return the rule for these columns; without key columns, keys are automatic.

    ADR 0007 gives the reason for each generator.

    Raises:
        PlanError: `partition/layout-has-no-columns` if the layout cannot hold the partition
            columns, `partition/layout-needs-columns` if it needs columns and there are none.
    """
    _check_layout(partition, layout)
    hive = layout is SourceLayout.HIVE and bool(partition)
    return KeyRule(
        record_key=tuple(record_key),
        partition=tuple(partition),
        generator=_generator(len(record_key), len(partition)),
        hive_style=hive,
        url_encode=hive,
        scope=scope,
    )


def key_faults(rule: KeyRule, schema: pa.Schema) -> tuple[KeyFault, ...]:
    """Return each reason why `rule` does not fit files of `schema`, in column order.

    A key column may be absent from the files if it is a partition column: its value then comes
    from the folder.
    """
    faults = [fault for name in rule.record_key for fault in _column_faults(name, rule, schema)]
    faults += [fault for field in rule.partition for fault in _partition_faults(field, schema)]
    return tuple(faults)


def _generator(keys: int, partitions: int) -> KeyGenerator:
    if not partitions:
        return KeyGenerator.NON_PARTITIONED
    if keys > 1 or (not keys and partitions > 1):
        return KeyGenerator.COMPLEX
    return KeyGenerator.SIMPLE if partitions == 1 else KeyGenerator.CUSTOM


def _check_layout(partition: Sequence[PartitionField], layout: SourceLayout) -> None:
    """Refuse partition columns without folders for them, and folders without columns."""
    if partition and layout is SourceLayout.NONE:
        raise PlanError(
            "partition/layout-has-no-columns",
            "`layout: none` has no folders to hold the columns of `partition_by`",
            remedy="Set `layout: hive` or `positional`, or remove `partition_by`.",
        )
    if not partition and layout is not SourceLayout.NONE:
        raise PlanError(
            "partition/layout-needs-columns",
            f"`layout: {layout}` needs the columns that its folders represent",
            remedy="Write `partition_by`, or set `layout: none`.",
        )


def _column_faults(name: str, rule: KeyRule, schema: pa.Schema) -> Iterator[KeyFault]:
    """Yield the faults of one key column."""
    fault = _fault_at("key", name)
    if rule.record_key.count(name) > 1:
        yield fault("duplicate-column", "is listed twice in the record key", "List it once.")
    if name in META_COLUMNS:
        yield fault("meta-column", "is one of Hudi's own columns", "Choose a data column.")
    if "." in name:
        yield fault(
            "nested",
            "has a dot in its name, which Apache Hudi reads as a path into a struct",
            "Use a top-level column without a dot.",
        )
        return
    if _UNSAFE_NAME_CHARACTERS & set(name) or name != name.strip():
        yield fault(
            "name-not-safe",
            "has a character in its name that separates parts of Hudi's keys or properties",
            "Rename the column in the source.",
        )
    yield from _presence_faults(name, rule, schema)


def _presence_faults(name: str, rule: KeyRule, schema: pa.Schema) -> Iterator[KeyFault]:
    """Yield the faults in the presence or type of one key column."""
    fault = _fault_at("key", name)
    if name in schema.names:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            yield fault("nested", f"is a {kind}", "Use columns of plain types.")
            return
        reason = unstable_text(kind)
        if reason:
            yield fault(
                "type-has-no-stable-text",
                f"is {kind}: {reason}",
                "Use a string, integer, boolean, date or decimal column.",
            )
    elif name not in {field.name for field in rule.partition}:
        near = get_close_matches(name, schema.names, n=1) or _same_but_case(name, schema)
        remedy = f"Did you mean '{near[0]}'?" if near else f"Columns are {', '.join(schema.names)}."
        yield fault("column-missing", "is in neither the files nor the folders", remedy)


def unstable_text(kind: pa.DataType) -> str:
    """Return why Hudi's writers do not agree on the text of this type; "" if they do."""
    if pa.types.is_decimal(kind):
        return _unstable_decimal(kind)
    if any(check(kind) for check in _STABLE_CHECKS):
        return ""
    for check, reason in _UNSTABLE_REASONS:
        if check(kind):
            return reason
    return "Apache Hudi's writers are not known to agree on its text"


def _unstable_decimal(kind: pa.DataType) -> str:
    """Return why a decimal type is refused; "" if it is not."""
    if 0 <= kind.scale <= _MAX_DECIMAL_SCALE and pa.types.is_decimal128(kind):
        return ""
    return "Spark has no such decimal type, or no room to print its smallest numbers"


_STABLE_CHECKS: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_signed_integer,
    pa.types.is_boolean,
    pa.types.is_date32,
)
_UNSTABLE_REASONS: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_floating, "Java, Spark and Arrow print floating-point numbers differently"),
    (pa.types.is_timestamp, "Hudi writes the raw number or a local time, by writer and release"),
    (pa.types.is_binary, "Hudi writes a Java object's address or description"),
    (pa.types.is_fixed_size_binary, "Hudi writes a Java object's address or description"),
    (pa.types.is_unsigned_integer, "Spark has no unsigned type"),
)


def _partition_faults(field: PartitionField, schema: pa.Schema) -> Iterator[KeyFault]:
    """Yield the faults of a partition column that is also in the files."""
    fault = _fault_at("partition", field.name)
    if _UNSAFE_NAME_CHARACTERS & set(field.name) or "." in field.name:
        yield fault("name-not-safe", "has a character in its name that separates paths", "Rename.")
    if field.name in schema.names:
        kind = schema.field(field.name).type
        if not _FITS[field.type](kind):
            yield fault(
                "type-differs",
                f"is {kind} in the files but declared {field.type}",
                "Declare the type that the files have.",
            )
    elif near := _same_but_case(field.name, schema):
        yield fault(
            "same-but-case",
            f"differs by case only from column '{near[0]}' of the files,"
            " which Spark treats as the same",
            f"Write it as the files do, '{near[0]}', if the folders are named like that; else"
            " rename one of them.",
        )


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


_FITS: Final[dict[PartitionType, Callable[[pa.DataType], bool]]] = {
    PartitionType.STRING: _is_string,
    PartitionType.INT: lambda k: bool(pa.types.is_signed_integer(k)) and k.bit_width <= 32,  # noqa: PLR2004 - bits of an int
    PartitionType.LONG: lambda k: bool(pa.types.is_signed_integer(k)),
    PartitionType.DATE: lambda k: bool(pa.types.is_date32(k)),
    PartitionType.BOOLEAN: lambda k: bool(pa.types.is_boolean(k)),
}


def _same_but_case(name: str, schema: pa.Schema) -> list[str]:
    """Return the columns that differ from `name` by case only."""
    return [column for column in schema.names if column.lower() == name.lower()]


def _fault_at(area: str, column: str) -> Callable[[str, str, str], KeyFault]:
    """Return a constructor of one column's faults: (condition, message, remedy)."""

    def make(condition: str, what: str, remedy: str) -> KeyFault:
        return KeyFault(
            condition=f"{area}/{condition}",
            column=column,
            message=f"column '{column}' {what}",
            remedy=remedy,
        )

    return make


def _text(value: bool) -> str:  # noqa: FBT001 - a value to print
    return "true" if value else "false"
