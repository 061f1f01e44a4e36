"""The plan of a load: rows of a source into an existing or a new table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from framework.hudi.keygen.rule import KeyGenerator
from framework.plan import stages
from framework.plan.adopted import as_warning, immutable_faults
from framework.plan.checks import check_foreign_content, reader_faults, unproven_notes
from framework.plan.definition import Case, Plan, PlanNote
from framework.plan.estimate import Estimate
from framework.plan.load import InputListing, InputRequest, LoadPlan, LoadRequest, Transform
from framework.plan.observation import Observation, TableState
from framework.plan.quality.contract import splitting_faults
from framework.plan.readers.exceptions import Trait
from framework.plan.readers.gate import gate
from framework.plan.refusals import Fault, refuse, refuse_foreign_pending
from framework.plan.release import without_bounds
from framework.plan.services.maintenance import Maintenance, maintenance_of, maintenance_text
from framework.plan.target import Target
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.source_spec import FILE_FORMATS, SourceLoad, SourceSpec, WriteSpec
from framework.vocabulary import MissingColumns, SchemaEvolution, TableType, WriteOperation

__all__ = ["load_request", "load_stages", "plan_load"]

_REPLACES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


def load_request(spec: PipelineSpec, *, run_id: str | None = None) -> LoadRequest | None:
    """Return the load that a spec asks for; None without a section `write`."""
    if spec.write is None:
        return None
    source = spec.source
    return LoadRequest(
        operation=spec.write.operation,
        input=None if source is None else _input(spec, source, spec.write),
        source_id="" if source is None else f"{source.format}:{_path(source) or ''}",
        is_folder=source is not None and source.format in FILE_FORMATS,
        only_new=source is not None and source.load is SourceLoad.NEW_FILES,
        run_id=run_id,
    )


def plan_load(
    spec: PipelineSpec, target: Target, observation: Observation, recover: stages.Recover | None
) -> Plan:
    """Return the plan of a load, after recovering an earlier run if there is one.

    Raises:
        PlanError: every fault of the spec against the table.
        CommitConflictError: `table/foreign-pending`.
        ValueError: the observation has no listing.
    """
    request, listing, table = observation.request, observation.input, observation.table
    if request is None or listing is None:
        raise ValueError("planning a load needs a request and a listing")
    write = spec.write or WriteSpec(operation=request.operation)
    if request.releases is not None:
        target = replace(target, quality=without_bounds(target.quality))
    if spec.bootstrap is None:
        target = _as_the_table_has_it(target, table)
    refuse_foreign_pending(table)
    faults = [
        *_faults(request.operation, target, table),
        *_skipped_faults(request, listing, target, table),
    ]
    if faults:
        refuse(faults, spec.positions)
    load = _load(write, request, listing, creates=not table.exists)
    readers = gate(_traits(target, table, write.schema_evolution))
    shut_out = tuple(reader_faults(target.readers, readers))
    if shut_out and load.creates:
        refuse(shut_out, spec.positions)
    idle = listing.is_done or (listing.files is not None and not len(listing.files))
    work = None if idle else load_stages(target, load)
    maintenance = maintenance_of(spec)
    return Plan(
        case=Case.LOAD if work else _idle_case(recover),
        target=target,
        recover=recover,
        work=work,
        source=None,
        inventory=None,
        schema=None,
        partitions=(),
        estimate=Estimate(),
        readers=readers,
        notes=(
            *map(as_warning, shut_out),
            *unproven_notes(target.readers, readers),
            *_maintenance_notes(spec, maintenance),
        ),
        load=load,
        maintenance=maintenance,
    )


def _maintenance_notes(spec: PipelineSpec, rules: Maintenance) -> Iterator[PlanNote]:
    """Yield what follows the load, if the spec says so itself."""
    text = maintenance_text(rules)
    if spec.maintenance is not None and text:
        yield PlanNote(condition="maintenance/follows", level="info", message=f"after it {text}")


def _as_the_table_has_it(target: Target, table: TableState) -> Target:
    """Return the target with the table's folder layout, which a spec without files lacks."""
    found = table.properties
    if found is None or not target.key_rule.partition:
        return target
    rule = replace(target.key_rule, hive_style=found.hive_style, url_encode=found.url_encode)
    return replace(target, key_rule=rule, layout=rule.layout)


