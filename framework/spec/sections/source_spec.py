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
from framework.spec.sections.sizes import Size, size_schema
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
"""Formats whose source is a folder of files, so that new files are known from loaded ones."""

_FORMAT = re.compile(r"[A-Za-z][A-Za-z0-9_.$-]*")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_OPTION = "path"


@unique
class SourceLoad(StrEnum):
    """Which part of the source a run loads.

    `NEW_FILES` are the files that no earlier run has loaded, `ALL` is whatever is there.
    """

    NEW_FILES = "new_files"
    ALL = "all"


def _format(name: str) -> str:
    """The name, if Spark could know a format by it."""
    lower = name.lower()
    if lower in FILE_FORMATS and lower != name:
        raise fault("unknown-value", f"formats are in small letters: `{lower}`", lower)
    if not _FORMAT.fullmatch(name):
        raise fault("unknown-value", f"`{name[:60]}` cannot be the name of a Spark format")
    return name


def _option_key(key: str) -> str:
    """The key, unless it says what a field of the spec says."""
    if not key.strip():
        raise fault("empty-value", "an option needs a name")
    if key.lower() == _RESERVED_OPTION:
        raise fault("reserved-option", "the place of the data is the field `path`", "path")
    return key


def _ddl(value: object) -> object:
    """`{id: BIGINT}` as Spark's `id BIGINT`, in order; text as it is."""
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
    """The column's name as Spark SQL takes it."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _ddl_text(value: str) -> str:
    """The text without the space around it, if there is any."""
    if not value.strip():
        raise fault("empty-value", "must not be empty")
    return value.strip()


def _loadable(load: SourceLoad, info: ValidationInfo) -> SourceLoad:
    """The same; of what is no folder of files, everything, as there nothing says what is new.

    That turns the default round; where `new_files` is written, the loader has a fault for it.
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
    """What each later run loads: rows that Spark reads from a place."""

    format: SourceFormat = Field(
        default="parquet",
        description="`parquet`, `csv`, `json`, `orc`, or any other format that Spark knows.",
    )
    path: Location | None = Field(
        default=None,
        description="The place of the data; must for parquet, csv, json and orc. A relative one "
        "starts at the spec file's folder.",
        examples=["lake/landing"],
    )
    options: Mapping[OptionKey, SettingValue] = Field(
        default={}, description="Options for Spark's reader, as text; a secret may stand here."
    )
    schema_text: SchemaText | None = Field(
        default=None,
        alias="schema",
        description="Spark's DDL of the columns, or a mapping of column to type in order.",
        examples=["id BIGINT, ts TIMESTAMP"],
    )
    load: Load = Field(
        default=SourceLoad.NEW_FILES,
        validate_default=True,
        description="`new_files` that no earlier run has loaded, or `all`, which is the only "
        "choice for formats other than parquet, csv, json and orc.",
    )

    def revealed_options(self) -> dict[str, str]:
        """The options with secrets put in, for Spark's reader alone: never log or store them.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return revealed(self.options)


# Hudi's own defaults: hoodie.parquet.max.file.size and hoodie.parquet.small.file.limit.
TARGET_FILE_SIZE = 120 * 2**20
SMALL_FILE_LIMIT = 100 * 2**20

MIN_TARGET_FILE_SIZE = 2**20
"""A smaller target would make more files than anybody can list."""


def _small_enough(limit: int, info: ValidationInfo) -> int:
    """The limit, but no more than the target.

    That lowers the default beside a small target; a greater limit that is written has a fault.
    """
    target = info.data.get("target_file_size", TARGET_FILE_SIZE)
    return min(limit, target) if isinstance(target, int) else limit


def _partition(pattern: str) -> str:
    """The path or glob, if it can lie below the table."""
    steps = pattern.strip("/").split("/")
    if not all(step.strip() for step in steps) or {".", ".."} & set(steps):
        message = f"`{pattern[:60]}` is no partition path, such as `month=1`, and no glob of one"
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
        description="What happens with the rows of the source.", examples=["upsert"]
    )
    parallelism: PositiveNumber | None = Field(
        default=None, description="Tasks at once; left out, what the engine has cores for."
    )
    target_file_size: TargetSize = Field(
        default=TARGET_FILE_SIZE,
        description="Size that base files grow to: bytes, or text with KB, MB or GB.",
    )
    small_file_limit: SmallSize = Field(
        default=SMALL_FILE_LIMIT,
        validate_default=True,
        description="Base files below this size are filled before new ones open; 0 fills none.",
    )
    schema_evolution: SchemaEvolution = Field(
        default=SchemaEvolution.FREEZE,
        description="How far the table's schema follows that of what is written.",
    )
    missing_columns: MissingColumns = Field(
        default=MissingColumns.REFUSE,
        description="What a column of the table means that a file of the source lacks.",
    )
    partitions: tuple[PartitionPattern, ...] = Field(
        default=(),
        description="With delete_partition: paths of partitions, or globs of them.",
        examples=["['month=1']"],
    )
