"""The gate of clustering: new file groups have exactly the records of the slices they replace.

It reads the written files back from the storage, and the slices once more. Rows may be in another
order, so the key, commit time and sequence number of all rows of a group are sorted and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from framework.engine.audit.rewritten import KEPT_COLUMNS, differ, stored_rows
from framework.engine.audit.stored import read_back
from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_columns
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.commit.segments import merge_segments
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import AuditDepth

__all__ = ["Regrouped", "audit_regrouped", "regrouped_task"]

_PROOF_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrouped:
    """Slices of one partition, and the files that may have been written of them.

    Attributes:
        partition_path: the partition.
        files: of the slices.
        names: of the written files; those that were not needed do not exist.
        staged: paths of the written files in the table, set by the audit.
    """

    partition_path: str
    files: tuple[SliceFiles, ...]
    names: tuple[str, ...]
    staged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegroupedTask:
    """One group to compare."""

    slices: SliceTable
    group: Regrouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The number of records that are the same before and after."""

    rows: int


def audit_regrouped(
    tasks: Tasks, written: WrittenFiles, slices: SliceTable, groups: Sequence[Regrouped]
) -> AuditedFiles:
    """Compare the files written of each group with the group's slices, record by record.

    Args:
        tasks: run the comparison; each holds three columns of one group, twice.
        written: the files.
        slices: how the slices are read.
        groups: all of them.

    Raises:
        CorruptFileError: `audit/records-differ`, or see `read_back`; nothing is published.
    """
    staged = _staged(slices.location, written)
    descriptors = []
    for each in groups:
        found = tuple(staged.pop(name) for name in each.names if name in staged)
        group = Regrouped(
            partition_path=each.partition_path, files=each.files, names=each.names, staged=found
        )
        descriptors.append(encode(RegroupedTask(slices=slices, group=group)))
    rows = sum(decode(Compared, each).rows for each in tasks.run(regrouped_task, descriptors))
    if rows != written.rows or staged:
        raise differ(slices.location, f"{rows:,} of {written.rows:,} records were compared")
    stored = read_back(tasks, written, slices.location, AuditDepth.SAMPLE)
    proof = {
        "version": _PROOF_VERSION,
        "method": "records kept, in another order",
        "files": written.files,
        "rows": rows,
        "partitions": len({each.partition_path for each in groups}),
        "columns": list(KEPT_COLUMNS),
        "read_back": stored.as_json(),
    }
    return AuditedFiles(written=written, proof=proof)


def regrouped_task(descriptor: str) -> str:
    """Compare the group of a `RegroupedTask`; return the `Compared` as JSON.

    Raises:
        CorruptFileError: `audit/records-differ`.
    """
    task = decode(RegroupedTask, descriptor)
    group, location = task.group, task.slices.location
    before = _sorted(slice_columns(task.slices, each, KEPT_COLUMNS) for each in group.files)
    after = _sorted(stored_rows(location, each) for each in group.staged)
    if not before.equals(after):
        where = f"{location}/{group.staged[0] if group.staged else group.partition_path}"
        raise differ(where, f"{before.num_rows:,} records before, {after.num_rows:,} after")
    return encode(Compared(rows=after.num_rows))


def _staged(location: str, written: WrittenFiles) -> dict[str, str]:
    """Return the paths of written files by name."""
    found: dict[str, str] = {}
    for batch in merge_segments(open_storage(location), written.segments):
        names = batch["name"].to_pylist()
        found.update(zip(names, batch["staged"].to_pylist(), strict=True))
    return found


def _sorted(parts: Iterable[pa.Table]) -> pa.Table:
    """Return the compared columns of all parts in one order that depends on their values only."""
    schema = pa.schema([pa.field(name, pa.string()) for name in KEPT_COLUMNS])
    whole = [part.select(KEPT_COLUMNS).cast(schema) for part in parts]
    rows = pa.concat_tables([schema.empty_table(), *whole]).combine_chunks()
    return rows.sort_by([(name, "ascending") for name in reversed(KEPT_COLUMNS)]).combine_chunks()
