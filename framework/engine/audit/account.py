"""Row conservation: every input row, and every earlier row, is accounted for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow.compute as pc

from framework.errors import CorruptFileError, Where
from framework.hudi.commit.segments import merge_segments
from framework.hudi.commit.statuses import WrittenFiles
from framework.hudi.storage.port import Storage

__all__ = ["Account", "Survey", "check_account"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The outcome of a load's input rows; each counts once.

    Attributes:
        input: rows of the input.
        inserted: rows that are new in their partition, moved ones included.
        updated: rows whose key existed in their partition, whichever version won.
        moved: those of `inserted` whose key existed in another partition.
        superseded: rows left out since another partition has a row with a greater ordering value.
        deleted: rows of a delete whose key existed.
        absent: rows of a delete whose key did not exist.
        dropped: rows that lost to another row of the input with their key.
        before: former rows of each rewritten file group, by number of the written file.
    """

    input: int
    inserted: int = 0
    updated: int = 0
    moved: int = 0
    superseded: int = 0
    deleted: int = 0
    absent: int = 0
    dropped: int = 0
    before: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    def as_json(self) -> dict[str, int]:
        """Return the counts, without those per group."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "before"}

    @property
    def accounted(self) -> int:
        """Number of input rows that are accounted for."""
        kept = self.inserted + self.updated + self.superseded
        return kept + self.deleted + self.absent + self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The totals of all files' statuses.

    Attributes:
        rows: of all files.
        checksum: over number and checksum of each file.
        null_keys: rows without a key that were written.
    """

    rows: int
    checksum: str
    null_keys: int


def check_account(storage: Storage, written: WrittenFiles, account: Account) -> Survey:
    """Return the totals of the written files, after comparing them with the account.

    Raises:
        CorruptFileError: `audit/rows-differ`; rows were lost or duplicated.
    """
    digest = hashlib.sha256()
    rows = inserts = nulls = 0
    for batch in merge_segments(storage, written.segments):
        rows += pc.sum(batch["rows"]).as_py() or 0
        inserts += pc.sum(batch["inserts"]).as_py() or 0
        nulls += pc.sum(batch["null_keys"]).as_py() or 0
        for status in batch.select(_FOLLOWED).to_pylist():
            digest.update(f"{status['number']}:{status['crc32c']};".encode())
            _check_group(status, account.before)
    if inserts != account.inserted:
        raise _differs(f"{account.inserted:,} rows should be inserted, {inserts:,} were written")
    if account.accounted != account.input:
        raise _differs(f"of {account.input:,} input rows {account.accounted:,} are accounted for")
    if nulls:
        raise _differs(f"{nulls:,} rows were written without a key")
    return Survey(rows=rows, checksum=digest.hexdigest()[:16], null_keys=nulls)


_FOLLOWED = ["number", "name", "partition_path", "rows", "inserts", "deletes", "crc32c"]


def _check_group(status: Mapping[str, Any], before: Mapping[int, int]) -> None:
    """Raise if a rewritten group does not have the rows that it should have."""
    old = before.get(status["number"])
    if old is not None and old + status["inserts"] - status["deletes"] != status["rows"]:
        raise _differs(
            f"a file group had {old:,} rows, gained {status['inserts']:,}, lost"
            f" {status['deletes']:,} and now has {status['rows']:,}",
            Where(file=status["name"], partition=status["partition_path"] or None),
        )


def _differs(message: str, where: Where | None = None) -> CorruptFileError:
    return CorruptFileError(
        "audit/rows-differ",
        f"rows were lost or duplicated: {message}",
        where=where,
        remedy="Nothing was published. Run again, and report it: this is a bug in Lakestrap.",
    )
