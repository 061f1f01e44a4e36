"""The task of a load that writes input rows straight into new files, without files in between.

A pure function of its descriptor and of files that do not change meanwhile. Like the task that
writes file groups, it writes a segment of statuses, and a spill with the hashes of all keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.audit.spill import SpillWriter, scope_mix
from framework.engine.load.group_rows import (
    Changes,
    GrowingFile,
    NewFile,
    bloom_of,
    combined,
    footers_of,
    whole,
)
from framework.engine.load.input_rows import (
    KEY,
    NullKeys,
    by_code,
    paths_of,
    piece_columns,
    piece_keys,
    pieces_of,
)
from framework.engine.load.job import InputFile, LoadJob
from framework.engine.run.durable_files import FileStore
from framework.engine.tasks import decode, encode, release_memory
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.commit.segments import SegmentRef, write_segment
from framework.hudi.commit.statuses import FileStatus, Statuses
from framework.hudi.commit.task_files import NewName, TaskFiles
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import KeyScope

__all__ = ["NewFilesTask", "NewFilesWritten", "new_files_task"]

_HELD_ROWS: Final = 1 << 20
_HELD_BYTES: Final = 256 << 20
"""Rows, or their bytes in memory, after which each open file gets a row group of what it holds."""
_OPEN_ROWS: Final = 8 << 20
_OPEN_BYTES: Final = 256 << 20
"""Rows of all open files, or their bytes as in the input, after which the largest is completed: a
task holds the files' bytes and keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFilesTask:
    """Some input files, all of whose rows are new.

    Attributes:
        job: the load.
        files: the input files.
        number: the task's; its files are numbered from it on, in steps of `tasks`.
        tasks: their number.
        row_bytes: size of a row in the input.
        file_rows: most rows of a file.
    """

    job: LoadJob
    files: tuple[InputFile, ...]
    number: int
    tasks: int
    row_bytes: float
    file_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFilesWritten:
    """The result of a task.

    Attributes:
        segment: statuses of the files.
        rows: rows of the input.
        paths: the partitions with rows.
        nulls: rows without a key; if there are any, files are missing.
    """

    segment: SegmentRef
    rows: int
    paths: tuple[str, ...]
    nulls: NullKeys


def new_files_task(descriptor: str) -> str:
    """Write the rows of a `NewFilesTask`; return the `NewFilesWritten` as JSON.

    Holds about a million rows, and the bytes and keys of the files that are not complete.

    Raises:
        SourceDriftError, CorruptFileError, PlanError: as in `incoming_task`.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(NewFilesTask, descriptor)
    job, nulls, rows = task.job, NullKeys(), 0
    storage = job.storage()
    segment = join(job.folder, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = SpillWriter(stack.enter_context(storage.create(f"{segment}.spill")), job.bits)
        store = stack.enter_context(FileStore(storage))
        made = _NewFiles(task, storage, store, spill)
        for data, keys in _keyed(task, nulls):
            rows += data.num_rows
            if not nulls.rows:
                made.add(paths_of(job, data), data.append_column(KEY, keys))
        made.finish()
        spill.finish()
    return encode(
        NewFilesWritten(
            segment=write_segment(storage, segment, made.statuses.table(store.checksums())),
            rows=rows,
            paths=tuple(sorted(made.paths, key=str.encode)),
            nulls=nulls,
        )
    )


def _keyed(task: NewFilesTask, nulls: NullKeys) -> Iterator[tuple[pa.Table, pa.ChunkedArray]]:
    """Yield the rows of the input in pieces, of the same types, with their keys.

    Texts that the first file has as small dictionaries are dictionaries in all pieces.
    """
    kinds: pa.Schema | None = None
    for file in task.files:
        texts = None if kinds is None else _dictionaries(kinds)
        for piece in pieces_of(task.job, file, encoded=texts):
            data = piece_columns(task.job, piece)
            if kinds is None:
                kinds, texts = data.schema, _dictionaries(data.schema)
            yield _as(data, kinds), piece_keys(task.job, piece, data, nulls)


def _dictionaries(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that are dictionaries."""
    return [field.name for field in schema if pa.types.is_dictionary(field.type)]


def _as(data: pa.Table, kinds: pa.Schema) -> pa.Table:
    """Return rows with texts as dictionaries where `kinds` has them so."""
    columns = [
        column.dictionary_encode()
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type)
        else column
        for field, column in zip(kinds, data.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=kinds)


