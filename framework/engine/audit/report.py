"""The gate's findings, as JSON-ready values for people and machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from framework.engine.audit.candidates import DuplicateKey
from framework.engine.audit.keys import KeySource
from framework.errors import AuditFailedError, Where
from framework.hudi.bootstrap.inventory import InventoryHandle, read_files
from framework.hudi.keygen.rule import KeyRule

__all__ = ["SAMPLES", "duplicates_error", "new_duplicates_error", "nulls_error"]

SAMPLES: Final = 50


def duplicates_error(
    keys: KeySource,
    duplicates: Sequence[DuplicateKey],
    *,
    counted: tuple[int, int] | None,
) -> AuditFailedError:
    """Return the refusal for keys that occur more than once.

    Args:
        keys: how keys are computed, and from which files.
        duplicates: the keys that were compared exactly, not empty.
        counted: groups and rows by hash alone, if these were too many to compare exactly.
    """
    rule = keys.rule
    groups = len(duplicates) if counted is None else counted[0]
    rows = sum(each.count for each in duplicates) if counted is None else counted[1]
    shown = duplicates[:SAMPLES]
    names = _names(keys.inventory, {number for each in shown for number, _ in each.rows})
    samples: list[dict[str, Any]] = [
        {
            "key": each.key,
            "count": each.count,
            **({"partition": each.partition_path} if each.partition_path else {}),
            "rows": [_place(names[number], row) for number, row in each.rows],
        }
        for each in shown
    ]
    first = shown[0]
    return AuditFailedError(
        "audit/duplicate-keys",
        f"{groups:,} record keys of ({', '.join(rule.record_key)}) occur more than once in their"
        f" {rule.scope}, in {rows:,} rows; for example {first.key}, {first.count:,} times",
        report=_report(rule, "duplicate-keys", groups=groups, rows=rows, samples=samples)
        | {"exact": counted is None},
        where=_where(keys, samples[0]["rows"][0]),
        remedy="Add columns to `record_key` until it is unique, or correct the source.",
    )


def new_duplicates_error(
    rule: KeyRule, table: str, duplicates: Sequence[DuplicateKey], rows: int
) -> AuditFailedError:
    """Return the refusal for new keys that are in several written rows; `rows` at most.

    `duplicates` may be empty if there were too many to compare each exactly.
    """
    samples = [
        {"key": each.key, "count": each.count, "partition": each.partition_path}
        for each in duplicates[:SAMPLES]
    ]
    example = f"; for example {duplicates[0].key}" if duplicates else ""
    return AuditFailedError(
        "audit/duplicate-keys",
        f"record keys of ({', '.join(rule.record_key)}) occur more than once among the new rows"
        f"{example}",
        report=_report(rule, "duplicate-keys", groups=len(duplicates), rows=rows, samples=samples),
        where=Where(table=table),
        remedy="Nothing was published. Report how the input was made: this is a bug in Lakestrap.",
    )


def nulls_error(
    keys: KeySource, rows: int, places: Iterable[tuple[str, str, int]]
) -> AuditFailedError:
    """Return the refusal for rows without a key; `places` are (file, partition, row) of a few."""
    rule = keys.rule
    samples = [_place((file, partition), row) for file, partition, row in places]
    return AuditFailedError(
        "audit/null-keys",
        f"{rows:,} rows have no value, or only part of one, for ({', '.join(rule.record_key)})",
        report=_report(rule, "null-keys", groups=0, rows=rows, samples=samples),
        where=_where(keys, samples[0]) if samples else None,
        remedy="Choose columns that are never null or empty, or correct the source.",
    )


def _report(rule: KeyRule, check: str, **found: Any) -> dict[str, object]:
    """Return the fields that all reports have."""
    return {
        "check": check,
        "columns": list(rule.record_key),
        "scope": rule.scope.value,
        **found,
    }


def _place(name: tuple[str, str], row: int) -> dict[str, object]:
    """Return one row's place: file and partition relative to the source, row from 0."""
    file, partition = name
    return {"file": file, "partition": partition, "row": row}


def _where(keys: KeySource, place: Mapping[str, Any]) -> Where:
    """Return where a row is, for people: its file's full location."""
    return Where(file=f"{keys.source}/{place['file']}", partition=place["partition"] or None)


def _names(handle: InventoryHandle, numbers: set[int]) -> dict[int, tuple[str, str]]:
    """Return path and partition of each numbered source file."""
    found = {}
    for number in sorted(numbers):
        for file in read_files(handle, number, number + 1):
            found[number] = file.fingerprint.path, file.partition_path
    return found
