"""The schema of a new table, from the files that it adopts.

A file with a skeleton counts with its own types; a file that is written in full, with types that
Spark reads. Skipped partitions do not count. The Parquet schema is authoritative throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from framework.hudi.table.schema import SchemaIssue, check_schema, full_record_schema, unify
from framework.plan.observation import SchemaConflict, SourceInventory
from framework.plan.partitions import PartitionPlan
from framework.plan.refusals import Fault
from framework.plan.words import listing
from framework.vocabulary import BootstrapMode

__all__ = ["TableSchema", "schema_faults", "table_schema"]

_TAKEN: Final = (BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD)
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


def table_schema(source: SourceInventory, partitions: Sequence[PartitionPlan]) -> TableSchema:
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


def schema_faults(found: TableSchema) -> Iterator[Fault]:
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
