"""The sections `source` and `write`: what each later run loads, and how it writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictStr,
    ValidationInfo,
    WithJsonSchema,
)

from framework.spec.sections.fields import PositiveNumber, SpecModel, Text, distinct, fault
from framework.spec.sections.locations import Location
from framework.spec.sections.quantities import Size, size_schema
from framework.spec.sections.timeline_service_spec import SettingValue, revealed
from framework.vocabulary import MissingColumns, SchemaEvolution, WriteOperation

__all__ = [
    "FILE_FORMATS",
    "MIN_TARGET_FILE_SIZE",
    "SMALL_FILE_LIMIT",
    "TARGET_FILE_SIZE",
    "SourceLoad",
    "SourceSpec",
    "WriteSpec",
]

FILE_FORMATS = ("parquet", "csv", "json", "orc")
"""Formats whose source is a folder of files, so that new files can be detected."""

_FORMAT = re.compile(r"[A-Za-z][A-Za-z0-9_.$-]*")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_OPTION = "path"


@unique
class SourceLoad(StrEnum):
    """The part of the source that a run loads.

    `NEW_FILES` are the files that no earlier run has loaded, `ALL` is everything.
    """

    NEW_FILES = "new_files"
    ALL = "all"


def _format(name: str) -> str:
    """Return the name, if it can be the name of a Spark format."""
    lower = name.lower()
    if lower in FILE_FORMATS and lower != name:
        raise fault("unknown-value", f"formats are lower-case: `{lower}`", lower)
    if not _FORMAT.fullmatch(name):
        raise fault("unknown-value", f"`{name[:60]}` is not a valid name of a Spark format")
    return name


def _option_key(key: str) -> str:
    """Return the key, unless a field of the spec already expresses it."""
    if not key.strip():
        raise fault("empty-value", "an option needs a name")
    if key.lower() == _RESERVED_OPTION:
        raise fault("reserved-option", "the location of the data is the field `path`", "path")
    return key


def _ddl(value: object) -> object:
    """Return `{id: BIGINT}` as Spark's `id BIGINT`, in order; text unchanged."""
    if not isinstance(value, Mapping):
        return value
    if not value:
        raise fault("empty-value", "must not be empty")
    for name, kind in value.items():
        if not name.strip():
            raise fault("empty-value", "a column needs a name")
        if not isinstance(kind, str) or not kind.strip():
            message = f"the column `{name}` needs its type as text, such as BIGINT"
            raise fault("wrong-type", message)
    distinct(tuple(value))
    return ", ".join(f"{_quoted_name(name)} {kind.strip()}" for name, kind in value.items())


def _quoted_name(name: str) -> str:
    """Return the column's name as Spark SQL takes it."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _ddl_text(value: str) -> str:
    """Return the text without surrounding space, unless it is empty."""
    if not value.strip():
        raise fault("empty-value", "must not be empty")
    return value.strip()


def _loadable(load: SourceLoad, info: ValidationInfo) -> SourceLoad:
    """Return `load`; for formats that are not a folder of files, `ALL`.

    For those the default changes, as nothing tracks their new rows; an explicit `new_files` is a
    fault that the loader reports.
    """
    return load if info.data.get("format", "parquet") in FILE_FORMATS else SourceLoad.ALL


SourceFormat = Annotated[StrictStr, Field(min_length=1), AfterValidator(_format)]
OptionKey = Annotated[str, AfterValidator(_option_key)]
Load = Annotated[SourceLoad, AfterValidator(_loadable)]
SchemaText = Annotated[
    StrictStr,
    BeforeValidator(_ddl),
    AfterValidator(_ddl_text),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"type": "string", "minLength": 1},
                },
            ]
        }
    ),
]


class SourceSpec(SpecModel):
    """What each later run loads: rows that Spark reads from a location."""

    format: SourceFormat = Field(
        default="parquet",
        description="`parquet`, `csv`, `json`, `orc`, or any other format that Spark knows.",
    )
    path: Location | None = Field(
        default=None,
        description="The location of the data; required for parquet, csv, json and orc. A relative "
        "one starts at the spec file's folder.",
        examples=["lake/landing"],
    )
    options: Mapping[OptionKey, SettingValue] = Field(
        default={}, description="Options for Spark's reader, as text; secrets are allowed."
    )
    schema_text: SchemaText | None = Field(
        default=None,
        alias="schema",
        description="Spark DDL of the columns, or an ordered mapping of column to type.",
        examples=["id BIGINT, ts TIMESTAMP"],
    )
    load: Load = Field(
        default=SourceLoad.NEW_FILES,
        validate_default=True,
        description="`new_files`, those that no earlier run has loaded, or `all`, the only "
        "choice for formats other than parquet, csv, json and orc.",
    )

    def revealed_options(self) -> dict[str, str]:
        """Return the options with secrets put in, for Spark's reader: never log or store them.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return revealed(self.options)


# Hudi's own defaults: hoodie.parquet.max.file.size and hoodie.parquet.small.file.limit.
TARGET_FILE_SIZE = 120 * 2**20
SMALL_FILE_LIMIT = 100 * 2**20

MIN_TARGET_FILE_SIZE = 2**20
"""A smaller target would make too many files to list."""


def _small_enough(limit: int, info: ValidationInfo) -> int:
    """Return the limit, at most the target.

    This lowers the default for a small target; an explicit greater limit is reported as a fault.
    """
    target = info.data.get("target_file_size", TARGET_FILE_SIZE)
    return min(limit, target) if isinstance(target, int) else limit


def _partition(pattern: str) -> str:
    """Return the path or glob, if it can be below the table."""
    steps = pattern.strip("/").split("/")
    if not all(step.strip() for step in steps) or {".", ".."} & set(steps):
        message = f"`{pattern[:60]}` is not a partition path such as `month=1`, nor a glob"
        raise fault("bad-partition", message)
    return pattern


TargetSize = Annotated[
    Size, Field(ge=MIN_TARGET_FILE_SIZE), WithJsonSchema(size_schema(MIN_TARGET_FILE_SIZE))
]
SmallSize = Annotated[Size, AfterValidator(_small_enough)]
PartitionPattern = Annotated[Text, AfterValidator(_partition)]


class WriteSpec(SpecModel):
    """How later runs write. Sizes are in bytes."""

    operation: WriteOperation = Field(
        description="How the rows of the source are written.", examples=["upsert"]
    )
    parallelism: PositiveNumber | None = Field(
        default=None, description="Concurrent tasks; by default one per core of the engine."
    )
    target_file_size: TargetSize = Field(
        default=TARGET_FILE_SIZE,
        description="Target size of base files: bytes, or text with KB, MB or GB.",
    )
    small_file_limit: SmallSize = Field(
        default=SMALL_FILE_LIMIT,
        validate_default=True,
        description="Base files below this size are filled before new ones start; 0 fills none.",
    )
    schema_evolution: SchemaEvolution = Field(
        default=SchemaEvolution.FREEZE,
        description="How far the table's schema follows that of written rows.",
    )
    missing_columns: MissingColumns = Field(
        default=MissingColumns.REFUSE,
        description="How to treat a column of the table that a source file lacks.",
    )
    partitions: tuple[PartitionPattern, ...] = Field(
        default=(),
        description="With delete_partition: paths of partitions, or globs.",
        examples=["['month=1']"],
    )
