"""The section `write`: how later runs write."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

from framework.spec.sections.fields import PositiveNumber, SpecModel, Text, fault
from framework.spec.sections.sizes import Size, size_schema
from framework.vocabulary import MissingColumns, SchemaEvolution, WriteOperation

__all__ = [
    "MIN_TARGET_FILE_SIZE",
    "SMALL_FILE_LIMIT",
    "TARGET_FILE_SIZE",
    "WriteSpec",
]

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
