"""A whole spec: the document as written, and the checked value that other packages use."""

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
from framework.spec.sections.catalog_spec import CatalogSpec
from framework.spec.sections.fields import SpecModel, Text, WholeNumber, fault, written_fields
from framework.spec.sections.maintenance_spec import (
    ArchiveSpec,
    CleanSpec,
    ClusterSpec,
    CompactSpec,
    MaintenanceSpec,
)
from framework.spec.sections.source_spec import SourceSpec, WriteSpec
from framework.spec.sections.storage_spec import S3StorageSpec, StorageSpec
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
_SECTIONS = (
    *("table", "bootstrap", "source", "quality", "write", "maintenance"),
    *("catalog", "timeline_service", "spark"),
)
_NO_CONTENT = ("maintenance", "catalog", "timeline_service", "spark", "quality")
_NOT_CONTENT = {
    "table": ("readers", "columns"),
    "source": ("schema",),  # hashed as text instead, since a mapping would lose its order
    "write": ("parallelism", "target_file_size", "small_file_limit"),
}


def _conf_key(key: str) -> str:
    """Return the key, if it is a Spark setting."""
    if not key.startswith("spark."):
        raise fault("spark-conf-key", "Spark's settings start with `spark.`", f"spark.{key}")
    return key


ConfKey = Annotated[str, AfterValidator(_conf_key)]


class SparkSpec(SpecModel):
    """The Spark session that a run starts if there is none."""

    master: Text | None = Field(default=None, description="Spark master; --master overrides it.")
    conf: Mapping[ConfKey, SettingValue] = Field(
        default={}, description="Spark settings; secrets are allowed."
    )

    def revealed_conf(self) -> dict[str, str]:
        """Return the settings with secrets put in, for the session alone: never log or store them.

        Raises:
            PlanError: `spec/undefined-secret`.
        """
        return revealed(self.conf)


