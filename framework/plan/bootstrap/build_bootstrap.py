"""The plan that creates a table by bootstrap, with the schema of the files that it adopts.

A file with a skeleton counts with its own types; a file that is written in full, with types that
Spark reads. Skipped partitions do not count. The Parquet schema is authoritative throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from framework.hudi.bootstrap.sample import Sample
from framework.hudi.bootstrap.source_schema import with_partition_columns
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from framework.hudi.table.schema import SchemaIssue, check_schema, full_record_schema, unify
from framework.plan import checks, estimate, stages
from framework.plan.bootstrap.notes import notes_of, traits_of
from framework.plan.checks import reader_faults, unproven_notes
from framework.plan.definition import Case, Plan
from framework.plan.observation import (
    Observation,
    PartitionSummary,
    SchemaConflict,
    SourceInventory,
)
from framework.plan.partitions import PartitionPlan, plan_partitions, totals
from framework.plan.quality.contract import quality_faults
from framework.plan.readers.gate import ReaderGate, gate
from framework.plan.readers.source_formats import FORMATS, SourceFormat
from framework.plan.refusals import Fault, refuse
from framework.plan.rules import choose_modes, rule_faults
from framework.plan.target import Target, mode_rules
from framework.plan.words import count_text, listing
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.vocabulary import BootstrapMode, OnDuplicate

__all__ = ["format_faults", "plan_begin"]

_TAKEN: Final = (BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD)


def format_faults(source: SourceInventory, partitions: Sequence[PartitionPlan]) -> Iterator[Fault]:
    """Yield a fault for each trait whose files cannot be adopted in the mode chosen for them."""
    for known in FORMATS:
        refused = _TAKEN[: 1 if known.heals else 2]
        hit = tuple(
            summary
            for summary, plan in zip(source.partitions, partitions, strict=True)
            if known.is_refused and plan.mode in refused and summary.traits.get(known.trait, 0)
        )
        if hit:
            yield _fault(known, hit)


def _fault(known: SourceFormat, hit: Sequence[PartitionSummary]) -> Fault:
    files = count_text(sum(each.traits[known.trait] for each in hit), "file")
    paths = tuple(repr(each.partition_path) for each in hit if each.partition_path)
    place = f" in {listing(paths)}" if paths else ""
    file, column = hit[0].examples.get(known.trait, ("", ""))
    of_column = f" in column '{column}'" if column else ""
    who = "Spark cannot read them" if known.heals else "they cannot be read correctly"
    return Fault(
        condition="source/unreadable-format",
        key_path="bootstrap.path",
        message=f"{known.what}{of_column}: {who} ({files}{place})",
        remedy=_remedy(known),
        partition=hit[0].partition_path if len(hit) == 1 else None,
        source=file or None,
    )


def _remedy(known: SourceFormat) -> str:
    """Return what to do, with `full_record` where it helps."""
    if not known.heals:
        return "Rewrite the files without it, or skip their partitions by a rule."
    stored = f" (which stores {known.stored})" if known.stored else ""
    rule = f"- {{having: [{known.trait}], mode: full_record}}"
    return f"Write such files in full{stored} by the rule `{rule}`, or rewrite them."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """The planned partitions, schema and readers, before the spec is known to fit."""

    partitions: tuple[PartitionPlan, ...] = ()
    schema: Any = None
    readers: ReaderGate = field(default_factory=lambda: gate({}))
    faults: tuple[Fault, ...] = ()


def plan_begin(
    spec: PipelineSpec, target: Target, observation: Observation, recover: stages.Recover | None
) -> Plan:
    """Return the plan that creates the table, after recovering an earlier run if there is one.

    Raises:
        PlanError: every fault of spec against source and target.
        ValueError: the observation has no source.
    """
    source = _source_of(observation)
    draft = _draft(spec, target, source) if source.partitions else _Draft()
    places = list(checks.check_places(observation.table.location, source.location))
    faults = [
        *(places or checks.check_foreign_content(observation.table)),
        *draft.faults,
        *_empty_faults(spec, source, draft),
    ]
    if faults:
        refuse(faults, spec.positions)
    return _assemble(target, observation, draft, recover)


def _source_of(observation: Observation) -> SourceInventory:
    """Return the source, which planning a new table requires."""
    if observation.source is None:
        raise ValueError("planning a new table needs an observation with a source")
    return observation.source


def _draft(spec: PipelineSpec, target: Target, source: SourceInventory) -> _Draft:
    """Return one plan per partition, and the faults of source and rules.

    Rules apply only where every partition's values can be read.
    """
    values, unreadable = checks.read_partitions(target, source)
    rules = () if unreadable else mode_rules(spec)
    paths = [p.partition_path for p in source.partitions]
    traits = {p.partition_path: p.traits for p in source.partitions}
    named = list(zip(paths, values, strict=True))
    choices = choose_modes(rules, target.default_mode, named, traits)
    partitions = plan_partitions(source.partitions, choices)
    found = _table_schema(source, partitions)
    faults = [*checks.check_size(source), *unreadable, *_schema_faults(found)]
    faults += format_faults(source, partitions)
    if not unreadable:
        faults += rule_faults(rules, choices)
    faults += checks.check_columns(target, found.schema)
    faults += checks.check_null_keys(target, found.schema, partitions, values)
    if found.schema is not None:
        table = with_partition_columns(found.schema, target.key_rule.partition)
        faults += quality_faults(target.quality, table)
    readers = gate(traits_of(target, source, partitions, found.schema))
    faults += reader_faults(target.readers, readers)
    return _Draft(partitions=partitions, schema=found.schema, readers=readers, faults=tuple(faults))


def _empty_faults(spec: PipelineSpec, source: SourceInventory, draft: _Draft) -> list[Fault]:
    """Return the fault of a source with no file to adopt, unless the spec allows it."""
    taken = any(p.mode is not BootstrapMode.SKIP for p in draft.partitions)
    if taken or spec.bootstrap is None or spec.bootstrap.allow_empty:
        return []
    what = "every partition is skipped" if source.partitions else f"{source.location} has no file"
    return [
        Fault(
            condition="source/empty",
            key_path="bootstrap.path",
            message=f"there is nothing to adopt: {what}",
            remedy="Correct the path or the rules, or set 'allow_empty: true'.",
        )
    ]


def _assemble(
    target: Target, observation: Observation, draft: _Draft, recover: stages.Recover | None
) -> Plan:
    """Return the plan, once the spec is known to fit."""
    partitions, schema, source = draft.partitions, draft.schema, _source_of(observation)
    size = _estimate(target, partitions, observation.sample)
    work = _stages(target, partitions, recover, size)
    return Plan(
        case=_case(work, recover),
        target=target,
        recover=recover,
        work=work,
        source=source.location,
        inventory=source.handle,
        schema=schema,
        partitions=partitions,
        estimate=size,
        readers=draft.readers,
        notes=(
            *unproven_notes(target.readers, draft.readers),
            *notes_of(target, source, partitions, schema),
        ),
    )


def _case(work: stages.BootstrapStages | None, recover: stages.Recover | None) -> Case:
    if work is None:
        return Case.EMPTY
    resumed = recover is not None and recover.recovery is stages.Recovery.RESUME
    return Case.RESUME if resumed else Case.BOOTSTRAP


def _stages(
    target: Target,
    partitions: tuple[PartitionPlan, ...],
    recover: stages.Recover | None,
    size: estimate.Estimate,
) -> stages.BootstrapStages | None:
    """Return the stages of a run; None if there is no file to adopt."""
    skeletons = _of_mode(partitions, BootstrapMode.METADATA_ONLY)
    full = _of_mode(partitions, BootstrapMode.FULL_RECORD)
    taken = totals((*skeletons, *full))
    if not taken.files:
        return None
    resumed = recover is not None and recover.recovery is stages.Recovery.RESUME
    instant = BOOTSTRAP_INSTANT if skeletons else None
    return stages.BootstrapStages(
        begin=stages.BeginBootstrap(
            instant=instant,
            action=target.action,
            resumes=recover.write_id if recover is not None and resumed else None,
        ),
        screen=_screen(target),
        skeletons=stages.Skeletons(plans=skeletons, bytes_to_write=size.skeleton_bytes)
        if skeletons
        else None,
        full_records=stages.FullRecords(plans=full, bytes_to_write=size.full_record_bytes)
        if full
        else None,
        audit=stages.AuditBootstrap(
            rule=target.key_rule, quality=target.quality, files=taken.files, rows=taken.rows
        ),
        index=stages.Index(plans=skeletons, bytes_to_write=size.index_bytes) if skeletons else None,
        commit=stages.CommitBootstrap(instant=instant, action=target.action, files=taken.files),
    )


def _of_mode(
    partitions: tuple[PartitionPlan, ...], mode: BootstrapMode
) -> tuple[PartitionPlan, ...]:
    """Return the partitions of a mode that have files."""
    return tuple(p for p in partitions if p.mode is mode and p.stop > p.first)


def _screen(target: Target) -> stages.Screen | None:
    """Return the stage for checks; None if there is nothing to check or exclude."""
    chosen = target.on_duplicate is OnDuplicate.REWRITE_FILES
    keeps_one = chosen and not target.key_rule.is_automatic
    if target.quality.checks or keeps_one:
        return stages.Screen(quality=target.quality, keeps_one=keeps_one)
    return None


def _estimate(
    target: Target, partitions: tuple[PartitionPlan, ...], sample: Sample | None
) -> estimate.Estimate:
    """Return bytes to write and cost of the adopted partitions."""
    skeletons = tuple(p for p in partitions if p.mode is BootstrapMode.METADATA_ONLY)
    full = tuple(p for p in partitions if p.mode is BootstrapMode.FULL_RECORD)
    cost = estimate.RowCost.of(target.bloom, sample)
    files = totals(skeletons).files
    return estimate.Estimate(
        skeleton_bytes=estimate.skeleton_bytes(skeletons, cost),
        full_record_bytes=estimate.full_record_bytes(full, cost),
        index_bytes=estimate.index_bytes(files, len(skeletons)) if files else 0,
        commit_bytes=estimate.commit_bytes(totals((*skeletons, *full)).files),
        core_seconds=estimate.core_seconds(skeletons, full, cost),
    )


_NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The schema of the adopted files, and what is wrong with it.

    Attributes:
        schema: the table's Arrow schema; at a conflict, the first type.
        conflicts: columns whose types cannot be unified.
        issues: names and types that readers cannot handle, each with its partitions.
    """

    schema: Any
    conflicts: tuple[SchemaConflict, ...]
    issues: tuple[tuple[SchemaIssue, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One schema of source files, as adopted in one mode; `example` is a source file."""

    schema: Any
    example: str
    partitions: tuple[str, ...]


def _table_schema(source: SourceInventory, partitions: Sequence[PartitionPlan]) -> TableSchema:
    """Return the schema of the adopted partitions; of all partitions if none is adopted.

    If the inventory has no schemas by partition, all files count as having the common one.
    """
    parts = tuple(_parts(source, partitions))
    issues: dict[tuple[str, str], tuple[SchemaIssue, tuple[str, ...]]] = {}
    for part in parts:
        for issue in check_schema(part.schema):
            _, before = issues.get((issue.condition, issue.column), (issue, ()))
            named = (*before, *(p for p in part.partitions if p not in set(before)))
            issues[issue.condition, issue.column] = (issue, named)
    # `full_record_schema` keeps readable types; an unreadable one is an issue, not a conflict too.
    unified = unify(full_record_schema(part.schema) for part in parts)
    for issue in _issues_between(unified.schema, parts):
        issues.setdefault((issue.condition, issue.column), (issue, ()))
    conflicts = tuple(
        SchemaConflict(
            column=found.column,
            types=(
                (found.left, parts[found.left_index].example),
                (found.right, parts[found.right_index].example),
            ),
        )
        for found in unified.conflicts
    )
    known = source.conflicts if not source.schemas else ()
    return TableSchema(
        schema=unified.schema, conflicts=(*known, *conflicts), issues=tuple(issues.values())
    )


def _issues_between(schema: Any, parts: Sequence[_Part]) -> Iterator[SchemaIssue]:
    """Yield the name issues of all schemas together, each with one example file."""
    for issue in check_schema(schema):
        if issue.condition == "schema/same-but-case":
            name = issue.column.partition(".")[0]
            example = next((p.example for p in parts if name in p.schema.names), "")
            place = f", in {example}" if example else ""
            yield replace(issue, message=issue.message + place)


def _parts(source: SourceInventory, partitions: Sequence[PartitionPlan]) -> Iterator[_Part]:
    """Yield each schema once per mode in which its files are adopted."""
    modes = _TAKEN if any(p.mode in _TAKEN for p in partitions) else tuple(BootstrapMode)
    if not source.schemas:
        for mode in modes:
            paths = tuple(p.partition_path for p in partitions if p.mode is mode)
            if paths:
                yield _part(source.schema, "", mode, paths)
        return
    holding: dict[tuple[int, BootstrapMode], list[str]] = {}
    for summary, plan in zip(source.partitions, partitions, strict=True):
        for index in summary.schemas if plan.mode in modes else ():
            holding.setdefault((index, plan.mode), []).append(plan.partition_path)
    for (index, mode), paths_ in sorted(holding.items(), key=lambda held: held[0][0]):
        known = source.schemas[index]
        yield _part(known.schema, known.example, mode, tuple(paths_))


def _part(schema: Any, example: str, mode: BootstrapMode, paths: tuple[str, ...]) -> _Part:
    """Return the schema that files of this mode contribute to the table."""
    full = mode is BootstrapMode.FULL_RECORD
    taken = full_record_schema(schema) if full else schema
    return _Part(schema=taken, example=example, partitions=paths)


def _schema_faults(found: TableSchema) -> Iterator[Fault]:
    """Yield a fault for each conflict and for each issue."""
    for conflict in found.conflicts:
        seen = ", ".join(f"{kind} in {path}" if path else kind for kind, path in conflict.types)
        yield Fault(
            condition="schema/conflict",
            key_path="bootstrap.path",
            message=f"column '{conflict.column}' has types that cannot be unified: {seen}",
            remedy="Rewrite the files of one side, or skip their partitions by a rule.",
        )
    for issue, partitions in found.issues:
        paths = tuple(repr(path) for path in partitions if path)
        place = f" (in {listing(paths, limit=_NAMED_AT_MOST)})" if paths else ""
        yield Fault(
            condition=issue.condition,
            key_path="bootstrap.path",
            message=issue.message + place,
            remedy=issue.remedy,
            partition=partitions[0] if len(partitions) == 1 else None,
        )
