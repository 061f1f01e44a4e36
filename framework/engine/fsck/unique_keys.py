"""Proof that keys of the latest slices are unique in their scope, in bounded memory.

Two rounds of tasks over the slices, like the gate of a bootstrap: hashes of all keys are spilled
by bucket and compared; only keys whose hashes are equal are read again and compared as texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.audit.candidates import compare_buckets
from framework.engine.audit.spill import SpillWriter, bucket_bits, is_among, scope_mix
from framework.engine.fsck.findings import Check, Severity, TableFinding
from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_columns
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import MetaField
from framework.vocabulary import KeyScope

__all__ = ["KeysProven", "key_task", "prove_keys", "same_task"]

_KEY: Final = MetaField.RECORD_KEY.value
_MOST: Final = 10_000
"""Equal hashes that are compared as texts; more are only counted."""
_SHOWN: Final = 20
_ROWS_EACH: Final = 1 << 20
"""Rows per slice that the number of buckets assumes; it decides speed, not the result."""
_LEAST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySlice:
    """One slice: its number among all, its partition and its files."""

    number: int
    partition_path: str
    files: SliceFiles
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTask:
    """Some slices whose keys are hashed, or read again.

    Attributes:
        slices: how slices are read.
        scratch: location of a folder outside the table.
        by_partition: whether keys are unique in each partition only.
        bits: of a hash that choose its bucket.
        hashes: path of the sorted hashes to look for; "" in the first round.
        works: the slices.
    """

    slices: SliceTable
    scratch: str
    by_partition: bool
    bits: int
    works: tuple[KeySlice, ...]
    hashes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysHashed:
    """The spill of a task, its rows, and its slices with null keys."""

    spill: str
    rows: int
    without: dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SameKeys:
    """Keys with one of the hashes: partition ("" for the table), key, rows, number of a slice."""

    found: list[tuple[str, str, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysProven:
    """The number of keys that were compared, and findings."""

    keys: int
    findings: tuple[TableFinding, ...]


def prove_keys(
    tasks: Tasks, table: SliceTable, slices: Sequence[FileSlice], scope: KeyScope, scratch: str
) -> KeysProven:
    """Return the duplicate and missing keys of the latest slices.

    Args:
        tasks: run the work.
        table: how slices are read.
        slices: the latest slices.
        scope: where keys are unique.
        scratch: location of an empty folder for spills, eight bytes per row.

    Raises:
        CorruptFileError, SourceDriftError, UnsupportedTableError: a slice cannot be read.
    """
    works = [
        KeySlice(
            number=number,
            partition_path=each.group.partition_path,
            files=SliceFiles.of(each),
            bytes=each.total_size_bytes,
        )
        for number, each in enumerate(slices)
    ]
    bits = bucket_bits(len(works) * _ROWS_EACH)
    by_partition = scope is KeyScope.PARTITION

    def tasks_of(some: Sequence[KeySlice], hashes: str = "") -> list[str]:
        parts = shared(some, lambda each: each.bytes, tasks.parallelism, least=_LEAST_BYTES)
        return [
            encode(
                KeyTask(
                    slices=table,
                    scratch=scratch,
                    by_partition=by_partition,
                    bits=bits,
                    works=tuple(part),
                    hashes=hashes,
                )
            )
            for part in parts
        ]

    hashed = [decode(KeysHashed, each) for each in tasks.run(key_task, tasks_of(works))]
    findings = [
        _without(works[number], count)
        for each in hashed
        for number, count in sorted(each.without.items())
    ]
    spills = [each.spill for each in hashed]
    candidates = compare_buckets(tasks, scratch, spills, "candidates", _MOST)
    if candidates.hashes.size:
        path = _stored(scratch, candidates.hashes)
        suspects = [works[number] for number in candidates.numbers.tolist()]
        found = [decode(SameKeys, s) for s in tasks.run(same_task, tasks_of(suspects, path))]
        findings += _duplicates(found, works, candidates.groups - candidates.hashes.size)
    return KeysProven(keys=sum(each.rows for each in hashed), findings=tuple(findings))


def key_task(descriptor: str) -> str:
    """Spill the hashes of the keys of a `KeyTask`; return `KeysHashed` as JSON.

    Holds the keys of one slice in memory.
    """
    task = decode(KeyTask, descriptor)
    path = f"{uuid4().hex}.spill"
    without: dict[int, int] = {}
    rows = 0
    with open_storage(task.scratch).create(path, durable=False) as out:
        spill = SpillWriter(out, task.bits)
        for work in task.works:
            keys = _keys(task, work)
            rows += len(keys)
            if keys.null_count:
                without[work.number] = keys.null_count
                keys = keys.drop_null()
            spill.add(work.number, key_hashes(keys) ^ _mix(task, work))
        spill.finish()
    return encode(KeysHashed(spill=path, rows=rows, without=without))


def same_task(descriptor: str) -> str:
    """Read the keys of a `KeyTask` again; return those with its hashes as `SameKeys`."""
    task = decode(KeyTask, descriptor)
    with open_storage(task.scratch).open_input(task.hashes) as stream:
        wanted = np.frombuffer(stream.read_buffer(), np.uint64)
    found: list[tuple[str, str, int, int]] = []
    for work in task.works:
        keys = _keys(task, work).drop_null()
        hashes = key_hashes(keys) ^ _mix(task, work)
        same = keys.filter(pa.array(is_among(hashes, wanted)))
        scope = work.partition_path if task.by_partition else ""
        counts = pc.value_counts(same).to_pylist()
        found += ((scope, each["values"], each["counts"], work.number) for each in counts)
    return encode(SameKeys(found=found))


def _keys(task: KeyTask, work: KeySlice) -> pa.Array:
    """Return the record keys of a slice's rows as one array."""
    column = slice_columns(task.slices, work.files, [_KEY])[_KEY]
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])


