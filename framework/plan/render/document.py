"""The plan's JSON: typed values that define the document and its JSON Schema.

Members are only added while `plan_version` stays the same; that includes `Totals`, `PlanNote` and
`SourceDrift`, which the document embeds. Sizes are bytes; names of estimates start with
`estimated_`. A member that does not apply is null, never absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from framework import vocabulary
from framework.plan.catalogs.target import CatalogTarget
from framework.plan.definition import PLAN_VERSION, Adopted, Case, Plan, PlanNote
from framework.plan.load import LoadPlan
from framework.plan.observation import SourceDrift
from framework.plan.partitions import PartitionPlan, Totals, totals
from framework.plan.readers.versions import Ability
from framework.plan.render.json_values import json_schema
from framework.plan.render.stage_document import StageDocument, stage_document
from framework.plan.render.text import result_text
from framework.plan.services.maintenance import Maintenance

__all__ = ["PlanDocument", "plan_document", "plan_schema"]

_PlannedMode = Literal[
    vocabulary.BootstrapMode.METADATA_ONLY,
    vocabulary.BootstrapMode.FULL_RECORD,
    vocabulary.BootstrapMode.SKIP,
]
_MODES: Final[tuple[_PlannedMode, ...]] = (
    vocabulary.BootstrapMode.METADATA_ONLY,
    vocabulary.BootstrapMode.FULL_RECORD,
    vocabulary.BootstrapMode.SKIP,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDocument:
    """The table that the spec asks for; `readers` names those that must be able to read it."""

    name: str
    location: str
    type: vocabulary.TableType
    partition_by: dict[str, str]
    ordering: tuple[str, ...]
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDocument:
    """The key rule; `properties` are the entries of `hoodie.properties` that fix it."""

    columns: tuple[str, ...]
    unique_within: vocabulary.KeyScope
    generator: str
    properties: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDocument:
    """The observed source; `inventory_sha256` changes when any file does."""

    location: str
    files: int
    rows: int
    bytes: int
    inventory_sha256: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeDocument:
    """The totals of the partitions of one mode."""

    mode: _PlannedMode
    partitions: int
    files: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDocument:
    """One partition; its files have the inventory numbers from `first` to before `stop`."""

    partition: str
    mode: _PlannedMode
    rule: int | None
    reason: str
    files: int
    rows: int
    bytes: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateDocument:
    """What the run writes and costs; all estimated."""

    estimated_skeleton_bytes: int
    estimated_full_record_bytes: int
    estimated_index_bytes: int
    estimated_commit_bytes: int
    estimated_bytes_to_write: int
    estimated_core_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderDocument:
    """What one reader can do with the table; `exceptions` are names."""

    name: str
    engine: str
    version: str
    reads: Ability
    continues: Ability
    exceptions: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExemptionDocument:
    """One exception that applies, and what `full_record` would change."""

    name: str
    message: str
    full_record: str
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedDocument:
    """The diff against a table that exists."""

    instant: str
    write_id: str
    skeletons: int
    full: int
    skipped: tuple[str, ...]
    completed_instants: int
    spec_changed: bool
    drift: SourceDrift | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDocument:
    """What is loaded; `transforms` are names, sizes of new files are targets."""

    operation: vocabulary.WriteOperation
    format: str | None
    path: str | None
    transforms: tuple[str, ...]
    files: int
    bytes: int
    earlier_files: int
    creates_table: bool
    schema_evolution: vocabulary.SchemaEvolution
    missing_columns: vocabulary.MissingColumns
    target_file_size: int
    small_file_limit: int
    partitions: tuple[str, ...]
    run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """What will happen to one table."""

    plan_version: Literal[1]
    case: Case
    has_changes: bool
    result: str
    spec_hash: str
    table: TableDocument
    key: KeyDocument
    source: SourceDocument | None
    totals: Totals
    modes: tuple[ModeDocument, ...]
    stages: tuple[StageDocument, ...]
    partitions: tuple[PartitionDocument, ...]
    estimate: EstimateDocument
    readers: tuple[ReaderDocument, ...]
    exceptions: tuple[ExemptionDocument, ...]
    notes: tuple[PlanNote, ...]
    adopted: AdoptedDocument | None
    load: LoadDocument | None
    maintenance: Maintenance | None
    catalog: CatalogTarget | None


def plan_schema() -> dict[str, object]:
    """Return the JSON Schema of a plan, the content of `schemas/plan.schema.json`."""
    return json_schema(PlanDocument, title="Plan of run-pipeline")


def plan_document(plan: Plan) -> PlanDocument:
    """Return the plan as a document; the same plan gives the same document."""
    return PlanDocument(
        plan_version=PLAN_VERSION,
        case=plan.case,
        has_changes=plan.has_changes,
        result=result_text(plan),
        spec_hash=plan.target.spec_hash,
        table=_table(plan),
        key=_key(plan),
        source=_source(plan),
        totals=plan.taken,
        modes=tuple(_mode(plan, mode) for mode in _MODES),
        stages=tuple(stage_document(stage) for stage in plan.stages),
        partitions=tuple(_partition(each) for each in plan.partitions),
        estimate=_estimate(plan),
        readers=_readers(plan),
        exceptions=_exceptions(plan),
        notes=plan.notes,
        adopted=None if plan.adopted is None else _adopted(plan.adopted),
        load=None if plan.load is None else _load(plan.load),
        maintenance=plan.maintenance,
        catalog=plan.catalog,
    )


def _table(plan: Plan) -> TableDocument:
    return TableDocument(
        name=plan.target.name,
        location=plan.target.location,
        type=plan.target.table_type,
        partition_by={name: kind.value for name, kind in plan.target.partition_types.items()},
        ordering=tuple(plan.target.ordering),
        readers=tuple(name.value for name in plan.target.readers),
    )


def _key(plan: Plan) -> KeyDocument:
    rule = plan.target.key_rule
    return KeyDocument(
        columns=tuple(rule.record_key),
        unique_within=rule.scope,
        generator=rule.generator.class_name,
        properties=rule.properties(),
    )


def _source(plan: Plan) -> SourceDocument | None:
    """Return the source; None if it was not observed."""
    if plan.inventory is None or plan.source is None:
        return None
    fields = () if plan.schema is None else plan.schema
    return SourceDocument(
        location=plan.source,
        files=plan.inventory.files,
        rows=plan.inventory.rows,
        bytes=plan.inventory.bytes,
        inventory_sha256=plan.inventory.sha256,
        columns={field.name: str(field.type) for field in fields},
    )


def _mode(plan: Plan, mode: _PlannedMode) -> ModeDocument:
    found = totals(plan.of_mode(mode))
    return ModeDocument(
        mode=mode,
        partitions=found.partitions,
        files=found.files,
        rows=found.rows,
        bytes=found.bytes,
    )


def _partition(each: PartitionPlan) -> PartitionDocument:
    if each.mode is vocabulary.BootstrapMode.FAIL:
        raise ValueError("a plan that was built has no partition of mode `fail`")
    return PartitionDocument(
        partition=each.partition_path,
        mode=each.mode,
        rule=each.rule,
        reason=each.reason,
        files=each.files,
        rows=each.rows,
        bytes=each.bytes,
        first=each.first,
        stop=each.stop,
    )


def _estimate(plan: Plan) -> EstimateDocument:
    """Return the estimates; core-seconds to the millisecond."""
    found = plan.estimate
    return EstimateDocument(
        estimated_skeleton_bytes=found.skeleton_bytes,
        estimated_full_record_bytes=found.full_record_bytes,
        estimated_index_bytes=found.index_bytes,
        estimated_commit_bytes=found.commit_bytes,
        estimated_bytes_to_write=found.bytes_to_write,
        estimated_core_seconds=round(found.core_seconds, 3),
    )


def _readers(plan: Plan) -> tuple[ReaderDocument, ...]:
    return tuple(
        ReaderDocument(
            name=verdict.name.value,
            engine=verdict.engine,
            version=verdict.version,
            reads=verdict.reads,
            continues=verdict.continues,
            exceptions=verdict.exceptions,
            note=verdict.note,
        )
        for verdict in plan.readers.verdicts
    )


def _exceptions(plan: Plan) -> tuple[ExemptionDocument, ...]:
    return tuple(
        ExemptionDocument(
            name=each.name,
            message=each.message,
            full_record=each.full_record,
            readers=each.readers,
        )
        for each in plan.readers.exceptions
    )


def _adopted(adopted: Adopted) -> AdoptedDocument:
    return AdoptedDocument(
        instant=adopted.facts.instant,
        write_id=adopted.facts.write_id,
        skeletons=adopted.facts.skeletons,
        full=adopted.facts.full,
        skipped=adopted.facts.skipped,
        completed_instants=adopted.completed,
        spec_changed=adopted.spec_changed,
        drift=adopted.drift,
    )


def _load(load: LoadPlan) -> LoadDocument:
    """Return what is loaded, without options, which may hold secrets."""
    request = load.request
    return LoadDocument(
        operation=load.operation,
        format=None if request is None else request.format,
        path=None if request is None else request.path,
        transforms=() if request is None else tuple(each.name for each in request.transforms),
        files=load.files,
        bytes=load.bytes,
        earlier_files=load.earlier_files,
        creates_table=load.creates,
        schema_evolution=load.evolution,
        missing_columns=load.missing,
        target_file_size=load.target_file_size,
        small_file_limit=load.small_file_limit,
        partitions=load.partitions,
        run_id=load.run_id,
    )
