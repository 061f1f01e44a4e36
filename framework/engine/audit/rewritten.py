"""The gates of services: rewritten slices, or new groups in their place, have the same records.

They read the written files back from the storage, and the slices once more.

A rewritten slice has the same records, commit times and order as before. Clustering may leave rows
in another order, so the key, commit time and sequence number of all rows of a group are sorted and
compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.audit.stored import read_back
from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_columns
from framework.engine.tasks import Tasks, decode, encode
from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.commit.segments import merge_segments
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import MetaField
from framework.vocabulary import AuditDepth

__all__ = [
    "Regrouped",
    "RewrittenSlice",
    "audit_regrouped",
    "audit_rewritten",
    "regrouped_task",
    "rewritten_task",
]

_KEPT_COLUMNS: Final = tuple(
    each.value for each in (MetaField.COMMIT_TIME, MetaField.COMMIT_SEQNO, MetaField.RECORD_KEY)
)
"""The columns that are compared."""
_PROOF_VERSION: Final = 1
_FILES_PER_TASK: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenSlice:
    """A slice and the file written of it; `staged` is the path of that file in the table."""

    files: SliceFiles
    staged: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenTask:
    """Some rewritten slices to compare."""

    slices: SliceTable
    compared: tuple[RewrittenSlice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The number of records that are the same before and after."""

    rows: int


def audit_rewritten(
    tasks: Tasks, written: WrittenFiles, slices: SliceTable, files: Mapping[str, SliceFiles]
) -> AuditedFiles:
    """Compare each written file with the slice that it was written of, record by record.

    Args:
        tasks: run the comparison.
        written: the files.
        slices: how the slices are read.
        files: of the slices, by the name of the file that was written of each.

    Raises:
        CorruptFileError: `audit/records-differ`, or see `read_back`; nothing is published.
    """
    storage = open_storage(slices.location)
    compared = [
        RewrittenSlice(files=files[name], staged=staged, name=name)
        for batch in merge_segments(storage, written.segments)
        for name, staged in zip(batch["name"].to_pylist(), batch["staged"].to_pylist(), strict=True)
    ]
    descriptors = [
        encode(RewrittenTask(slices=slices, compared=tuple(compared[at : at + _FILES_PER_TASK])))
        for at in range(0, len(compared), _FILES_PER_TASK)
    ]
    rows = sum(decode(Compared, each).rows for each in tasks.run(rewritten_task, descriptors))
    if rows != written.rows or len(compared) != written.files:
        raise _differ(slices.location, f"{rows:,} of {written.rows:,} records were compared")
    return _proven(tasks, written, slices, "records kept")


def rewritten_task(descriptor: str) -> str:
    """Compare the slices of a `RewrittenTask`; return the `Compared` as JSON.

    Raises:
        CorruptFileError: `audit/records-differ`.
    """
    task = decode(RewrittenTask, descriptor)
    rows = 0
    for each in task.compared:
        before = slice_columns(task.slices, each.files, _KEPT_COLUMNS)
        after = _stored_rows(task.slices.location, each.staged)
        if before.num_rows != after.num_rows or not _same(before, after):
            raise _differ(f"{task.slices.location}/{each.staged}", f"{each.name} differs")
        rows += after.num_rows
    return encode(Compared(rows=rows))


def _stored_rows(location: str, path: str) -> pa.Table:
    """Return the compared columns of a stored file."""
    try:
        with open_storage(location).open_input(path) as stream:
            return pq.ParquetFile(stream).read(columns=list(_KEPT_COLUMNS))
    except UNREADABLE as error:
        raise _differ(f"{location}/{path}", str(error)) from error


def _same(before: pa.Table, after: pa.Table) -> bool:
    """Return whether all compared columns are equal, row by row."""
    pairs: Sequence[tuple[pa.ChunkedArray, pa.ChunkedArray]] = [
        (before[name].cast(pa.string()), after[name].cast(pa.string())) for name in _KEPT_COLUMNS
    ]
    return all(pc.all(pc.equal(*pair)).as_py() is not False for pair in pairs) and all(
        first.null_count == second.null_count for first, second in pairs
    )


def _proven(
    tasks: Tasks, written: WrittenFiles, slices: SliceTable, method: str, **counted: int
) -> AuditedFiles:
    """Return files whose records were all compared, after reading stored ones back."""
    stored = read_back(tasks, written, slices.location, AuditDepth.SAMPLE)
    proof = {
        "version": _PROOF_VERSION,
        "method": method,
        "files": written.files,
        "rows": written.rows,
        **counted,
        "columns": list(_KEPT_COLUMNS),
        "read_back": stored.as_json(),
    }
    return AuditedFiles(written=written, proof=proof)


def _differ(file: str, reason: str) -> CorruptFileError:
    """Return the error for a written file that is not its slice."""
    return CorruptFileError(
        "audit/records-differ",
        f"a rewritten slice does not have the records of the slice before: {reason}",
        where=Where(file=file),
        remedy="Nothing was published. Run again, and report it: this is a bug in Lakestrap.",
    )


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
        raise _differ(slices.location, f"{rows:,} of {written.rows:,} records were compared")
    partitions = len({each.partition_path for each in groups})
    method = "records kept, in another order"
    return _proven(tasks, written, slices, method, partitions=partitions)


def regrouped_task(descriptor: str) -> str:
    """Compare the group of a `RegroupedTask`; return the `Compared` as JSON.

    Raises:
        CorruptFileError: `audit/records-differ`.
    """
    task = decode(RegroupedTask, descriptor)
    group, location = task.group, task.slices.location
    before = _sorted(slice_columns(task.slices, each, _KEPT_COLUMNS) for each in group.files)
    after = _sorted(_stored_rows(location, each) for each in group.staged)
    if not before.equals(after):
        where = f"{location}/{group.staged[0] if group.staged else group.partition_path}"
        raise _differ(where, f"{before.num_rows:,} records before, {after.num_rows:,} after")
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
    schema = pa.schema([pa.field(name, pa.string()) for name in _KEPT_COLUMNS])
    whole = [part.select(_KEPT_COLUMNS).cast(schema) for part in parts]
    rows = pa.concat_tables([schema.empty_table(), *whole]).combine_chunks()
    return rows.sort_by([(name, "ascending") for name in reversed(_KEPT_COLUMNS)]).combine_chunks()