def _mix(task: KeyTask, work: KeySlice) -> np.uint64:
    """Return what makes hashes of other partitions differ, if keys may repeat there."""
    return scope_mix(work.partition_path, by_partition=task.by_partition)


def _stored(scratch: str, hashes: np.ndarray) -> str:
    """Store the hashes to look for and return their path."""
    path = f"{uuid4().hex}.hashes"
    with open_storage(scratch).create(path, durable=False) as out:
        out.write(hashes.tobytes())
    return path


def _without(work: KeySlice, rows: int) -> TableFinding:
    return TableFinding(
        check=Check.KEYS,
        severity=Severity.ERROR,
        condition="fsck/null-keys",
        message=f"{rows:,} rows have no record key: no writer can update or delete them",
        remedy="Restore the table to an instant before, or load the rows again.",
        file=work.files.base or (work.files.logs[0].path if work.files.logs else ""),
        partition=work.partition_path,
    )


def _duplicates(
    found: Sequence[SameKeys], works: Sequence[KeySlice], more: int
) -> Iterator[TableFinding]:
    """Yield the keys that occur more than once, the first few of them one by one."""
    counts: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], list[int]] = {}
    for scope, key, count, number in (each for task in found for each in task.found):
        counts[scope, key] += count
        places.setdefault((scope, key), []).append(number)
    repeated = sorted(each for each, count in counts.items() if count > 1)
    for each in repeated[:_SHOWN]:
        files = sorted(works[number].files.base or "" for number in places[each])
        partitions = {works[number].partition_path for number in places[each]}
        yield TableFinding(
            check=Check.KEYS,
            severity=Severity.ERROR,
            condition="fsck/duplicate-keys",
            message=f"key {each[1]!r} is in {counts[each]:,} rows"
            + (f" of {len(files)} file groups" if len(files) > 1 else ""),
            remedy="Delete the key and load its row again, or restore the table.",
            file=files[0],
            partition=min(partitions) if len(partitions) == 1 else None,
        )
    left = len(repeated) - _SHOWN + more
    if left > 0:
        yield TableFinding(
            check=Check.KEYS,
            severity=Severity.ERROR,
            condition="fsck/duplicate-keys",
            message=f"{left:,} more keys are in several rows",
            remedy="Delete the keys and load their rows again, or restore the table.",
        )
