"""Exact comparison of keys whose hashes are equal, with the rows that have them.

A task reads the keys of some files again and keeps those with a candidate hash: per key the number
of its rows and the first few of them. The driver merges the findings of the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

import numpy as np

from framework.engine.audit.keys import HashedKeys, KeySource, source_keys, staged_keys
from framework.engine.audit.spill import is_among, partition_mix
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import join

__all__ = [
    "CandidateTask",
    "DuplicateKey",
    "FoundKeys",
    "SuspectFile",
    "check_task",
    "duplicate_keys",
]

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
        mix = np.uint64(partition_mix(scope) if task.by_partition else 0)
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