def _input(spec: PipelineSpec, source: SourceSpec, write: WriteSpec) -> InputRequest:
    """Return which rows the spec loads; a delete needs only key columns."""
    table, deletes = spec.table, write.operation is WriteOperation.DELETE
    ordering = table.ordering.columns if table.ordering and not deletes else ()
    return InputRequest(
        format=source.format,
        path=_path(source),
        options=source.revealed_options(),
        schema=source.schema_text,
        transforms=tuple(Transform(name=each.name, sql=each.sql) for each in spec.transforms),
        missing=MissingColumns.SET_NULL if deletes else write.missing_columns,
        needed=(*table.record_key.columns, *(each.name for each in table.partition_by), *ordering),
    )


def _path(source: SourceSpec) -> str | None:
    """Return the source's path without a `file://` scheme."""
    return None if source.path is None else source.path.removeprefix("file://")


def _faults(operation: WriteOperation, target: Target, table: TableState) -> Iterator[Fault]:
    """Yield the faults of writing to the target."""
    yield from splitting_faults(target.quality)
    if not table.exists:
        yield from check_foreign_content(table)
        if operation in _NEEDS_A_TABLE:
            yield Fault(
                condition="load/no-table",
                key_path="write.operation",
                message=f"there is no table to {operation} from",
                remedy="Create the table with `bootstrap` or an insert.",
            )
        return
    begun = table.begun
    if begun:
        wanted = {key: value for key, value in target.immutable.items() if key in begun}
        yield from immutable_faults(wanted, begun)
    yield from _property_faults(target, table)


def _skipped_faults(
    request: LoadRequest, listing: InputListing, target: Target, table: TableState
) -> Iterator[Fault]:
    """Yield a fault if folders of the input are partitions that the bootstrap skipped.

    Only a source without transforms whose folders have the partition columns shows its partitions
    before it is read; the run checks the rows of every source.
    """
    rows, facts = request.input, table.facts
    if rows is None or rows.path is None or rows.transforms or facts is None:
        return
    columns = [each.name for each in target.key_rule.partition]
    found = {_partition_of(path.removeprefix(rows.path), columns) for path in listing.files or ()}
    for path in sorted(found & set(facts.skipped)):
        yield Fault(
            condition="load/skipped-partition",
            key_path="source.path",
            message=f"the source has files of partition {path}, which the bootstrap skipped",
            remedy="Move these files away, or exclude their rows in a transform.",
        )


def _partition_of(path: str, columns: Sequence[str]) -> str:
    """Return the folders of a file's path that name partition columns; "" unless all do."""
    folders = [each for each in path.split("/")[:-1] if each.partition("=")[0] in columns]
    return "/".join(folders) if len(folders) == len(columns) else ""


_NEEDS_A_TABLE: Final = frozenset({WriteOperation.DELETE, WriteOperation.DELETE_PARTITION})


def _property_faults(target: Target, table: TableState) -> Iterator[Fault]:
    """Yield a fault for each table property that the spec contradicts."""
    found = table.properties
    if found is None:
        return
    rule = target.key_rule
    ordering = target.ordering[0] if target.ordering else ""
    generator = found.key_generator or rule.generator.class_name
    alike = {each.class_name for each in _ALIKE} if len(rule.record_key) == 1 else set()
    for key_path, there, asked in (
        ("table.type", found.table_type.value, target.table_type.value),
        ("table.record_key", ", ".join(found.record_key_fields), ", ".join(rule.record_key)),
        (
            "table.partition_by",
            ", ".join(found.partition_fields),
            ", ".join(field.name for field in rule.partition),
        ),
        ("table.ordering", found.ordering_field or "", ordering),
    ):
        if there != asked and not (table.begun and key_path in _REPORTED_BY_BEGUN):
            yield _differs(key_path, there, asked)
    if generator not in {rule.generator.class_name, *alike}:
        yield _differs("table.record_key", generator, rule.generator.class_name)


