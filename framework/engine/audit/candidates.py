"""Search for equal keys: by their hashes first, then exactly, with the rows that have them.

A task sorts some buckets of all spills and compares adjacent hashes. Every hash is in exactly one
bucket, so buckets are compared independently. Memory holds one bucket; a bucket that is too large,
such as one key occurring millions of times, is processed in passes by its next bits, and
repetitions are counted and discarded as they are read.

Another task reads the keys of some files again and keeps those with a candidate hash: per key the
number of its rows and the first few of them. The driver merges the findings of the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final
from uuid import uuid4

import numpy as np

from framework.engine.audit.keys import HashedKeys, KeySource, source_keys, staged_keys
from framework.engine.audit.spill import SpillReader, is_among, scope_mix
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.codecs.hash_sort import distinct, sort_hashes
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import join

__all__ = [
    "BucketTask",
    "CandidateTask",
    "Candidates",
    "DuplicateKey",
    "FoundKeys",
    "SuspectFile",
    "check_task",
    "compare_buckets",
    "compare_task",
    "duplicate_keys",
]

_PASS_ROWS: Final = 32 << 20
_TASK_ROWS: Final = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketTask:
    """Some adjacent buckets to compare.

    Attributes:
        table: location of the storage that holds the spills.
        spills: paths in it.
        folder: where the task writes its findings.
        start: first bucket, inclusive.
        stop: bucket after the last, exclusive.
        most: hashes to keep; more are only counted.
    """

    table: str
    spills: tuple[str, ...]
    folder: str
    start: int
    stop: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFindings:
    """The findings of a task: `groups` and `rows` as in `Candidates`.

    Attributes:
        path: a file of the `hashes` hashes that were kept, followed by the numbers of their
            files; "" if none.
    """

    groups: int
    rows: int
    path: str
    hashes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Hashes that occur more than once.

    Attributes:
        groups: number of different ones.
        rows: number of rows that have one of them.
        hashes: the smallest of them, sorted; all of them unless there are too many.
        numbers: files that contain one of `hashes`, sorted.
    """

    groups: int
    rows: int
    hashes: np.ndarray
    numbers: np.ndarray


def compare_buckets(
    tasks: Tasks, table: str, spills: Sequence[str], folder: str, most: int
) -> Candidates:
    """Compare all hashes of all spills; each task keeps at most `most` hashes."""
    readers = [SpillReader(open_storage(table), path) for path in spills]
    work = [
        encode(
            BucketTask(
                table=table, spills=tuple(spills), folder=folder, start=start, stop=stop, most=most
            )
        )
        for start, stop in _share(readers, tasks.parallelism)
    ]
    groups = rows = 0
    hashes = [np.empty(0, np.uint64)]
    numbers = [np.empty(0, np.int64)]
    for status in tasks.run(compare_task, work):
        found = decode(BucketFindings, status)
        groups, rows = groups + found.groups, rows + found.rows
        if found.path:
            with open_storage(table).open_input(found.path) as stream:
                data = memoryview(stream.read_buffer())
            cut = found.hashes * 8
            hashes.append(np.frombuffer(data[:cut], np.uint64))
            numbers.append(np.frombuffer(data[cut:], np.int64))
    return Candidates(
        groups=groups,
        rows=rows,
        hashes=distinct(np.concatenate(hashes)),
        numbers=distinct(np.concatenate(numbers)),
    )


def compare_task(descriptor: str) -> str:
    """Compare the buckets of a `BucketTask`; return the `BucketFindings` as JSON."""
    task = decode(BucketTask, descriptor)
    storage = open_storage(task.table)
    readers = [SpillReader(storage, path) for path in task.spills]
    groups = rows = 0
    kept: list[np.ndarray] = []
    numbers: list[np.ndarray] = []
    for bucket in range(task.start, task.stop):
        left = task.most - sum(map(len, kept))
        repeated, counted = _repeated(readers, bucket)
        groups, rows = groups + repeated.size, rows + counted
        repeated = repeated[:left]
        if repeated.size:
            kept.append(repeated)
            blocks = (block for reader in readers for block in reader.blocks(bucket))
            numbers += [block.files_with(repeated) for block in blocks]
    path = ""
    if kept:
        path = join(task.folder, f"{uuid4().hex}.candidates")
        with storage.create(path) as out:
            out.write(np.concatenate(kept).tobytes())
            out.write(distinct(np.concatenate(numbers)).tobytes())
    hashes = sum(map(len, kept))
    return encode(BucketFindings(groups=groups, rows=rows, path=path, hashes=hashes))