class _NewFile:
    """One new file of a partition; it holds rows until they make a row group."""

    def __init__(self, job: LoadJob, path: str, number: int) -> None:
        self.file_id = job.new_file_id(path, number)
        self.path = path
        self.number = number
        self.name = job.base_name(self.file_id, number)
        self.rows = 0
        self._job = job
        self._made = GrowingFile(job, self.name, None)
        self._held: list[pa.Table] = []
        self._keys: list[pa.Array] = []
        self._written = 0

    def hold(self, rows: pa.Table) -> None:
        """Add rows; they are encoded with the next row group."""
        self._held.append(rows)
        self.rows += rows.num_rows

    def write(self) -> np.ndarray:
        """Encode the rows that it holds, and return the hashes of their keys."""
        if not self._held:
            return np.empty(0, np.uint64)
        numbers = RowNumbers(instant=self._job.instant, number=self.number)
        file = NewFile(name=self.name, partition_path=self.path, numbers=numbers)
        changes = Changes.of_new(pa.concat_tables(self._held))
        found = combined(None, changes, replace(file, first=self._written), ordering=None)
        self._made.add(found)
        self._keys.append(found.keys)
        self._written += found.rows
        self._held = []
        return key_hashes(found.keys)

    def finish(self) -> tuple[bytes, tuple[str | None, str | None]]:
        """Return the file, and its least and greatest key; nothing may be held.

        Raises:
            CorruptFileError: `bootstrap/read-back-differs`.
        """
        keys = pa.chunked_array(self._keys, pa.string())
        found = pc.min_max(keys)
        bounds = found["min"].as_py(), found["max"].as_py()
        footers = footers_of(self._job, bounds, bloom_of(self._job, keys))
        return self._made.written(footers), bounds


class _NewFiles:
    """The files of a task, at most one open in each partition."""

    def __init__(
        self, task: NewFilesTask, storage: Storage, store: FileStore, spill: SpillWriter
    ) -> None:
        self.paths: set[str] = set()
        self.statuses = Statuses()
        self._task = task
        self._store = store
        self._spill = spill
        self._files = TaskFiles(storage, task.job.attempts, task.job.instant)
        self._mixed = task.job.rule.scope is KeyScope.PARTITION
        self._most = min(_OPEN_ROWS, int(_OPEN_BYTES / task.row_bytes))
        self._open: dict[str, _NewFile] = {}
        self._next = task.number
        self._held_rows = self._held_bytes = 0

    def add(self, paths: pa.DictionaryArray, rows: pa.Table) -> None:
        """Add rows, each to the open file of its partition."""
        step = max(1, int(rows.num_rows * min(1.0, _HELD_BYTES / max(rows.nbytes, 1))))
        for at in range(0, rows.num_rows, step):
            self._add(paths.slice(at, step), rows.slice(at, step))

    def _add(self, paths: pa.DictionaryArray, rows: pa.Table) -> None:
        """Add rows that may be held at once."""
        for path, some in _by_path(paths, rows):
            self._hold(path, some)
        self._held_rows += rows.num_rows
        self._held_bytes += rows.nbytes
        if self._held_rows >= _HELD_ROWS or self._held_bytes >= _HELD_BYTES:
            self._write_all()

    def finish(self) -> None:
        """Complete all files."""
        for path in sorted(self._open, key=str.encode):
            self._complete(path)

    def _hold(self, path: str, rows: pa.Table) -> None:
        """Add rows of one partition."""
        self.paths.add(path)
        while rows.num_rows:
            file = self._open.get(path) or self._begin(path)
            room = self._task.file_rows - file.rows
            file.hold(rows.slice(0, room))
            rows = rows.slice(room)
            if file.rows >= self._task.file_rows:
                self._complete(path)

    def _begin(self, path: str) -> _NewFile:
        """Open the next file of a partition."""
        self._open[path] = file = _NewFile(self._task.job, path, self._next)
        self._next += self._task.tasks
        return file

    def _write_all(self) -> None:
        """Encode all rows that are held; complete the largest files if they are too large."""
        for file in self._open.values():
            self._encode(file)
        self._held_rows = self._held_bytes = 0
        release_memory()
        while sum(file.rows for file in self._open.values()) > self._most:
            self._complete(max(self._open, key=lambda path: self._open[path].rows))

    def _encode(self, file: _NewFile) -> None:
        """Encode the rows that a file holds."""
        hashes = file.write()
        if hashes.size:
            mix = scope_mix(file.path, by_partition=self._mixed)
            self._spill.add(file.number, hashes ^ mix)

    def _complete(self, path: str) -> None:
        """Store the open file of a partition."""
        file = self._open.pop(path)
        self._encode(file)
        data, bounds = file.finish()
        self._files.announce([NewName(path, file.name)])
        staged = self._files.path(path, file.name)
        self._store.put(staged, data)
        status = FileStatus(
            number=file.number,
            file_id=file.file_id,
            name=file.name,
            partition_path=path,
            staged=staged,
            size=len(data),
            rows=file.rows,
            inserts=file.rows,
            min_key=bounds[0],
            max_key=bounds[1],
            null_keys=0,
        )
        self.statuses.add(status)


def _by_path(paths: pa.DictionaryArray, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each partition, in their order."""
    names = paths.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], rows
        return
    codes = paths.indices.to_numpy()
    order: Any = pa.array(by_code(codes, len(names)))
    moved = pa.Table.from_arrays(
        [whole(column).take(order) for column in rows.columns], schema=rows.schema
    )
    start = 0
    for path, count in zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True):
        if count:
            yield path, moved.slice(start, count)
        start += count
