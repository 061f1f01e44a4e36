"""From a plan to its JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from framework.plan.definition import PLAN_VERSION
from framework.plan.partitions import totals
from framework.plan.stage_text import stage_text
from framework.plan.stages import FullRecords, Recover, stage_name
from framework.plan.text import result_text
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from framework.plan.definition import Adopted, Plan
    from framework.plan.document import (
        AdoptedDocument,
        DriftDocument,
        EstimateDocument,
        ExemptionDocument,
        KeyDocument,
        LoadDocument,
        ModeDocument,
        NoteDocument,
        PartitionDocument,
        PlanDocument,
        ReaderDocument,
        SourceDocument,
        StageDocument,
        TableDocument,
        TotalsDocument,
    )
    from framework.plan.load import LoadPlan
    from framework.plan.partitions import PartitionPlan
    from framework.plan.stages import Stage

__all__ = ["plan_document"]

_MODES = (BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD, BootstrapMode.SKIP)


def plan_document(plan: Plan) -> PlanDocument:
    """Return the plan as JSON-ready values; the same plan gives the same document."""
    return {
        "plan_version": PLAN_VERSION,
        "case": plan.case.value,
        "has_changes": plan.has_changes,
        "result": result_text(plan),
        "spec_hash": plan.target.spec_hash,
        "table": _table(plan),
        "key": _key(plan),
        "source": _source(plan),
        "totals": cast("TotalsDocument", asdict(plan.taken)),
        "modes": [_mode(plan, mode) for mode in _MODES],
        "stages": [_stage(stage) for stage in plan.stages],
        "partitions": [_partition(each) for each in plan.partitions],
        "estimate": _estimate(plan),
        "readers": _readers(plan),
        "exceptions": _exceptions(plan),
        "notes": [cast("NoteDocument", asdict(note)) for note in plan.notes],
        "adopted": None if plan.adopted is None else _adopted(plan.adopted),
        "load": None if plan.load is None else _load(plan.load),
    }


def _table(plan: Plan) -> TableDocument:
    """Return the table."""
    return {
        "name": plan.target.name,
        "location": plan.target.location,
        "type": plan.target.table_type.value,
        "partition_by": {n: kind.value for n, kind in plan.target.partition_types.items()},
        "ordering": list(plan.target.ordering),
        "readers": [name.value for name in plan.target.readers],
    }


def _key(plan: Plan) -> KeyDocument:
    """Return the key rule."""
    rule = plan.target.key_rule
    return {
        "columns": list(rule.record_key),
        "unique_within": rule.scope.value,
        "generator": rule.generator.class_name,
        "properties": rule.properties(),
    }


def _source(plan: Plan) -> SourceDocument | None:
    """Return the source; None where it was not looked at."""
    if plan.inventory is None or plan.source is None:
        return None
    fields = () if plan.schema is None else plan.schema
    return {
        "location": plan.source,
        "files": plan.inventory.files,
        "rows": plan.inventory.rows,
        "bytes": plan.inventory.bytes,
        "inventory_sha256": plan.inventory.sha256,
        "columns": {field.name: str(field.type) for field in fields},
    }


def _mode(plan: Plan, mode: BootstrapMode) -> ModeDocument:
    """Return the partitions of one mode, added up."""
    return cast("ModeDocument", {"mode": mode.value, **asdict(totals(plan.of_mode(mode)))})


def _stage(stage: Stage) -> StageDocument:
    """Return one stage with every member, null where it has none."""
    own: dict[str, Any] = asdict(stage)
    rewritten = stage.bytes_rewritten if isinstance(stage, FullRecords) else None
    return {
        "stage": cast("Any", stage_name(stage)),
        "summary": stage_text(stage),
        "recovery": stage.recovery.value if isinstance(stage, Recover) else None,
        "write_id": own.get("write_id", own.get("resumes")),
        "instant": own.get("instant"),
        "action": own.get("action"),
        "partitions": own.get("partitions"),
        "files": own.get("files", own.get("files_done")),
        "rows": own.get("rows"),
        "bytes_rewritten": rewritten,
        "estimated_bytes_to_write": own.get("bytes_to_write"),
    }


def _partition(each: PartitionPlan) -> PartitionDocument:
    """Return one partition."""
    return {
        "partition": each.partition_path,
        "mode": cast("Any", each.mode.value),
        "rule": each.rule,
        "reason": each.reason,
        "files": each.files,
        "rows": each.rows,
        "bytes": each.bytes,
        "first": each.first,
        "stop": each.stop,
    }


def _estimate(plan: Plan) -> EstimateDocument:
    """Return the estimates; core-seconds to the millisecond."""
    found = plan.estimate
    return {
        "estimated_skeleton_bytes": found.skeleton_bytes,
        "estimated_full_record_bytes": found.full_record_bytes,
        "estimated_index_bytes": found.index_bytes,
        "estimated_commit_bytes": found.commit_bytes,
        "estimated_bytes_to_write": found.bytes_to_write,
        "estimated_core_seconds": round(found.core_seconds, 3),
    }


def _readers(plan: Plan) -> list[ReaderDocument]:
    """Return the verdict on each reader."""
    return [
        {
            "name": verdict.name.value,
            "engine": verdict.engine,
            "version": verdict.version,
            "reads": verdict.reads.value,
            "continues": verdict.continues.value,
            "exceptions": list(verdict.exceptions),
            "note": verdict.note,
        }
        for verdict in plan.readers.verdicts
    ]


def _exceptions(plan: Plan) -> list[ExemptionDocument]:
    """Return the exceptions that apply."""
    return [
        {
            "name": each.name,
            "message": each.message,
            "full_record": each.full_record,
            "readers": list(each.readers),
        }
        for each in plan.readers.exceptions
    ]


def _adopted(adopted: Adopted) -> AdoptedDocument:
    """Return the diff."""
    drift: DriftDocument | None = None
    if adopted.drift is not None:
        own = asdict(adopted.drift)
        drift = cast("DriftDocument", {k: _listed(v) for k, v in own.items()})
    return {
        "instant": adopted.facts.instant,
        "write_id": adopted.facts.write_id,
        "skeletons": adopted.facts.skeletons,
        "full": adopted.facts.full,
        "skipped": list(adopted.facts.skipped),
        "completed_instants": adopted.completed,
        "spec_changed": adopted.spec_changed,
        "drift": drift,
    }


def _load(load: LoadPlan) -> LoadDocument:
    """Return what is loaded; options may hold secrets, so they are left out."""
    request = load.request
    return {
        "operation": load.operation.value,
        "format": None if request is None else request.format,
        "path": None if request is None else request.path,
        "transforms": [] if request is None else [each.name for each in request.transforms],
        "files": load.files,
        "bytes": load.bytes,
        "earlier_files": load.earlier_files,
        "creates_table": load.creates,
        "schema_evolution": load.evolution.value,
        "missing_columns": load.missing.value,
        "target_file_size": load.target_file_size,
        "small_file_limit": load.small_file_limit,
        "partitions": list(load.partitions),
        "run_id": load.run_id,
    }


def _listed(value: object) -> object:
    """Return a tuple as a list; anything else as it is."""
    return list(value) if isinstance(value, tuple) else value
