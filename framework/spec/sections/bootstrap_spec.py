"""The section `bootstrap`: how the table is created from existing files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StrictStr, WithJsonSchema

from framework.spec.document.scalars import scalar_text
from framework.spec.sections import fields
from framework.spec.sections.comparisons import Comparison, parse_comparisons
from framework.spec.sections.locations import Location
from framework.spec.sections.table_spec import PartitionColumn
from framework.vocabulary import BootstrapMode, OnDuplicate, SourceLayout, SourceTrait

__all__ = ["MAX_PATTERN", "BootstrapSpec", "RuleSpec"]

MAX_PATTERN = 200
"""Maximum length of a rule's pattern, in characters."""


def _pattern(text: str) -> str:
    """Return the regular expression, if RE2 accepts it."""
    if len(text) > MAX_PATTERN:
        raise fields.fault("bad-pattern", f"the pattern is longer than {MAX_PATTERN} characters")
    try:
        fields.compile_pattern(text)
    except fields.PatternError as error:
        message = f"not a valid RE2 regular expression: {error}"
        raise fields.fault("bad-pattern", message) from error
    return text


def _comparison_text(value: object) -> object:
    """Return a bare number or boolean as the text that was written."""
    return scalar_text(value) if isinstance(value, int | float) else value


Pattern = Annotated[fields.Text, AfterValidator(_pattern)]
ComparisonText = Annotated[
    StrictStr,
    BeforeValidator(_comparison_text),
    WithJsonSchema({"type": ["string", "integer", "boolean"]}),
]


class RuleSpec(fields.SpecModel):
    """A bootstrap mode for some partitions; all its conditions must hold."""

    partition: Pattern | None = Field(
        default=None,
        description="Regular expression over the whole partition path, anchored at both ends.",
    )
    where: Annotated[Mapping[fields.ColumnName, ComparisonText], Field(min_length=1)] | None = (
        Field(
            default=None,
            description="Partition column to condition, as in {order_date: '>= 2026-10-01'}.",
        )
    )
    having: Annotated[tuple[SourceTrait, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Properties of source files; a file of the partition must have one of them.",
        examples=[["brotli", "byte_stream_split"]],
    )
    mode: BootstrapMode = Field(
        description="The mode of these partitions.", examples=["full_record"]
    )
    reason: fields.Text | None = Field(default=None, description="The reason, shown in the plan.")
    may_match_nothing: fields.Flag = Field(
        default=False, description="Whether the rule may match no partition without an error."
    )

    def comparisons(self, columns: Sequence[PartitionColumn]) -> tuple[Comparison, ...]:
        """Return the typed conditions of `where`, all of which must hold; empty without `where`.

        `columns` are the table's partition columns.
        """
        kinds = {column.name: column.type for column in columns}
        return tuple(
            comparison
            for name, text in (self.where or {}).items()
            for comparison in parse_comparisons(name, text, kinds[name])
        )


class BootstrapSpec(fields.SpecModel):
    """How the table is created: from Parquet files that stay in place."""

    path: Location = Field(
        description="The folder of Parquet files; a relative one starts at the spec file's folder.",
        examples=["lake/raw/table"],
    )
    layout: SourceLayout = Field(
        description="How folders name their partition: as `month=1`, as `1`, or not at all.",
        examples=["hive"],
    )
    mode: BootstrapMode = Field(
        default=BootstrapMode.METADATA_ONLY,
        description="The mode of partitions that no rule matches.",
    )
    rules: tuple[RuleSpec, ...] = Field(
        default=(), description="Modes for some partitions, in order; the first match wins."
    )
    parallelism: fields.PositiveNumber | None = Field(
        default=None, description="Concurrent tasks; by default one per core of the engine."
    )
    partitions_per_batch: fields.PositiveNumber | None = Field(
        default=None, description="Partitions processed at once; by default all."
    )
    on_duplicate: OnDuplicate = Field(
        default=OnDuplicate.ABORT, description="What happens when a record key occurs twice."
    )
    allow_empty: fields.Flag = Field(
        default=False, description="Whether a source without rows may become a table."
    )
