"""Input rows that the gate refuses: without a key, or with one that is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from framework.engine.load.dedup import Bucket
from framework.engine.load.input_rows import NullKeys
from framework.engine.load.job import InputFile, LoadJob
from framework.errors import AuditFailedError, Where

__all__ = ["TakenKey", "refuse_duplicates", "refuse_nulls", "refuse_taken"]

_SHOWN: Final = 50

TakenKey = tuple[str, str, int]
"""A key, the base file or log file group that has it, and its row there."""


def refuse_nulls(job: LoadJob, files: Sequence[InputFile], nulls: Sequence[NullKeys]) -> None:
    """Raise if input rows have no key.

    Raises:
        AuditFailedError: `audit/null-keys`.
    """
    rows = sum(each.rows for each in nulls)
    if not rows:
        return
    places = sorted(place for each in nulls for place in each.places)[:_SHOWN]
    samples = [_place(files, *place) for place in places]
    names = ", ".join(job.rule.record_key) or "_hoodie_record_key"
    raise AuditFailedError(
        "audit/null-keys",
        f"{rows:,} rows have no value, or only part of one, for ({names})",
        report=_report(job, "null-keys", groups=0, rows=rows, samples=samples),
        where=Where(file=samples[0]["file"]),
        remedy="Nothing was published. Correct the source, or exclude such rows in a transform.",
    )


def refuse_duplicates(job: LoadJob, files: Sequence[InputFile], buckets: Iterable[Bucket]) -> None:
    """Raise if keys of the input occur twice and the operation does not choose among them.

    Raises:
        AuditFailedError: `audit/duplicate-keys`.
    """
    found = list(buckets)
    groups = sum(each.repeated for each in found)
    duplicates = sorted(sample for each in found for sample in each.duplicates)[:_SHOWN]
    if not duplicates:
        return
    samples = [
        {"key": key, "count": count, "rows": [_place(files, *place) for place in places]}
        for key, count, places in duplicates
    ]
    key, count, ((file, _), *_) = duplicates[0]
    raise AuditFailedError(
        "audit/duplicate-keys",
        f"{groups:,} record keys occur more than once in the input;"
        f" for example {key}, {count:,} times",
        report=_report(job, "duplicate-keys", groups=groups, rows=_rows(samples), samples=samples),
        where=Where(file=files[file].path),
        remedy="Nothing was published. Correct the source, or use `operation: upsert`.",
    )


def refuse_taken(job: LoadJob, rows: int, taken: Sequence[TakenKey]) -> None:
    """Raise for input keys that the table already has; `taken` are some of them.

    Raises:
        AuditFailedError: `audit/taken-keys`.
    """
    samples = [
        {"key": key, "count": 1, "rows": [{"file": file, "row": row}]} for key, file, row in taken
    ]
    raise AuditFailedError(
        "audit/taken-keys",
        f"{rows:,} record keys of the input are already in the table;"
        f" for example {taken[0][0]}, in row {taken[0][2]:,} of {taken[0][1]}",
        report=_report(job, "taken-keys", groups=rows, rows=rows, samples=samples),
        where=Where(table=job.table, file=taken[0][1]),
        remedy="Nothing was published. Use `operation: upsert`, or exclude such rows.",
    )


def _rows(samples: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of rows that the samples stand for."""
    return sum(int(each["count"]) for each in samples)


def _place(files: Sequence[InputFile], number: int, row: int) -> dict[str, Any]:
    """Return one input row's place, row from 0."""
    return {"file": files[number].path, "row": row}


def _report(job: LoadJob, check: str, **found: Any) -> dict[str, object]:
    """Return the report, with the fields that all reports of the gate have."""
    rule = job.rule
    return {
        "check": check,
        "columns": list(rule.record_key),
        "scope": rule.scope.value,
        **found,
    }
