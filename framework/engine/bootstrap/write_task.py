"""The task that writes base files: a pure function of its descriptor and the source's bytes.

For each source file it makes the keys in one pass, writes a skeleton or a full file into a folder
that no other attempt has, notes a status and spills the keys' hashes. It ends with one segment.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from framework.engine.audit.screening import gone_rows
from framework.engine.audit.spill import SpillWriter, partition_mix
from framework.engine.bootstrap.job import BootstrapJob, WorkRange, WriteTask
from framework.engine.storing import FileStore
from framework.engine.tasks import decode, encode
from framework.hudi.bootstrap.folder_values import check_folder_values
from framework.hudi.bootstrap.full_record import write_full_record
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.key_pass import KeyPass
from framework.hudi.bootstrap.names import base_file_name, file_id
from framework.hudi.bootstrap.skeleton import BaseFileTarget, WrittenBaseFile, write_skeleton
from framework.hudi.bootstrap.source_file import SourceReader, open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.segments import SEGMENT_SCHEMA, write_segment
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.layout import join
from framework.hudi.table.partition_path import partition_values
from framework.vocabulary import FileKind, KeyScope

if TYPE_CHECKING:
    from framework.hudi.bootstrap.key_pass import KeyFacts
    from framework.hudi.storage.port import Storage

__all__ = ["write_files_task"]

_GATHERED: Final = 1024


def write_files_task(descriptor: str) -> str:
    """Write the files of a `WriteTask`; return the `SegmentRef` of their statuses as JSON.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
        CorruptFileError: a source file cannot be read, or what was written is not what was meant.
        CommitConflictError: `commit/fenced`; the run is over, nothing of this attempt is left.
        StorageError: as of `Storage.create`.
    """
    task = decode(WriteTask, descriptor)
    job = BootstrapJob(**task.job)
    table = _fenced(job)
    segment = join(job.segments, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = SpillWriter(stack.enter_context(table.create(f"{segment}.spill")), job.bits)
        store = stack.enter_context(FileStore(table))
        worker = _Worker(job, store, spill)
        for fields in task.ranges:
            worker.write(WorkRange(**fields))
        spill.finish()
    return encode(write_segment(table, segment, worker.statuses()))


def _fenced(job: BootstrapJob) -> Storage:
    """Return the table's storage, which refuses new files once the run is over."""
    table = open_storage(job.table)
    return FencedStorage(table, job.fence) if job.fence else table


class _Worker:
    """Writes one file after the other and gathers their statuses."""

    def __init__(self, job: BootstrapJob, store: FileStore, spill: SpillWriter) -> None:
        self._job = job
        self._store = store
        self._table = open_storage(job.table)
        self._spill = spill
        keys = job.key_source
        self._source = open_storage(keys.source)
        self._handle = keys.handle
        self._rule = keys.key_rule
        self._key_schema = decode_schema(keys.key_schema)
        self._schema = decode_schema(job.schema)
        self._bloom = job.bloom_choice
        self._mixed = self._rule.scope is KeyScope.PARTITION
        self._attempt = join(job.attempts, uuid4().hex)
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[pa.Table] = []

    def write(self, work: WorkRange) -> None:
        """Write the files of a range."""
        kind, gone = FileKind(work.kind), gone_rows(self._table, work.gone)
        for file in read_files(self._handle, work.start, work.stop):
            target = self._target(file, kind)
            with open_source(self._source, file.fingerprint) as reader:
                check_folder_values(reader, self._schema, target.values, file.partition_path)
                made = self._made(reader, target, kind, gone)
            self._note(file, kind, target, made)
            hashes = made.hashes
            if self._mixed:
                hashes = hashes ^ np.uint64(partition_mix(file.partition_path))
            self._spill.add(file.number, hashes)

    def statuses(self) -> pa.Table:
        """Return the statuses of all files, after they are stored."""
        self._gather()
        table = pa.concat_tables([SEGMENT_SCHEMA.empty_table(), *self._tables])
        checksums = self._store.checksums()
        if checksums:
            at = SEGMENT_SCHEMA.get_field_index("crc32c")
            field = SEGMENT_SCHEMA.field(at)
            table = table.set_column(at, field, pa.array(checksums, field.type))
        return table

    def _target(self, file: InventoryFile, kind: FileKind) -> BaseFileTarget:
        """Return what is to be written for a source file."""
        identity = file_id(file.fingerprint.path, kind)
        rule = self._rule
        return BaseFileTarget(
            instant=self._job.instant,
            number=file.number,
            partition_path=file.partition_path,
            file_id=identity,
            name=base_file_name(identity, file.number, self._job.instant),
            rule=rule,
            values=partition_values(file.partition_path, rule.partition, rule.layout),
            key_schema=self._key_schema,
            bloom=self._bloom,
        )

    def _made(
        self, reader: SourceReader, target: BaseFileTarget, kind: FileKind, gone: np.ndarray
    ) -> WrittenBaseFile:
        """Return the base file, or its keys alone where nothing is to be written."""
        if not self._job.write:
            return _keys_only(reader, target)
        if kind is FileKind.SKELETON:
            return write_skeleton(reader, target)
        return write_full_record(reader, target, self._schema, self._job.avro_schema, gone=gone)

    def _note(
        self, file: InventoryFile, kind: FileKind, target: BaseFileTarget, made: WrittenBaseFile
    ) -> None:
        """Store the file, if there is one, and its status."""
        staged = ""
        if self._job.write:
            staged = join(self._attempt, target.name)
            self._store.put(staged, made.data)
        status = {
            "number": file.number,
            "kind": kind.value,
            "file_id": target.file_id,
            "name": target.name,
            "partition_path": file.partition_path,
            "staged": staged,
            "size": len(made.data),
            "crc32c": 0,
            "source_path": file.fingerprint.path,
            "source_size": file.fingerprint.size,
            "source_mtime_ns": file.fingerprint.mtime_ns,
            **_counted(made.facts),
        }
        self._rows.append(tuple(status[name] for name in SEGMENT_SCHEMA.names))
        if len(self._rows) >= _GATHERED:
            self._gather()

    def _gather(self) -> None:
        """Turn the newest statuses into Arrow, which takes a tenth of the room."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(SEGMENT_SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SEGMENT_SCHEMA, strict=True)]
        self._tables.append(pa.Table.from_arrays(arrays, schema=SEGMENT_SCHEMA))
        self._rows = []


def _counted(facts: KeyFacts) -> dict[str, Any]:
    """Return the part of a status that follows from the rows; each of them is new."""
    return {
        "rows": facts.rows,
        "min_key": facts.min_key,
        "max_key": facts.max_key,
        "order_first": facts.order_first,
        "order_last": facts.order_last,
        "increasing": facts.increasing,
        "injective": facts.injective,
        "null_keys": facts.null_keys,
        "previous": None,
        "inserts": facts.rows,
        "updates": 0,
        "deletes": 0,
        "base_name": None,
    }


def _keys_only(reader: SourceReader, target: BaseFileTarget) -> WrittenBaseFile:
    """Return what is known of a file's keys, with no bytes."""
    keys = KeyPass(target.rule, target.values, None, target.numbers)
    schema = reader.schema_for_keys(target.key_schema, target.values)
    for group in reader.row_groups():
        for batch in reader.batches(group, schema):
            keys.add(batch)
    return WrittenBaseFile(data=b"", facts=keys.facts(), hashes=keys.hash64())
