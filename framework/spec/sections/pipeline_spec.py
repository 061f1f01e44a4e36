"""A whole spec: the document as written, and the checked value that the other rooms see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from framework.errors import Finding
from framework.spec.document.positions import Positions
from framework.spec.document.secret import Secret
from framework.spec.sections import quality_spec, table_spec
from framework.spec.sections.bootstrap_spec import BootstrapSpec, RuleSpec
from framework.spec.sections.fields import SpecModel, Text, WholeNumber, fault, written_fields
from framework.spec.sections.source_spec import SourceSpec, WriteSpec
from framework.spec.sections.tests_spec import ExpectedSpec, Tests, TestSpec
from framework.spec.sections.timeline_service_spec import (
    SettingValue,
    TimelineServiceSpec,
    revealed,
)
from framework.spec.sections.transform_spec import TransformFields, Transforms, TransformSpec

__all__ = ["MODELS", "SPEC_VERSION", "PipelineDocument", "PipelineSpec", "SparkSpec", "SpecVersion"]

SPEC_VERSION = 1
"""The only version of the spec language so far."""
_SECTIONS = ("table", "bootstrap", "source", "quality", "write", "timeline_service", "spark")
_NO_CONTENT = ("timeline_service", "spark", "quality")
_NOT_CONTENT = {
    "table": ("readers", "columns"),
    "source": ("schema",),  # it is hashed as text, since a mapping would be without its order
    "write": ("parallelism", "target_file_size", "small_file_limit"),
}


def _conf_key(key: str) -> str:
    """The key, if it is one of Spark's."""
    if not key.startswith("spark."):
        raise fault("spark-conf-key", "Spark's settings begin with `spark.`", f"spark.{key}")
    return key


ConfKey = Annotated[str, AfterValidator(_conf_key)]


