"""The plan against an existing table: a diff, and the completion of an earlier run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from framework.hudi.keygen.rule import KeyGenerator
from framework.plan.checks import reader_faults, unproven_notes
from framework.plan.definition import Adopted, Case, Plan, PlanNote
from framework.plan.estimate import Estimate
from framework.plan.facts import BootstrapFacts
from framework.plan.observation import Observation, TableState
from framework.plan.readers.exceptions import Trait
from framework.plan.readers.gate import gate
from framework.plan.refusals import Fault, refuse
from framework.plan.stages import Recover, Recovery
from framework.plan.target import Target
from framework.plan.words import listing
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.vocabulary import TableType

__all__ = ["as_warning", "immutable_faults", "plan_adopted"]

_ABSENT = "(not set)"


def plan_adopted(
    spec: PipelineSpec, target: Target, observation: Observation, recover: Recover | None
) -> Plan:
    """Return the diff of spec and source against the table.

    A published run is completed whatever the spec now contains; changed fields are then only
    warnings. Readers that cannot read the table are always only warnings: the table exists, and
    its skeletons may have been rewritten by now.

    Raises:
        PlanError: `target/not-adopted` for a table that no Lakestrap bootstrap created, and
            `plan/immutable-field` for each changed field that is immutable.
    """
    table, source = observation.table, observation.source
    facts = table.facts
    if facts is None:
        refuse((_not_adopted(table),), spec.positions)
    finishing = recover is not None and recover.recovery is Recovery.FINISH
    faults = tuple(immutable_faults(target.immutable, facts.immutable))
    if faults and not finishing:
        refuse(faults, spec.positions)
    readers = gate(_traits(target, facts))
    shut_out = reader_faults(target.readers, readers)
    return Plan(
        case=Case.FINISH if finishing else Case.UP_TO_DATE,
        target=target,
        recover=recover,
        work=None,
        source=None if source is None else source.location,
        inventory=None if source is None else source.handle,
        schema=None if source is None else source.schema,
        partitions=(),
        estimate=Estimate(),
        readers=readers,
        notes=(
            *(as_warning(fault) for fault in (*faults, *shut_out)),
            *unproven_notes(target.readers, readers),
            *_notes(target, table),
        ),
        adopted=Adopted(
            facts=facts,
            drift=table.drift,
            spec_changed=facts.spec_hash != target.spec_hash,
            completed=len(table.completed),
        ),
    )


def _not_adopted(table: TableState) -> Fault:
    return Fault(
        condition="target/not-adopted",
        key_path="table.location",
        message=f"{table.location} is a Hudi table that Lakestrap did not bootstrap",
        remedy="Give the table another location.",
    )


def immutable_faults(wanted: Mapping[str, str], begun: Mapping[str, str]) -> Iterator[Fault]:
    """Yield one fault, with both values, for each immutable field that differs."""
    for key_path, now in wanted.items():
        then = begun.get(key_path, _ABSENT)
        if then != now:
            yield Fault(
                condition="plan/immutable-field",
                key_path=key_path,
                message=f"{key_path} was '{then}' when the table was created, and is now '{now}'",
                remedy=f"Restore '{then}', or create another table at another location.",
            )


def as_warning(fault: Fault) -> PlanNote:
    """Return as a warning a fault that the next plan refuses."""
    return PlanNote(condition=fault.condition, level="warning", message=fault.message)


def _traits(target: Target, facts: BootstrapFacts) -> dict[Trait, str]:
    """Return the recorded traits, plus those that counts, table type and key generator imply."""
    known = {trait: facts.traits[trait] for trait in Trait if trait in facts.traits}
    flags = {
        Trait.SKELETONS: facts.skeletons > 0,
        Trait.MERGE_ON_READ: target.table_type is TableType.MERGE_ON_READ,
        Trait.CUSTOM_KEYS: target.key_rule.generator is KeyGenerator.CUSTOM,
    }
    return {**{trait: "" for trait, present in flags.items() if present}, **known}


def _notes(target: Target, table: TableState) -> Iterator[PlanNote]:
    """Yield differences from the spec that are no fault while nothing is written."""
    found = table.properties
    begun = found.ordering_field if found is not None else None
    wanted = target.ordering[0] if target.ordering else None
    if found is not None and (begun or None) != wanted:
        yield PlanNote(
            condition="plan/ordering-differs",
            level="warning",
            message=f"the table orders by {begun or 'nothing'}, the spec by {wanted or 'nothing'}",
        )
    if table.foreign_pending:
        yield PlanNote(
            condition="table/foreign-pending",
            level="warning",
            message=f"another writer has pending instants: {listing(table.foreign_pending)}",
        )
