"""The table that a spec asks for, in terms of the format: the link between `spec` and `hudi`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from framework import vocabulary
from framework.errors import PlanError
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.keygen.rule import KeyRule, PartitionField, choose_rule
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.plan.quality.model import Quality
from framework.plan.quality.of_spec import quality_of
from framework.plan.refusals import Fault, refuse
from framework.plan.rules import ModeRule
from framework.spec.document.positions import Positions
from framework.spec.sections.bootstrap_spec import BootstrapSpec
from framework.spec.sections.fields import compile_pattern
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = ["BOOTSTRAP_INSTANT", "Target", "mode_rules", "target_of"]

_ACTIONS = {
    vocabulary.TableType.COPY_ON_WRITE: "commit",
    vocabulary.TableType.MERGE_ON_READ: "deltacommit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table that the spec asks for; everything a run needs of the spec.

    Attributes:
        name: `[database.]table`, as written.
        location: the table's location, as resolved from the spec.
        table_type: copy on write or merge on read.
        key_rule: how rows get their key and partition path.
        layout: how folders encode the partition, in the source and thus in the table.
        source: the bootstrap path, as resolved from the spec; None without a bootstrap.
        default_mode: mode of a partition that no rule matches.
        bloom: how the bloom filter of each file is chosen.
        ordering: ordering columns; empty if the spec has none.
        readers: readers that must be able to read the table, as listed.
        parallelism: concurrent tasks; None for the engine's choice.
        partitions_per_batch: partitions processed at once; None for all.
        on_duplicate: what happens to a duplicate key.
        quality: all checks of rows.
        positions: positions of the spec's keys; None if not requested.
        spec_hash: hash of the spec's resolved content.
        spec_json: that content as JSON, with `env` and `secret` references as written.
        immutable: fields that an adopted table cannot change, key path to value as text.
    """

    name: str
    location: str
    table_type: vocabulary.TableType
    key_rule: KeyRule
    layout: vocabulary.SourceLayout
    source: str | None
    default_mode: vocabulary.BootstrapMode
    bloom: BloomChoice
    ordering: tuple[str, ...]
    readers: tuple[vocabulary.ReaderName, ...]
    parallelism: int | None
    partitions_per_batch: int | None
    on_duplicate: vocabulary.OnDuplicate
    spec_hash: str
    spec_json: str
    immutable: Mapping[str, str]
    quality: Quality = field(default_factory=Quality)
    positions: Positions | None = field(default=None, repr=False, compare=False)

    @property
    def action(self) -> str:
        """Action of the instants that add files to a table of this type."""
        return _ACTIONS[self.table_type]

    @property
    def partition_types(self) -> Mapping[str, vocabulary.PartitionType]:
        """Declared type of each partition column, in folder order."""
        return {field.name: field.type for field in self.key_rule.partition}


def target_of(spec: PipelineSpec) -> Target:
    """Return the table that `spec` asks for.

    Raises:
        PlanError: no bloom filter has such numbers.
    """
    bootstrap, table = spec.bootstrap, spec.table
    try:
        bloom = _bloom_of(spec)
    except PlanError as error:
        refuse((_fault_of(error, "table.bloom"),), spec.positions)
    return Target(
        name=table.name,
        location=table.location,
        table_type=table.type,
        key_rule=_key_rule(spec),
        layout=_layout(spec),
        source=bootstrap.path if bootstrap else None,
        default_mode=bootstrap.mode if bootstrap else vocabulary.BootstrapMode.METADATA_ONLY,
        bloom=bloom,
        ordering=table.ordering.columns if table.ordering else (),
        readers=table.readers,
        parallelism=bootstrap.parallelism if bootstrap else None,
        partitions_per_batch=bootstrap.partitions_per_batch if bootstrap else None,
        on_duplicate=bootstrap.on_duplicate if bootstrap else vocabulary.OnDuplicate.ABORT,
        spec_hash=spec.content_hash,
        spec_json=json.dumps(spec.stored(), ensure_ascii=False, separators=(",", ":")),
        immutable=_immutable(spec),
        quality=quality_of(spec),
        positions=spec.positions,
    )


