"""Checks of the spec against source, target and readers, which report faults and raise nothing.

The readers are those listed in `table.readers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from framework.errors import PlanError
from framework.hudi.keygen.rule import key_faults
from framework.hudi.table.partition_path import PartitionValue, partition_values
from framework.plan.definition import PlanNote
from framework.plan.estimate import commit_bytes
from framework.plan.observation import SourceInventory, TableState
from framework.plan.partitions import PartitionPlan
from framework.plan.readers.exceptions import EXCEPTIONS, Trait
from framework.plan.readers.gate import ReaderGate, ReaderVerdict, gate
from framework.plan.readers.versions import ANY_VERSION, Ability
from framework.plan.refusals import Fault
from framework.plan.target import Target
from framework.plan.words import count_text, listing, size_text
from framework.vocabulary import BootstrapMode, ReaderName

__all__ = [
    "MAX_FILES",
    "check_columns",
    "check_foreign_content",
    "check_null_keys",
    "check_places",
    "check_size",
    "read_partitions",
    "reader_faults",
    "unproven_notes",
]

MAX_FILES: Final = 1_000_000
"""Limit on the files of a new table: Apache Hudi reads their commit, then 640 MB, whole."""

_NAMED_AT_MOST: Final = 20


def check_places(table: str, source: str) -> Iterator[Fault]:
    """Yield a fault where source and target overlap; both are canonical locations."""
    target, data = table.rstrip("/") + "/", source.rstrip("/") + "/"
    if target == data:
        yield Fault(
            condition="target/is-source",
            key_path="table.location",
            message=f"the table would be in its own source, {source}",
            remedy="Give the table a folder of its own.",
        )
    elif target.startswith(data):
        yield Fault(
            condition="target/inside-source",
            key_path="table.location",
            message=f"the table, {table}, would be inside its source, {source}",
            remedy="Give the table a folder beside the source.",
        )
    elif data.startswith(target):
        yield Fault(
            condition="target/holds-source",
            key_path="bootstrap.path",
            message=f"the source, {source}, is inside the table, {table}",
            remedy="Give the table a folder beside the source.",
        )


def check_foreign_content(table: TableState) -> Iterator[Fault]:
    """Yield a fault where the target holds foreign content, or a file blocks its path."""
    if table.obstacle is not None:
        yield Fault(
            condition="target/not-a-folder",
            key_path="table.location",
            message=f"cannot create table {table.location}: {table.obstacle} is not a folder",
            remedy="Give the table another folder, or move that file away.",
        )
    if table.foreign_content:
        yield Fault(
            condition="target/foreign-content",
            key_path="table.location",
            message=f"{table.location} is not a table, but holds {listing(table.foreign_content)}",
            remedy="Give the table an empty folder, or one that does not exist yet.",
        )


def check_size(source: SourceInventory) -> Iterator[Fault]:
    """Yield a fault where the source has more files than a new table may have."""
    files = sum(p.files for p in source.partitions)
    if files > MAX_FILES:
        yield Fault(
            condition="source/too-many-files",
            key_path="bootstrap.path",
            message=(
                f"the source has {count_text(files, 'file')}; a new table may have "
                f"at most {MAX_FILES:,}, whose commit takes {size_text(commit_bytes(MAX_FILES))}"
            ),
            remedy="Adopt it as several tables, or merge its small files first.",
        )


def read_partitions(
    target: Target, source: SourceInventory
) -> tuple[tuple[dict[str, PartitionValue], ...], tuple[Fault, ...]]:
    """Return the typed values of each partition, and one fault per kind of bad partition.

    A partition that cannot be read has no values; the fault of its kind names it.
    """
    values: list[dict[str, PartitionValue]] = []
    errors: dict[str, list[PlanError]] = {}
    for summary in source.partitions:
        fields = target.key_rule.partition
        try:
            values.append(partition_values(summary.partition_path, fields, target.layout))
        except PlanError as error:
            values.append({})
            errors.setdefault(error.condition, []).append(error)
    return tuple(values), tuple(_partition_fault(kind) for kind in errors.values())


def _partition_fault(errors: Sequence[PlanError]) -> Fault:
    """Return one fault for partitions with the same kind of error."""
    first = errors[0]
    others = tuple(repr(error.where.partition) for error in errors[1:])
    more = f"; the same in {listing(others, limit=_NAMED_AT_MOST)}" if others else ""
    return Fault(
        condition=first.condition,
        key_path="table.partition_by",
        message=first.message + more,
        remedy=first.remedy,
        partition=first.where.partition,
    )


def check_columns(target: Target, schema: Any) -> Iterator[Fault]:
    """Yield what is wrong with the key, partition and ordering columns; `schema` is the table's."""
    for fault in key_faults(target.key_rule, schema):
        in_path = fault.condition.startswith("partition/")
        yield Fault(
            condition=fault.condition,
            key_path="table.partition_by" if in_path else _key_place(target, fault.column),
            message=fault.message,
            remedy=fault.remedy,
        )
    yield from _ordering_faults(target, schema)


