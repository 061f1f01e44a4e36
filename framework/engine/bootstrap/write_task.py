"""The task that writes base files: a pure function of its descriptor and the source's bytes.

For each source file it makes the keys in one pass, writes a skeleton or a full file into a folder
that no other attempt has, notes a status and spills the keys' hashes. It ends with one segment.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from framework.engine.audit.screen import excluded_rows
from framework.engine.audit.spill import SpillWriter, partition_mix
from framework.engine.bootstrap.job import WriteTask
from framework.engine.durable_files import FileStore
from framework.engine.tasks import decode, encode
from framework.hudi.bootstrap.folder_values import check_folder_values
from framework.hudi.bootstrap.full_record import write_full_record
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.names import base_file_name, file_id
from framework.hudi.bootstrap.skeleton import BaseFileTarget, WrittenBaseFile, write_skeleton
from framework.hudi.bootstrap.source_file import SourceReader, open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.segments import write_segment
from framework.hudi.commit.statuses import SourceFileStatus, Statuses
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import join
from framework.hudi.table.partition_path import partition_values
from framework.vocabulary import BootstrapMode, KeyScope

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.bootstrap.job import BootstrapJob, WorkRange
    from framework.hudi.storage.port import Storage

__all__ = ["write_files_task"]


def write_files_task(descriptor: str) -> str:
    """Write the files of a `WriteTask`; return the `SegmentRef` of their statuses as JSON.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
        CorruptFileError: a source file cannot be read, or what was written is not what was meant.
        CommitConflictError: `commit/fenced`; the run is over, nothing of this attempt is left.
        StorageError: as of `Storage.create`.
    """
    task = decode(WriteTask, descriptor)
    job = task.job
    table = _fenced(job)
    segment = join(job.segments, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = SpillWriter(stack.enter_context(table.create(f"{segment}.spill")), job.bits)
        store = stack.enter_context(FileStore(table))
        worker = _Worker(job, store, spill)
        for each in task.ranges:
            worker.write(each)
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
        keys = job.keys
        self._source = open_storage(keys.source)
        self._handle = keys.inventory
        self._rule = keys.rule
        self._key_schema = decode_schema(keys.key_schema)
        self._schema = decode_schema(job.schema)
        self._bloom = job.bloom
        self._mixed = self._rule.scope is KeyScope.PARTITION
        self._attempt = join(job.attempts, uuid4().hex)
        self._statuses = Statuses()

    def write(self, work: WorkRange) -> None:
        """Write the files of a range."""
        mode, gone = work.mode, excluded_rows(self._table, work.gone)
        for file in read_files(self._handle, work.start, work.stop):
            target = self._target(file, mode)
            with open_source(self._source, file.fingerprint) as reader:
                check_folder_values(reader, self._schema, target.values, file.partition_path)
                made = self._made(reader, target, mode, gone)
            self._note(file, mode, target, made)
            hashes = made.hashes
            if self._mixed:
                hashes = hashes ^ np.uint64(partition_mix(file.partition_path))
            self._spill.add(file.number, hashes)

    def statuses(self) -> pa.Table:
        """Return the statuses of all files, after they are stored."""
        return self._statuses.table(self._store.checksums())

    def _target(self, file: InventoryFile, mode: BootstrapMode) -> BaseFileTarget:
        """Return what is to be written for a source file."""
        identity = file_id(file.fingerprint.path, mode)
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
        self, reader: SourceReader, target: BaseFileTarget, mode: BootstrapMode, gone: np.ndarray
    ) -> WrittenBaseFile:
        """Return the base file."""
        if mode is BootstrapMode.METADATA_ONLY:
            return write_skeleton(reader, target)
        return write_full_record(reader, target, self._schema, self._job.avro_schema, gone=gone)

    def _note(
        self,
        file: InventoryFile,
        mode: BootstrapMode,
        target: BaseFileTarget,
        made: WrittenBaseFile,
    ) -> None:
        """Store the file and its status; its checksum is known later."""
        staged = join(self._attempt, target.name)
        self._store.put(staged, made.data)
        status = SourceFileStatus.of(file, mode, made.facts)
        size = len(made.data)
        self._statuses.add(
            replace(status, file_id=target.file_id, name=target.name, staged=staged, size=size)
        )
