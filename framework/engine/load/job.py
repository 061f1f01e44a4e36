"""What every task of one load gets: frozen values that travel as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

from framework.engine.reading.slice_rows import SliceTable
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.view.remote import ServiceAddress
from framework.vocabulary import WriteOperation

__all__ = ["BUCKET_ROWS", "InputFile", "LoadJob"]

BUCKET_ROWS: Final = 4_000_000
"""Rows that are put together at a time: their hashes, held twice, take 64 MB of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One pinned Parquet file of the input.

    Attributes:
        number: its place in the input, from 0; rows of a later file are later.
        path: absolute.
        size: bytes.
        mtime_ns: last modification.
        rows: as its footer says.
        gone: path in the table of the places of rows that are not loaded, "" where all are.
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
        table: location of the storage that is written to.
        attempts: folder in it where each attempt of a task makes its own.
        folder: folder in it for what tasks hand to each other.
        fence: file in it without which the run is over.
        instant: requested time of the commit.
        operation: what is done.
        rule: how rows get their key and partition path.
        schema: encoded Arrow schema of the table without meta columns.
        avro_schema: the same as Avro, with meta columns, for footers and log blocks.
        ordering: column whose greater value wins, None where the later write does.
        bloom: the filter that each base file gets.
        slices: what existing slices are read with.
        buckets: how many shares keys are hashed into where they are unique in the whole table; 0
            where rows are shared by their partition.
        bits: how many bits of a hash choose its bucket in a spill.
        view: where tasks ask for slices, None where their descriptors name the files.
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
        """Whether rows bring their record key along: automatic keys, which no column holds."""
        return self.rule.is_automatic and self.operation in _BY_KEY

    def storage(self) -> Storage:
        """Return the table's storage, which refuses new files once the run is over."""
        return FencedStorage(open_storage(self.table), self.fence)


_BY_KEY = frozenset({WriteOperation.UPSERT, WriteOperation.DELETE})