def mode_rules(spec: PipelineSpec) -> tuple[ModeRule, ...]:
    """Return the rules of the spec, ready to be evaluated."""
    columns = spec.table.partition_by
    return tuple(
        ModeRule(
            number=number,
            pattern=None if rule.partition is None else compile_pattern(rule.partition),
            comparisons=rule.comparisons(columns),
            mode=rule.mode,
            reason=rule.reason or "",
            may_match_nothing=rule.may_match_nothing,
            having=frozenset(rule.having or ()),
        )
        for number, rule in enumerate(_bootstrap_of(spec).rules)
    )


def _bootstrap_of(spec: PipelineSpec) -> BootstrapSpec:
    if spec.bootstrap is None:
        fault = Fault(
            condition="plan/no-bootstrap",
            key_path="",
            message="the spec does not define how its table is created",
            remedy="Write a section `bootstrap` with the path of the data to adopt.",
        )
        refuse((fault,), spec.positions)
    return spec.bootstrap


def _layout(spec: PipelineSpec) -> vocabulary.SourceLayout:
    """Return the layout of the folders: Hive's for a table without a bootstrap."""
    if spec.bootstrap is not None:
        return spec.bootstrap.layout
    return vocabulary.SourceLayout.HIVE if spec.table.partition_by else vocabulary.SourceLayout.NONE


def _key_rule(spec: PipelineSpec) -> KeyRule:
    """Return the key rule; loading the spec has checked that its columns fit the layout."""
    key = spec.table.record_key
    fields = tuple(PartitionField(name=c.name, type=c.type) for c in spec.table.partition_by)
    return choose_rule(key.columns, fields, layout=_layout(spec), scope=key.unique_within)


def _bloom_of(spec: PipelineSpec) -> BloomChoice:
    """Return the spec's bloom filters in the format's numbers.

    Raises:
        PlanError: `bloom/bad-size` if the largest of them would be too large.
    """
    bloom = spec.table.bloom
    choice = BloomChoice(
        kind=bloom.kind.value,
        expected_keys=bloom.expected_keys or 0,
        fpp=bloom.false_positive_rate,
        max_keys=bloom.max_keys,
    )
    choice.spec(choice.max_keys)
    return choice


def _fault_of(error: PlanError, key_path: str) -> Fault:
    """Return an error of the format as a fault of the key that caused it."""
    return Fault(
        condition=error.condition,
        key_path=key_path,
        message=error.message,
        remedy=error.remedy,
        partition=error.where.partition,
    )


def _immutable(spec: PipelineSpec) -> dict[str, str]:
    """Return the fields that cannot change once the table exists, as text to show and compare."""
    table = spec.table
    found = {
        "table.name": table.name,
        "table.type": str(table.type),
        "table.partition_by": ", ".join(f"{c.name}: {c.type}" for c in table.partition_by)
        or "none",
        "table.record_key.columns": ", ".join(table.record_key.columns) or "none: automatic",
        "table.record_key.unique_within": str(table.record_key.unique_within),
    }
    return found if spec.bootstrap is None else found | _immutable_bootstrap(spec.bootstrap)


def _immutable_bootstrap(bootstrap: BootstrapSpec) -> dict[str, str]:
    """Return the immutable fields of the section `bootstrap`."""
    rules = [
        {"partition": r.partition, "where": dict(r.where or {}), "mode": str(r.mode)}
        for r in bootstrap.rules
    ]
    return {
        "bootstrap.path": bootstrap.path.removeprefix("file://"),
        "bootstrap.layout": str(bootstrap.layout),
        "bootstrap.mode": str(bootstrap.mode),
        "bootstrap.rules": json.dumps(rules, sort_keys=True, ensure_ascii=False),
    }