def _share(readers: Sequence[SpillReader], parallelism: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of buckets: about one per core, more if they hold very many rows."""
    if not readers:
        return
    buckets = 1 << readers[0].bits
    rows = sum(reader.rows(bucket) for reader in readers for bucket in range(buckets))
    parts = min(buckets, max(parallelism, -(-rows // (_TASK_ROWS * 8))))
    cuts = [buckets * part // parts for part in range(parts + 1)]
    yield from pairwise(cuts)


def _repeated(readers: Sequence[SpillReader], bucket: int) -> tuple[np.ndarray, int]:
    """Return the hashes of a bucket that occur more than once, sorted, and their occurrences."""
    rows = sum(reader.rows(bucket) for reader in readers)
    if rows <= _PASS_ROWS:
        return _neighbours(each for reader in readers for each in reader.hashes(bucket))
    passes = -(-rows // _PASS_ROWS)
    bits = readers[0].bits
    found = [
        _counted(
            _of_pass(each, bits, turn, passes)
            for reader in readers
            for each in reader.hashes(bucket)
        )
        for turn in range(passes)
    ]
    return np.concatenate([hashes for hashes, _ in found]), sum(count for _, count in found)


def _of_pass(hashes: np.ndarray, bits: int, turn: int, passes: int) -> np.ndarray:
    """Return the hashes that one of several passes compares, in ascending ranges."""
    middle = (hashes << np.uint64(bits)) >> np.uint64(32)
    chosen: np.ndarray = hashes[(middle * np.uint64(passes)) >> np.uint64(32) == turn]
    return chosen


def _neighbours(arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, int]:
    """Sort hashes; return those that occur more than once, and their total occurrences."""
    hashes = np.concatenate([np.empty(0, np.uint64), *arrays])
    sort_hashes(hashes)
    same = hashes[1:] == hashes[:-1]
    if not same.any():
        return np.empty(0, np.uint64), 0
    repeated = distinct(hashes[1:][same])
    return repeated, int(np.count_nonzero(same)) + repeated.size


def _counted(arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, int]:
    """Return the same as `_neighbours`, holding each different hash of an array only once."""
    pairs = [np.unique(each, return_counts=True) for each in arrays]
    hashes = np.concatenate([values for values, _ in pairs])
    counts = np.concatenate([count for _, count in pairs])
    values, places = np.unique(hashes, return_inverse=True)
    totals = np.bincount(places, weights=counts).astype(np.int64)
    return values[totals > 1], int(totals[totals > 1].sum())


_ROWS_KEPT: Final = 5
_FILES_PER_TASK: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectFile:
    """A file that contains candidate hashes.

    `staged` is "" if nothing was written; in a resumed run the file may already be at its `name`.
    """

    number: int
    staged: str
    partition_path: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTask:
    """Some files to search.

    Attributes:
        table: location of the storage that holds staged files and the audit's own.
        keys: how keys are computed again; None if all files are staged.
        folder: path for the findings of the task.
        hashes: path of the candidates, sorted uint64.
        by_partition: whether hashes are mixed with that of the partition.
        by_value: whether hashes are of typed values, not of texts; never of staged files.
        files: the files.
    """

    table: str
    keys: KeySource | None
    folder: str
    hashes: str
    by_partition: bool
    files: tuple[SuspectFile, ...]
    by_value: bool = False


@dataclass(slots=True, kw_only=True)
class DuplicateKey:
    """One key in its scope.

    Attributes:
        key: its text.
        partition_path: if the scope is a partition; else "".
        count: number of rows that have it.
        rows: (number of the source file, row in it from 0) of the first few.
    """

    key: str
    partition_path: str
    count: int = 0
    rows: list[tuple[int, int]] = field(default_factory=list)

    def add(self, count: int, rows: Sequence[tuple[int, int]]) -> None:
        """Add more rows."""
        self.count += count
        self.rows = sorted([*self.rows, *rows])[:_ROWS_KEPT]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKeys:
    """The file of a task's `DuplicateKey`s, one per line as JSON."""

    path: str


_Found = dict[tuple[str, str], DuplicateKey]


def duplicate_keys(
    tasks: Tasks, template: CandidateTask, files: Sequence[SuspectFile], hashes: np.ndarray
) -> list[DuplicateKey]:
    """Return each key that has a candidate hash and is in two rows of its scope, sorted.

    Args:
        tasks: read the files.
        template: has all fields but `hashes` and `files`.
        files: all files that contain candidate hashes.
        hashes: sorted candidates.
    """
    storage = open_storage(template.table)
    path = join(template.folder, f"{uuid4().hex}.hashes")
    with storage.create(path) as out:
        out.write(hashes.tobytes())
    work = [
        encode(replace(template, hashes=path, files=tuple(part)))
        for part in _parts(files, tasks.parallelism)
    ]
    found: _Found = {}
    for status in tasks.run(check_task, work):
        with storage.open_input(decode(FoundKeys, status).path) as stream:
            for line in stream.read().decode().splitlines():
                _add(found, decode(DuplicateKey, line))
    repeated = [each for each in found.values() if each.count > 1]
    return sorted(repeated, key=lambda each: (each.partition_path, each.key))


def check_task(descriptor: str) -> str:
    """Search the files of a `CandidateTask`; return where the findings are, as JSON."""
    task = decode(CandidateTask, descriptor)
    storage = open_storage(task.table)
    with storage.open_input(task.hashes) as stream:
        wanted = np.frombuffer(stream.read_buffer(), np.uint64)
    found: _Found = {}
    for file in task.files:
        scope = file.partition_path if task.by_partition else ""
        mix = scope_mix(scope, by_partition=task.by_partition)
        sought, before = np.sort(wanted ^ mix), 0
        for keys in _keys(task, file):
            for each in _matches(keys, sought, file.number, before):
                each.partition_path = scope
                _add(found, each)
            before += keys.hashes.size
    path = join(task.folder, f"{uuid4().hex}.found")
    with storage.create(path) as out:
        out.writelines(f"{encode(each)}\n".encode() for each in found.values())
    return encode(FoundKeys(path=path))


def _parts(files: Sequence[SuspectFile], parallelism: int) -> Iterator[Sequence[SuspectFile]]:
    """Yield the files in a few parts per core."""
    size = max(1, min(_FILES_PER_TASK, -(-len(files) // (parallelism * 2))))
    return (files[start : start + size] for start in range(0, len(files), size))


def _keys(task: CandidateTask, file: SuspectFile) -> Iterator[HashedKeys]:
    """Yield the file's keys from the written file, or else from the source."""
    if file.staged:
        placed = join(file.partition_path, file.name)
        staged = open_storage(task.table).stat(file.staged) is not None
        yield from staged_keys(task.table, file.staged if staged else placed)
        return
    if task.keys is None:
        raise ValueError("the file is not staged, and there is no source")
    yield from source_keys(task.keys, file.number, by_value=task.by_value)


def _matches(
    keys: HashedKeys, wanted: np.ndarray, number: int, before: int
) -> Iterator[DuplicateKey]:
    """Yield the keys of one batch with one of the sorted hashes, each once with its rows."""
    places = np.flatnonzero(is_among(keys.hashes, wanted))
    if not places.size:
        return
    encoded = keys.texts(places).dictionary_encode()
    codes = encoded.indices.to_numpy()
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(counts) - counts
    texts = encoded.dictionary.to_pylist()
    for text, count, start in zip(texts, counts.tolist(), starts.tolist(), strict=True):
        rows = places[order[start : start + min(count, _ROWS_KEPT)]] + before
        first = [(number, row) for row in rows.tolist()]
        yield DuplicateKey(key=text, partition_path="", count=count, rows=first)


def _add(found: _Found, each: DuplicateKey) -> None:
    """Merge the rows of a key into the findings."""
    name = each.partition_path, each.key
    known = found.setdefault(name, DuplicateKey(key=each.key, partition_path=each.partition_path))
    known.add(each.count, each.rows)
