"""Row conservation: every row of the input, and every row that was there, is accounted for."""

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
    """What became of the rows of a load's input; each counts once.

    Attributes:
        input: rows of the input.
        inserted: rows that are new in their partition, with those that moved there.
        updated: rows whose key was there in their partition, whichever version stayed.
        moved: those of `inserted` whose key was in another partition.
        superseded: rows left out, since another partition has a row with a greater ordering value.
        deleted: rows of a delete whose key was there.
        absent: rows of a delete whose key was not there.
        dropped: rows that gave way to another row of the input with their key.
        before: rows of each rewritten file group before, by number of the written file.
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
        """Return the counts, without those of single groups."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "before"}

    @property
    def accounted(self) -> int:
        """Rows of the input whose fate is known."""
        kept = self.inserted + self.updated + self.superseded
        return kept + self.deleted + self.absent + self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The statuses of all files added up; `checksum` is over number and checksum of each file."""

    rows: int
    checksum: str


def check_account(storage: Storage, written: WrittenFiles, account: Account) -> Survey:
    """Return the totals of the written files, which must agree with the account.

    Raises:
        CorruptFileError: `audit/rows-differ`; rows were lost or doubled on the way.
    """
    digest = hashlib.sha256()
    rows = inserts = 0
    for batch in merge_segments(storage, written.segments):
        rows += pc.sum(batch["rows"]).as_py() or 0
        inserts += pc.sum(batch["inserts"]).as_py() or 0
        for status in batch.select(_FOLLOWED).to_pylist():
            digest.update(f"{status['number']}:{status['crc32c']};".encode())
            _check_group(status, account.before)
    if inserts != account.inserted:
        raise _differs(f"{account.inserted:,} rows were to be inserted, {inserts:,} were written")
    if account.accounted != account.input:
        raise _differs(f"of {account.input:,} input rows {account.accounted:,} are accounted for")
    return Survey(rows=rows, checksum=digest.hexdigest()[:16])


_FOLLOWED = ["number", "name", "partition_path", "rows", "inserts", "deletes", "crc32c"]


def _check_group(status: Mapping[str, Any], before: Mapping[int, int]) -> None:
    """Raise where a rewritten group has not the rows that it should have."""
    old = before.get(status["number"])
    if old is not None and old + status["inserts"] - status["deletes"] != status["rows"]:
        raise _differs(
            f"a file group had {old:,} rows, takes {status['inserts']:,}, loses"
            f" {status['deletes']:,} and has {status['rows']:,}",
            Where(file=status["name"], partition=status["partition_path"] or None),
        )


def _differs(message: str, where: Where | None = None) -> CorruptFileError:
    """Return the error for rows that do not add up."""
    return CorruptFileError(
        "audit/rows-differ",
        f"rows were lost or doubled on the way: {message}",
        where=where,
        remedy="Nothing was published. Run again, and report it: this is a bug of Lakestrap.",
    )
