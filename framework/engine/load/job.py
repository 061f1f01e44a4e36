"""Values that the tasks and steps of one load exchange.

Tasks get the job as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa

from framework.engine.audit.account import Account
from framework.engine.audit.screen import NOTHING, Screened
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.reading.table import Table
from framework.engine.reading.table_memory import TableMemory
from framework.engine.run.inspection import Intake
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.view.remote import ServiceAddress
from framework.vocabulary import WriteOperation

__all__ = [
    "BUCKET_ROWS",
    "NEW_KEYS_ONLY",
    "ROWS_PER_TASK",
    "AuditedLoad",
    "InputFile",
    "LoadJob",
    "Opened",
    "Pinned",
    "WrittenLoad",
]

BUCKET_ROWS: Final = 4_000_000
"""Rows that are deduplicated at a time: their hashes, held twice, take 64 MB of a task."""

ROWS_PER_TASK: Final = 250_000
"""Least rows of the input that are worth a task."""
NEW_KEYS_ONLY: Final = frozenset(
    {WriteOperation.INSERT, WriteOperation.BULK_INSERT, WriteOperation.INSERT_OVERWRITE}
)
"""Operations that refuse a key that the table has, or that occurs twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One pinned Parquet file of the input.

    Attributes:
        number: its place in the input, from 0; rows of a later file are later.
        path: absolute.
        size: bytes.
        mtime_ns: last modification.
        rows: as in its footer.
        gone: path in the table of the places of rows that are not loaded; "" if all are.
    """

    number: int
    path: str
    size: int
    mtime_ns: int
    rows: int
    gone: str = ""


@dataclass(frozen=True, kw_only=True)
class LoadJob:
    """One load.

    Attributes:
        table: location of the storage to write to.
        attempts: folder in it where each attempt of a task makes its own.
        folder: folder in it for files that tasks exchange.
        fence: file in it; without it the run is over.
        instant: requested time of the commit.
        operation: the write operation.
        rule: how rows get their key and partition path.
        schema: encoded Arrow schema of the table without meta columns.
        avro_schema: the same as Avro, with meta columns, for footers and log blocks.
        ordering: column whose greater value wins; None if the later write wins.
        bloom: the filter of each base file.
        slices: how existing slices are read.
        buckets: number of shares by key hash, if keys are unique in the whole table; 0 if rows
            are shared by their partition.
        bits: number of bits of a hash that choose its bucket in a spill.
        view: where tasks ask for slices; None if their descriptors name the files.
    """

    table: str
    attempts: str
    folder: str
    fence: str
    instant: str
    operation: WriteOperation
    rule: KeyRule
    schema: str
    avro_schema: str
    ordering: str | None
    bloom: BloomChoice
    slices: SliceTable
    buckets: int
    bits: int
    view: ServiceAddress | None = None

    @cached_property
    def table_schema(self) -> pa.Schema:
        """The table's columns."""
        return decode_schema(self.schema)

    @property
    def names_keys(self) -> bool:
        """Whether rows already have their record key: automatic keys, which no column holds."""
        return self.rule.is_automatic and self.operation in _BY_KEY

    def new_file_id(self, partition_path: str, number: int) -> str:
        """Return the file id of a new file group; `number` is its own in the partition."""
        name = f"lakestrap:{self.instant}:{partition_path}:{number}"
        return f"{uuid5(NAMESPACE_URL, name)}-0"

    def base_name(self, file_id: str, number: int) -> str:
        """Return the name of the base file that this load writes for a group."""
        return str(BaseFileName(file_id=file_id, write_token=f"{number}-0-0", instant=self.instant))

    def storage(self) -> Storage:
        """Return the table's storage, which rejects new files once the run is over."""
        return FencedStorage(open_storage(self.table), self.fence)


_BY_KEY = frozenset({WriteOperation.UPSERT, WriteOperation.DELETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A load whose instant is pending.

    Attributes:
        transaction: the pending instant.
        table: the table when the load started; None if the load creates it.
        memory: of the table; None if no commit is Lakestrap's.
    """

    transaction: Transaction
    table: Table | None
    memory: TableMemory | None

    @property
    def intent(self) -> Intent:
        """The intent that the run publishes."""
        return self.transaction.intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The input, pinned to files.

    Attributes:
        files: in the order of the rows; those with excluded rows name their places.
        found: the input's columns as in its files.
        schema: the table's columns after the load, without meta columns.
        job: what tasks get.
        rows: rows of the files, excluded ones included.
        row_bytes: size of a row in the input, at least 1.
        screened: the excluded rows.
    """

    files: tuple[InputFile, ...]
    found: pa.Schema
    schema: pa.Schema
    job: LoadJob
    rows: int
    row_bytes: float
    screened: Screened = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLoad:
    """The written files of a load, before the gate.

    Attributes:
        files: what was written; nothing if partitions are deleted.
        schema: the table's columns after the load, without meta columns.
        intake: rows that were read, and those that were excluded.
        account: the outcome of the rows.
        overwritten: partitions with rows of the input; None without input.
        plans: paths of the pending compactions that its log files depend on.
        uncompared: the input, if no row of it was compared with the others.
    """

    files: WrittenFiles
    schema: pa.Schema
    intake: Intake
    account: Account
    overwritten: frozenset[str] | None = None
    plans: tuple[str, ...] = ()
    uncompared: Pinned | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedLoad:
    """Files that passed the gate.

    Attributes:
        files: with their proof.
        schema: as in `WrittenLoad`.
        screened: the excluded rows.
        replaced: file ids that the commit hides, by partition path.
        plans: as in `WrittenLoad`.
    """

    files: AuditedFiles
    schema: pa.Schema
    screened: Screened
    replaced: Mapping[str, tuple[str, ...]]
    plans: tuple[str, ...] = ()