def _version(number: int) -> int:
    """Return the version, if this release reads it."""
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
    table: table_spec.TableSpec = Field(description="The table.")
    bootstrap: BootstrapSpec | None = Field(default=None, description="How the table is created.")
    source: SourceSpec | None = Field(default=None, description="What each later run loads.")
    transforms: Transforms = Field(
        default=(),
        description="SQL between source and table, in order; the rows of the last one are loaded.",
    )
    quality: quality_spec.QualitySpec | None = Field(
        default=None, description="What the audit gate checks before a run publishes."
    )
    write: WriteSpec | None = Field(default=None, description="How later runs write.")
    maintenance: MaintenanceSpec | None = Field(
        default=None, description="Which table services follow a load."
    )
    catalog: CatalogSpec | None = Field(
        default=None, description="Where the table is registered after each run."
    )
    tests: Tests | None = Field(default=None, description="Input rows and the expected results.")
    timeline_service: TimelineServiceSpec | None = Field(
        default=None, description="How tasks look up the files of the table."
    )
    spark: SparkSpec | None = Field(
        default=None, description="The Spark session that a run starts if there is none."
    )
    storage: StorageSpec | None = Field(
        default=None, description="How object stores are reached; usually in the project file."
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
    "maintenance": MaintenanceSpec,
    "maintenance.compact": CompactSpec,
    "maintenance.clean": CleanSpec,
    "maintenance.archive": ArchiveSpec,
    "maintenance.cluster": ClusterSpec,
    "catalog": CatalogSpec,
    "tests[]": TestSpec,
    "tests[].expect": ExpectedSpec,
    "timeline_service": TimelineServiceSpec,
    "spark": SparkSpec,
    "storage": StorageSpec,
    "storage.s3": S3StorageSpec,
}
"""The model of each mapping with fixed fields, by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSpec:
    """A spec without faults.

    Attributes:
        table: the table.
        bootstrap: how it is created, or None if the spec has no such section.
        source: what each later run loads, or None if it loads nothing.
        transforms: the views between source and table, in order; the rows of the last one are
            loaded, without any those of the source.
        quality: the section as written, or None; the checks that run are in `checks`.
        checks: those of the profiles that the spec names, then its own, in order.
        write: how later runs write; None exactly if they do not. Without a source it exists
            only for the operation `delete_partition`.
        maintenance: which table services follow a load, or None for the defaults.
        catalog: where the table is registered after each run, or None.
        tests: input rows and the expected results.
        timeline_service: how tasks look up the files of the table, None for the defaults.
        spark: the session to start, or None for the defaults.
        storage: how object stores are reached, or None for their own chains; never stored.
        source_path: the path of the spec file, as the user typed it.
        positions: the position of each key path, for errors that are found later.
        warnings: findings that do not stop a run, sorted.
        written: the document in its storable form: variables resolved, `${env.X}` and
            `${secret.x}` as written, without defaults.
    """

    table: table_spec.TableSpec
    bootstrap: BootstrapSpec | None = None
    source: SourceSpec | None = None
    transforms: tuple[TransformSpec, ...] = ()
    quality: quality_spec.QualitySpec | None = None
    checks: tuple[quality_spec.PlacedCheck, ...] = ()
    write: WriteSpec | None = None
    maintenance: MaintenanceSpec | None = None
    catalog: CatalogSpec | None = None
    tests: tuple[TestSpec, ...] = ()
    timeline_service: TimelineServiceSpec | None = None
    spark: SparkSpec | None = None
    storage: StorageSpec | None = None
    source_path: Path
    positions: Positions = field(repr=False, compare=False)
    warnings: tuple[Finding, ...] = ()
    written: Mapping[str, object] = field(default_factory=dict, repr=False)

    def stored(self) -> dict[str, object]:
        """Return the spec with its defaults as JSON-ready data without secrets.

        It can be written as YAML and loaded again. That needs no SQL file, columns file or profile,
        and a variable only where SQL reads one that is built from the environment. The sections
        `tests` and `storage` are excluded. Checks and columns come without their defaults, since
        not all fields are allowed together.
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
        """SHA-256, in hex, of everything that determines the table's content.

        It ignores spelling, order of fields, comments, explicit defaults, the sections
        `maintenance`, `catalog`, `timeline_service`, `spark` and `storage`, the list of readers,
        and settings that only determine the number of files and tasks. It includes the order of
        partition columns and the finished SQL of each transform, whatever file, variable or part
        of the environment it comes from. Of checks and columns it includes only those that remove
        rows before anything is written.
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
        """Return the checks and columns that remove rows, and the quarantine location.

        Empty if no rows are removed.
        """
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
    return value if isinstance(value, dict) else {}


def _as_written(model: SpecModel, written: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of the mapping that are written, with the values of the model."""
    plain = _plain_fields(model)
    return {name: _overlaid(plain.get(name), value) for name, value in written.items()}


def _plain(value: object) -> object:
    """Return a model's values in the spelling of the spec, without fields that are None."""
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
    """Return the word that stands for the whole mapping in a spec, or None."""
    if not isinstance(model, table_spec.RecordKeySpec | table_spec.OrderingSpec) or model.columns:
        return None
    return (
        table_spec.AUTO if isinstance(model, table_spec.RecordKeySpec) else table_spec.COMMIT_TIME
    )


def _plain_fields(model: SpecModel) -> dict[str, object]:
    """Return the fields of a model as data."""
    names = zip(written_fields(type(model)), type(model).model_fields, strict=True)
    fields = ((written, getattr(model, name)) for written, name in names)
    return {
        name: _column_types(inner) if name == "partition_by" else _plain(inner)
        for name, inner in fields
        if inner is not None
    }


def _column_types(columns: tuple[table_spec.PartitionColumn, ...]) -> dict[str, str]:
    """Return partition columns as the mapping that a spec writes."""
    return {column.name: column.type.value for column in columns}


def _overlaid(default: object, written: object) -> object:
    """Return the default overlaid with the written value, per mapping entry and list item.

    In a numeric field, text from the command line does not replace the field's own value.
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