class SparkSpec(SpecModel):
    """The Spark session that a run starts where there is none."""

    master: Text | None = Field(default=None, description="Spark's master URL; --master beats it.")
    conf: Mapping[ConfKey, SettingValue] = Field(
        default={}, description="Spark settings; a secret may stand here."
    )

    def revealed_conf(self) -> dict[str, str]:
        """The settings with secrets put in, for the session alone: never log or store it.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return revealed(self.conf)


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
    table: table_spec.TableSpec = Field(description="What the table is.")
    bootstrap: BootstrapSpec | None = Field(default=None, description="How the table begins.")
    source: SourceSpec | None = Field(default=None, description="What each later run loads.")
    transforms: Transforms = Field(
        default=(),
        description="SQL between source and table, in order; the rows of the last one are loaded.",
    )
    quality: quality_spec.QualitySpec | None = Field(
        default=None, description="What the gate checks before anything is published."
    )
    write: WriteSpec | None = Field(default=None, description="How later runs write.")
    tests: Tests | None = Field(
        default=None, description="Rows that go in, and what must become of them."
    )
    timeline_service: TimelineServiceSpec | None = Field(
        default=None, description="How tasks learn which files make up the table."
    )
    spark: SparkSpec | None = Field(
        default=None, description="The Spark session that a run starts where there is none."
    )


MODELS: Mapping[str, type[SpecModel]] = {
    "": PipelineDocument,
    "table": table_spec.TableSpec,
    "table.record_key": table_spec.RecordKeySpec,
    "table.ordering": table_spec.OrderingSpec,
    "table.bloom": table_spec.BloomSpecModel,
    "bootstrap": BootstrapSpec,
    "bootstrap.rules[]": RuleSpec,
    "source": SourceSpec,
    "transforms[]": TransformFields,
    "quality": quality_spec.QualitySpec,
    "quality.checks[]": quality_spec.CheckSpec,
    "quality.quarantine": quality_spec.QuarantineSpec,
    "write": WriteSpec,
    "tests[]": TestSpec,
    "tests[].expect": ExpectedSpec,
    "timeline_service": TimelineServiceSpec,
    "spark": SparkSpec,
}
"""The model of each mapping with fixed fields, by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSpec:
    """A spec without faults.

    Attributes:
        table: what the table is.
        bootstrap: how it begins, or None where the spec does not say.
        source: what each later run loads, or None where it loads nothing.
        transforms: the views between source and table, in order; the rows of the last one are
            loaded, without any those of the source.
        quality: the section as it is written, or None; whatever runs is in `checks`.
        checks: those of the profiles that the spec names, then its own, in order.
        write: how later runs write; None exactly where they do not. It stands without a source
            where the operation is `delete_partition`.
        tests: rows that go in, and what must become of them.
        timeline_service: how tasks learn which files make up the table, None for the defaults.
        spark: the session to start, or None for the defaults.
        source_path: the file that it was read from, as the user typed it.
        positions: where each key path stands, for errors that are found later.
        warnings: findings that do not stop a run, sorted.
        written: the document as it may be stored: variables put in, `${env.X}` and
            `${secret.x}` as written, without defaults.
    """

    table: table_spec.TableSpec
    bootstrap: BootstrapSpec | None = None
    source: SourceSpec | None = None
    transforms: tuple[TransformSpec, ...] = ()
    quality: quality_spec.QualitySpec | None = None
    checks: tuple[quality_spec.PlacedCheck, ...] = ()
    write: WriteSpec | None = None
    tests: tuple[TestSpec, ...] = ()
    timeline_service: TimelineServiceSpec | None = None
    spark: SparkSpec | None = None
    source_path: Path
    positions: Positions = field(repr=False, compare=False)
    warnings: tuple[Finding, ...] = ()
    written: Mapping[str, object] = field(default_factory=dict, repr=False)

    def stored(self) -> dict[str, object]:
        """The spec with its defaults as JSON-ready data that holds no secret.

        It can be written as YAML and loaded again; no file of SQL or of columns and no profile is
        needed for that, a variable only where SQL reads one that is built from the environment.
        The section `tests` is left out. Checks and columns come without their defaults, since
        not every field has a meaning beside every other one.
        """
        sections = {name: getattr(self, name) for name in _SECTIONS if getattr(self, name)}
        document = {
            "version": SPEC_VERSION,
            **{name: _plain(section) for name, section in sections.items()},
        }
        written = {
            name: self.written[name] for name in (*sections, "version") if name in self.written
        }
        merged = _overlaid(document, written)
        if not isinstance(merged, dict):
            raise TypeError("a document is a mapping")
        if self.transforms:
            merged["transforms"] = [{"name": t.name, "sql": t.stored} for t in self.transforms]
        if self.checks:
            checks = [_as_written(check.fields, check.written) for check in self.checks]
            quality = {**_mapping(merged.get("quality")), "checks": checks}
            merged["quality"] = {n: value for n, value in quality.items() if n != "profiles"}
        columns = _mapping(_mapping(written.get("table")).get("columns"))
        if self.table.columns:
            merged["table"]["columns"] = {
                name: _as_written(column, _mapping(columns.get(name)))
                for name, column in self.table.columns.items()
            }
        return merged

    @property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what decides the table's content.

        Spelling, order of fields, comments and defaults written out do not change it, nor do
        the section `spark`, the list of readers, and what only decides into how many files and by
        how many tasks is written; the order of partition columns does, and so does the finished
        SQL of each transform, whatever file, variable or part of the environment it comes from.
        Of checks and columns only those count that take rows out before anything is written.
        """
        content = {n: section for n, section in self.stored().items() if n not in _NO_CONTENT}
        for section, fields in _NOT_CONTENT.items():
            inner = content.get(section)
            if isinstance(inner, Mapping):
                content[section] = {n: value for n, value in inner.items() if n not in fields}
        columns: list[object] = [[c.name, c.type.value] for c in self.table.partition_by]
        if self.source is not None:
            columns.append([self.source.schema_text])
        if self.transforms:
            content["transforms"] = [[t.name, t.sql] for t in self.transforms]
        splitting = self._splitting()
        if splitting:
            content["quality"] = splitting
        text = json.dumps([content, columns], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _splitting(self) -> list[object]:
        """What takes rows out, and where they are quarantined; empty where nothing does."""
        found: list[object] = [
            [c.fields.expect, c.fields.where, c.fields.allow_null, c.fields.on_fail.value]
            for c in self.checks
            if c.fields.on_fail in quality_spec.SPLITS
        ]
        for name, column in (self.table.columns or {}).items():
            if column.on_fail in quality_spec.SPLITS and (column.allowed or not column.nullable):
                allowed = list(column.allowed or ())
                found.append([name, column.nullable, allowed, column.type, column.on_fail.value])
        location = self.quality and self.quality.quarantine and self.quality.quarantine.location
        return [*found, location] if found else []


def _mapping(value: object) -> dict[str, object]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def _as_written(model: SpecModel, written: Mapping[str, object]) -> dict[str, object]:
    """The mapping's fields that are written, in the values of the model."""
    plain = _plain_fields(model)
    return {name: _overlaid(plain.get(name), value) for name, value in written.items()}


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
    if not isinstance(model, table_spec.RecordKeySpec | table_spec.OrderingSpec) or model.columns:
        return None
    return (
        table_spec.AUTO if isinstance(model, table_spec.RecordKeySpec) else table_spec.COMMIT_TIME
    )


def _plain_fields(model: SpecModel) -> dict[str, object]:
    """A mapping's fields."""
    names = zip(written_fields(type(model)), type(model).model_fields, strict=True)
    fields = ((written, getattr(model, name)) for written, name in names)
    return {
        name: _column_types(inner) if name == "partition_by" else _plain(inner)
        for name, inner in fields
        if inner is not None
    }


def _column_types(columns: tuple[table_spec.PartitionColumn, ...]) -> dict[str, str]:
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
