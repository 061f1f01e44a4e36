"""Notes on a bootstrap plan: warnings and advice for its author."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from framework.plan.bootstrap.traits import partitions_with
from framework.plan.definition import PlanNote
from framework.plan.estimate import commit_bytes
from framework.plan.observation import SourceInventory
from framework.plan.partitions import PartitionPlan, totals
from framework.plan.target import Target
from framework.plan.words import count_text, listing, size_text
from framework.vocabulary import BloomKind, BootstrapMode, PartitionType, SourceTrait

__all__ = ["notes_of"]

_BIG_COMMIT_FILES: Final = 100_000
_RULES_AT_MOST: Final = 5
_OVERFULL: Final = 2
_TEXT_TYPES: Final = ("string", "large_string")
_NOT_REWRITTEN: Final = {
    SourceTrait.INT96: ("source/int96", "with INT96 timestamps", "by Apache Hudi"),
    SourceTrait.MILLISECOND: (
        "source/millisecond",
        "with timestamps in milliseconds",
        "correctly by Apache Hudi before 1.1",
    ),
}


def notes_of(
    target: Target, source: SourceInventory, partitions: tuple[PartitionPlan, ...], schema: Any
) -> tuple[PlanNote, ...]:
    """Return the notes on a plan that creates a table of this schema, warnings first."""
    found = [
        *_rewrite_notes(source, partitions),
        *_size_notes(partitions),
        *_bloom_notes(target, partitions),
        *_key_notes(target, schema),
        *_ignored_notes(source),
    ]
    return tuple(sorted(found, key=lambda note: note.level != "warning"))


def _rewrite_notes(
    source: SourceInventory, partitions: tuple[PartitionPlan, ...]
) -> Iterator[PlanNote]:
    """Advise `full_record` for partitions whose files some Hudi job cannot rewrite correctly."""
    skeletons = [p for p in partitions if p.mode is BootstrapMode.METADATA_ONLY]
    for trait, (condition, what, by_whom) in _NOT_REWRITTEN.items():
        hit = partitions_with(trait, source, skeletons)
        if hit:
            yield PlanNote(
                condition=condition,
                level="warning",
                message=(
                    f"{count_text(len(hit), 'partition')} {what} can be read, but not be "
                    f"rewritten {by_whom}; to write these in full: {_full_record_rule(hit)}"
                ),
            )


def _full_record_rule(paths: tuple[str, ...]) -> str:
    """Return the rule that writes these partitions in full, ready to paste into the spec."""
    if paths == ("",):
        return "mode: full_record"
    pattern = "|".join(re.escape(path).replace("\\-", "-") for path in paths[:_RULES_AT_MOST])
    left = len(paths) - _RULES_AT_MOST
    more = f" (and {count_text(left, 'more partition')})" if left > 0 else ""
    return f"- {{partition: {_quoted(pattern)}, mode: full_record}}{more}"


def _quoted(pattern: str) -> str:
    """Return a YAML scalar of the pattern: single-quoted, where a backslash is itself."""
    return "'" + pattern.replace("'", "''") + "'" if pattern.isprintable() else json.dumps(pattern)


def _size_notes(partitions: tuple[PartitionPlan, ...]) -> Iterator[PlanNote]:
    """Warn of a commit so large that Apache Hudi takes long to open the table."""
    files = totals(p for p in partitions if p.mode is not BootstrapMode.SKIP).files
    if files > _BIG_COMMIT_FILES:
        yield PlanNote(
            condition="plan/big-commit",
            level="warning",
            message=(
                f"the commit of {count_text(files, 'file')} will have about "
                f"{size_text(commit_bytes(files))}, which Apache Hudi reads whole when it opens "
                "the table"
            ),
        )


def _bloom_notes(target: Target, partitions: tuple[PartitionPlan, ...]) -> Iterator[PlanNote]:
    """Warn of files so long that their bloom filters reject few absent keys."""
    most = _OVERFULL * target.bloom.max_keys
    long = tuple(
        repr(p.partition_path)
        for p in partitions
        if p.mode is not BootstrapMode.SKIP and p.rows > p.files * most
    )
    if long and target.bloom.kind != BloomKind.NONE:
        yield PlanNote(
            condition="bloom/overfull",
            level="info",
            message=(
                f"files of {listing(long)} have more than {most:,} rows, so their bloom filters "
                f"rule out little; they stop growing at table.bloom.max_keys, {most // _OVERFULL:,}"
            ),
        )


def _key_notes(target: Target, schema: Any) -> Iterator[PlanNote]:
    """Warn that text parts of a composite key may give two keys the same text."""
    if not target.key_rule.is_composite:
        return
    types = {field.name: str(field.type) for field in schema or ()}
    declared = target.partition_types
    text = tuple(
        column
        for column in target.key_rule.record_key
        if types.get(column) in _TEXT_TYPES
        or (column not in types and declared.get(column) is PartitionType.STRING)
    )
    if text:
        yield PlanNote(
            condition="key/text-may-collide",
            level="info",
            message=(
                f"key parts {listing(text)} are text: values with ',' or ':' could give two keys "
                "the same text; uniqueness is proven on that text, so the audit would refuse them"
            ),
        )


def _ignored_notes(source: SourceInventory) -> Iterator[PlanNote]:
    """Report how many hidden files were skipped."""
    if source.ignored_files:
        yield PlanNote(
            condition="source/ignored-files",
            level="info",
            message=(
                f"skipped {count_text(source.ignored_files, 'file')} under the source, as Spark "
                "does (names that start with '_' or '.')"
            ),
        )
