"""A whole spec: the document as written, and the checked value that the other rooms see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from framework.spec.bootstrap_spec import BootstrapSpec, RuleSpec
from framework.spec.fields import SpecModel, WholeNumber, fault
from framework.spec.secret import Secret
from framework.spec.spark_spec import SparkSpec
from framework.spec.table_spec import (
    BloomSpecModel,
    OrderingSpec,
    PartitionColumn,
    RecordKeySpec,
    TableSpec,
)

if TYPE_CHECKING:
    from pathlib import Path

    from framework.errors import Finding
    from framework.spec.positions import Positions

__all__ = ["MODELS", "SPEC_VERSION", "PipelineDocument", "PipelineSpec", "SpecVersion"]

SPEC_VERSION = 1
"""The only version of the spec language so far."""


def _version(number: int) -> int:
    """The version, if it is one that this release reads."""
    if number != SPEC_VERSION:
        raise fault("unsupported-version", "this release reads version 1", str(SPEC_VERSION))
    return number


SpecVersion = Annotated[
    WholeNumber, AfterValidator(_version), WithJsonSchema({"const": SPEC_VERSION})
]


class PipelineDocument(SpecModel):
    """One table, as a `*.pipeline.yml` file declares it."""

    version: SpecVersion = Field(
        description="The version of the spec language.", examples=[SPEC_VERSION]
    )
    table: TableSpec = Field(description="What the table is.")
    bootstrap: BootstrapSpec | None = Field(default=None, description="How the table begins.")
    spark: SparkSpec | None = Field(
        default=None, description="The Spark session that a run starts where there is none."
    )


MODELS: Mapping[str, type[SpecModel]] = {
    "": PipelineDocument,
    "table": TableSpec,
    "table.record_key": RecordKeySpec,
    "table.ordering": OrderingSpec,
    "table.bloom": BloomSpecModel,
    "bootstrap": BootstrapSpec,
    "bootstrap.rules[]": RuleSpec,
    "spark": SparkSpec,
}
"""The model of each mapping with fixed fields, by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSpec:
    """A spec without faults.

    Attributes:
        table: what the table is.
        bootstrap: how it begins, or None where the spec does not say.
        spark: the session to start, or None for the defaults.
        source_path: the file that it was read from, as the user typed it.
        positions: where each key path stands, for errors that are found later.
        warnings: findings that do not stop a run, sorted.
        written: the document as it may be stored: variables put in, `${env.X}` and
            `${secret.x}` as written, without defaults.
    """

    table: TableSpec
    bootstrap: BootstrapSpec | None = None
    spark: SparkSpec | None = None
    source_path: Path
    positions: Positions = field(repr=False, compare=False)
    warnings: tuple[Finding, ...] = ()
    written: Mapping[str, object] = field(default_factory=dict, repr=False)

    def stored(self) -> dict[str, object]:
        """The spec with its defaults as JSON-ready data that holds no secret.

        It can be written as YAML and loaded again.
        """
        document = {
            "version": SPEC_VERSION,
            "table": _plain(self.table),
            **({"bootstrap": _plain(self.bootstrap)} if self.bootstrap else {}),
            **({"spark": _plain(self.spark)} if self.spark else {}),
        }
        merged = _overlaid(document, self.written)
        if not isinstance(merged, dict):
            raise TypeError("a document is a mapping")
        return merged

    @property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what decides the table's content.

        Spelling, order of fields, comments and defaults written out do not change it, nor do
        the section `spark` and the list of readers; the order of partition columns does.
        """
        content = {name: section for name, section in self.stored().items() if name != "spark"}
        table = content["table"]
        if isinstance(table, Mapping):
            content["table"] = {n: value for n, value in table.items() if n != "readers"}
        columns = [[column.name, column.type.value] for column in self.table.partition_by]
        text = json.dumps([content, columns], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """A model's values in the spelling of the spec; fields that are None are left out."""
    if isinstance(value, SpecModel):
        fields = ((name, getattr(value, name)) for name in type(value).model_fields)
        return {
            name: _column_types(inner) if name == "partition_by" else _plain(inner)
            for name, inner in fields
            if inner is not None
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Secret):
        return value.written
    return str(value) if isinstance(value, str) else value


def _column_types(columns: tuple[PartitionColumn, ...]) -> dict[str, str]:
    """Partition columns as the mapping that a spec writes."""
    return {column.name: column.type.value for column in columns}


def _overlaid(default: object, written: object) -> object:
    """The default with what was written put over it, mapping by mapping and item by item.

    Text from the command line in a field of numbers is left to the field's own value.
    """
    if isinstance(default, dict) and isinstance(written, Mapping):
        names = dict.fromkeys((*default, *written))
        return {
            name: _overlaid(default.get(name), written.get(name))
            for name in names
            if name in default or written[name] is not None
        }
    if isinstance(default, list) and isinstance(written, list) and len(default) == len(written):
        return [_overlaid(*pair) for pair in zip(default, written, strict=True)]
    untyped = isinstance(written, str) and isinstance(default, int | float) and "${" not in written
    return default if written is None or untyped else written
