"""What the steps of a load hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from framework.engine.audit.account import Account
from framework.engine.audit.screen import NOTHING, Screened
from framework.engine.load.job import InputFile, LoadJob
from framework.engine.reading.table import Table
from framework.engine.run.inspection import Intake
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles

__all__ = ["AuditedLoad", "Opened", "Pinned", "WrittenLoad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A load whose instant is pending.

    Attributes:
        transaction: the pending instant.
        table: the table as it was when the load began, None where the load makes it.
    """

    transaction: Transaction
    table: Table | None

    @property
    def intent(self) -> Intent:
        """What the run is about to publish."""
        return self.transaction.intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The input, pinned to files.

    Attributes:
        files: in the order of the rows; those that lose rows to checks say where.
        found: the input's columns as its files have them.
        schema: the table's columns after the load, without meta columns.
        job: what tasks are given.
        rows: rows of the files, also those that checks take out.
        row_bytes: bytes that a row takes in the input, at least 1.
        screened: rows that checks took out.
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
        files: what was written; nothing where partitions are deleted.
        schema: the table's columns after the load, without meta columns.
        intake: rows that came in, and those that were taken out.
        account: what became of the rows.
        overwritten: partitions that the input has rows of; None where there is no input.
    """

    files: WrittenFiles
    schema: pa.Schema
    intake: Intake
    account: Account
    overwritten: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedLoad:
    """Files that the gate lets through.

    Attributes:
        files: with their proof.
        schema: as of `WrittenLoad`.
        screened: rows that were taken out.
        replaced: file ids that the commit hides, by partition path.
    """

    files: AuditedFiles
    schema: pa.Schema
    screened: Screened
    replaced: Mapping[str, tuple[str, ...]]
