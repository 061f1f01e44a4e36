"""A whole spec: the document as written, and the checked value that the other rooms see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from framework.spec.bootstrap_spec import BootstrapSpec, RuleSpec
from framework.spec.fields import SpecModel, WholeNumber, fault, written_fields
from framework.spec.secret import Secret
from framework.spec.source_spec import SourceSpec
from framework.spec.spark_spec import SparkSpec
from framework.spec.table_spec import (
    AUTO,
    COMMIT_TIME,
    BloomSpecModel,
    OrderingSpec,
    PartitionColumn,
    RecordKeySpec,
    TableSpec,
)
from framework.spec.transform_spec import TransformFields, Transforms
from framework.spec.write_spec import WriteSpec

if TYPE_CHECKING:
    from pathlib import Path

    from framework.errors import Finding
    from framework.spec.positions import Positions
    from framework.spec.transform_spec import TransformSpec

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
    source: SourceSpec | None = Field(default=None, description="What each later run loads.")
    transforms: Transforms = Field(
        default=(),
        description="SQL between source and table, in order; the rows of the last one are loaded.",
    )
    write: WriteSpec | None = Field(default=None, description="How later runs write.")
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
    "source": SourceSpec,
    "transforms[]": TransformFields,
    "write": WriteSpec,
    "spark": SparkSpec,
}
"""The model of each mapping with fixed fields, by its path."""

_SECTIONS = ("table", "bootstrap", "source", "write", "spark")
_NOT_CONTENT = {
    "table": ("readers",),
    "source": ("schema",),  # it is hashed as text, since a mapping would be without its order
    "write": ("parallelism", "target_file_size", "small_file_limit"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSpec:
    """A spec without faults.

    Attributes:
        table: what the table is.
        bootstrap: how it begins, or None where the spec does not say.
        source: what each later run loads, or None where it loads nothing.
        transforms: the views between source and table, in order; the rows of the last one are
            loaded, without any those of the source.
        write: how later runs write; None exactly where they do not. It stands without a source
            where the operation is `delete_partition`.
        spark: the session to start, or None for the defaults.
        source_path: the file that it was read from, as the user typed it.
        positions: where each key path stands, for errors that are found later.
        warnings: findings that do not stop a run, sorted.
        written: the document as it may be stored: variables put in, `${env.X}` and
            `${secret.x}` as written, without defaults.
    """

    table: TableSpec
    bootstrap: BootstrapSpec | None = None
    source: SourceSpec | None = None
    transforms: tuple[TransformSpec, ...] = ()
    write: WriteSpec | None = None
    spark: SparkSpec | None = None
    source_path: Path
    positions: Positions = field(repr=False, compare=False)
    warnings: tuple[Finding, ...] = ()
    written: Mapping[str, object] = field(default_factory=dict, repr=False)

    def stored(self) -> dict[str, object]:
        """The spec with its defaults as JSON-ready data that holds no secret.

        It can be written as YAML and loaded again; a file of SQL is not needed for that, a
        variable only where SQL reads one that is built from the environment.
        """
        sections = {name: getattr(self, name) for name in _SECTIONS if getattr(self, name)}
        document = {
            "version": SPEC_VERSION,
            **{name: _plain(section) for name, section in sections.items()},
        }
        written = {name: value for name, value in self.written.items() if name != "transforms"}
        merged = _overlaid(document, written)
        if not isinstance(merged, dict):
            raise TypeError("a document is a mapping")
        if self.transforms:
            merged["transforms"] = [{"name": t.name, "sql": t.stored} for t in self.transforms]
        return merged

    @property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what decides the table's content.

        Spelling, order of fields, comments and defaults written out do not change it, nor do
        the section `spark`, the list of readers, and what only decides into how many files and by
        how many tasks is written; the order of partition columns does, and so does the finished
        SQL of each transform, whatever file, variable or part of the environment it comes from.
        """
        content = {name: section for name, section in self.stored().items() if name != "spark"}
        for section, fields in _NOT_CONTENT.items():
            inner = content.get(section)
            if isinstance(inner, Mapping):
                content[section] = {n: value for n, value in inner.items() if n not in fields}
        columns: list[object] = [[c.name, c.type.value] for c in self.table.partition_by]
        if self.source is not None:
            columns.append([self.source.schema_text])
        if self.transforms:
            content["transforms"] = [[t.name, t.sql] for t in self.transforms]
        text = json.dumps([content, columns], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """A model's values in the spelling of the spec; fields that are None are left out."""
    if isinstance(value, SpecModel):
        return _word_for(value) or _plain_fields(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Secret):
        return value.written
    return str(value) if isinstance(value, str) else value


def _word_for(model: SpecModel) -> str | None:
    """The word that a spec writes for the whole mapping, or None where there is none."""
    if not isinstance(model, RecordKeySpec | OrderingSpec) or model.columns:
        return None
    return AUTO if isinstance(model, RecordKeySpec) else COMMIT_TIME


def _plain_fields(model: SpecModel) -> dict[str, object]:
    """A mapping's fields."""
    names = zip(written_fields(type(model)), type(model).model_fields, strict=True)
    fields = ((written, getattr(model, name)) for written, name in names)
    return {
        name: _column_types(inner) if name == "partition_by" else _plain(inner)
        for name, inner in fields
        if inner is not None
    }


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