def _key_place(target: Target, column: str) -> str:
    """Return the key path of a key column."""
    return f"table.record_key.columns[{target.key_rule.record_key.index(column)}]"


def _ordering_faults(target: Target, schema: Any) -> Iterator[Fault]:
    """Yield a fault for each ordering column that is in neither files nor folders."""
    known = {*schema.names, *target.partition_types}
    for at, column in enumerate(target.ordering):
        if column not in known:
            yield Fault(
                condition="ordering/column-missing",
                key_path=f"table.ordering.columns[{at}]",
                message=f"ordering column '{column}' is in neither the files nor the folders",
                remedy=f"Columns are {', '.join(schema.names)}.",
            )


def check_null_keys(
    target: Target,
    schema: Any,
    partitions: Sequence[PartitionPlan],
    values: Sequence[dict[str, PartitionValue]],
) -> Iterator[Fault]:
    """Yield a fault for each key column that only folder names hold, and that is null in some."""
    in_files = set(schema.names)
    for column in target.key_rule.record_key:
        if column in in_files:
            continue
        nulls = tuple(
            repr(plan.partition_path)
            for plan, own in zip(partitions, values, strict=True)
            if own.get(column, "") is None and plan.mode is not BootstrapMode.SKIP
        )
        if nulls:
            yield Fault(
                condition="key/null",
                key_path=_key_place(target, column),
                message=(
                    f"key column '{column}' is null in {listing(nulls, limit=_NAMED_AT_MOST)}"
                ),
                remedy="Skip these partitions by a rule with mode 'skip'.",
            )


def reader_faults(wanted: Sequence[ReaderName], found: ReaderGate) -> Iterator[Fault]:
    """Yield a fault for each wanted reader that cannot read the table, at its place in the list.

    The remedy states whether mode `full_record` would change it.
    """
    for place, name in enumerate(wanted):
        verdict = _verdict(name, found)
        if verdict.reads is Ability.NO:
            yield Fault(
                condition="readers/cannot-read",
                key_path=f"table.readers[{place}]",
                message=f"{_who(verdict)} cannot read the table: {_reason(verdict, found)}",
                remedy=_remedy(verdict, found),
            )


def unproven_notes(wanted: Sequence[ReaderName], found: ReaderGate) -> Iterator[PlanNote]:
    """Yield a warning for each wanted reader that is not proven to read the table."""
    for name in wanted:
        verdict = _verdict(name, found)
        if verdict.reads is Ability.UNPROVEN:
            why = f": {verdict.note}" if verdict.note else ""
            yield PlanNote(
                condition="readers/unproven",
                level="warning",
                message=f"it is unproven that {_who(verdict)} can read the table{why}",
            )


def _verdict(name: ReaderName, found: ReaderGate) -> ReaderVerdict:
    """Return the verdict on one reader; every reader has one."""
    return next(verdict for verdict in found.verdicts if verdict.name is name)


def _who(verdict: ReaderVerdict) -> str:
    """Return a reader's name in the spec, with its engine and version."""
    version = "" if verdict.version == ANY_VERSION else f" {verdict.version}"
    return f"'{verdict.name}' ({verdict.engine}{version})"


def _reason(verdict: ReaderVerdict, found: ReaderGate) -> str:
    """Return why a reader cannot read: its own limit, and each exception that prevents it."""
    stopping = {each.name for each in EXCEPTIONS if each.reads is Ability.NO}
    named = (e for e in found.exceptions if e.name in stopping and e.name in verdict.exceptions)
    reasons = (verdict.note, *(f"{each.message} [{each.name}]" for each in named))
    return "; ".join(reason for reason in reasons if reason)


def _remedy(verdict: ReaderVerdict, found: ReaderGate) -> str:
    """Return the remedy, which depends on whether the reader reads the table without skeletons."""
    traits: dict[Trait, str] = {**found.traits}
    traits.pop(Trait.SKELETONS, None)
    instead = _verdict(verdict.name, gate(traits)).reads
    if Trait.SKELETONS not in found.traits or instead is Ability.NO:
        return (
            "Mode `full_record` would not change that; remove it from the list, or change the data."
        )
    how = {Ability.UNPROVEN: ", which is unproven", Ability.DOCUMENTED: ", as documented"}
    return (
        "Mode `full_record` for every partition would change that: it reads full files"
        f"{how.get(instead, '')}. Or remove it from the list."
    )