_REPORTED_BY_BEGUN: Final = frozenset({"table.type", "table.record_key", "table.partition_by"})
_ALIKE: Final = (KeyGenerator.SIMPLE, KeyGenerator.NON_PARTITIONED, KeyGenerator.CUSTOM)
"""Generators that give a key of one column the same text."""


def _differs(key_path: str, there: str, asked: str) -> Fault:
    return Fault(
        condition="plan/table-differs",
        key_path=key_path,
        message=f"{key_path} is '{there or 'not set'}' in the table, and '{asked or 'not set'}' in"
        " the spec",
        remedy="Use the table's value, or another location.",
    )


def _load(
    write: WriteSpec, request: LoadRequest, listing: InputListing, *, creates: bool
) -> LoadPlan:
    chosen = request.input
    if chosen is not None and listing.files is not None:
        chosen = replace(chosen, files=listing.files, has_folders=listing.has_folders)
    return LoadPlan(
        operation=request.operation,
        request=chosen,
        source_id=request.source_id,
        files=len(listing.files or ()),
        bytes=listing.bytes,
        earlier_files=listing.earlier_files,
        listing_sha256=listing.sha256,
        creates=creates,
        evolution=write.schema_evolution,
        missing=write.missing_columns,
        target_file_size=write.target_file_size,
        small_file_limit=write.small_file_limit,
        parallelism=write.parallelism,
        partitions=write.partitions,
        run_id=request.run_id,
        releases=request.releases,
    )


def load_stages(target: Target, load: LoadPlan) -> stages.LoadStages:
    """Return the stages of a load."""
    rule, quality = target.key_rule, target.quality
    action = "replacecommit" if load.operation in _REPLACES else target.action
    return stages.LoadStages(
        begin=stages.BeginLoad(action=action),
        rows=_row_stages(target, load),
        screen=stages.Screen(quality=quality) if quality.checks else None,
        audit=stages.AuditLoad(rule=rule, quality=quality),
        commit=stages.CommitLoad(action=action),
    )


def _row_stages(target: Target, load: LoadPlan) -> stages.RowStages | None:
    """Return the stages of a load that brings rows, None for one that deletes partitions."""
    if load.request is None:
        return None
    return stages.RowStages(
        read=stages.ReadInput(request=load.request, files=load.files, bytes=load.bytes),
        tag=stages.TagRows(scope=target.key_rule.scope),
        write=stages.WriteRows(
            operation=load.operation,
            target_file_size=load.target_file_size,
            small_file_limit=load.small_file_limit,
            parallelism=load.parallelism,
        ),
    )


def _idle_case(recover: stages.Recover | None) -> Case:
    finishes = recover is not None and recover.recovery is stages.Recovery.FINISH
    return Case.FINISH if finishes else Case.UP_TO_DATE


def _traits(target: Target, table: TableState, evolution: SchemaEvolution) -> dict[Trait, str]:
    """Return the reader-gate traits of the table."""
    known = {}
    if table.facts is not None:
        known = {t: table.facts.traits[t] for t in Trait if t in table.facts.traits}
    flags = {
        Trait.MERGE_ON_READ: target.table_type is TableType.MERGE_ON_READ,
        Trait.CUSTOM_KEYS: target.key_rule.generator is KeyGenerator.CUSTOM,
    }
    if evolution is SchemaEvolution.WIDEN:
        known.setdefault(Trait.WIDENED_FLOAT, "columns that `schema_evolution: widen` makes DOUBLE")
    return {**{trait: "" for trait, present in flags.items() if present}, **known}
