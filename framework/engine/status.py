"""The state of a table and what endangers it; nothing is changed and no Spark is needed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from framework.engine.observe import observe_table
from framework.engine.quarantine.datasets import waiting
from framework.engine.table_files import table_files
from framework.hudi.commit.lease import current_lease
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import TABLE_VERSION
from framework.hudi.timeline.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
    from framework.engine.table_files import DiskUse, Slices, TableFiles
    from framework.hudi.commit.pending import Pending
    from framework.hudi.storage.port import Storage
    from framework.hudi.table.properties import TableProperties
    from framework.plan.observation import SourceDrift, TableState

__all__ = ["Danger", "TableStatus", "table_status"]

_SAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Danger:
    """Something that may lose or hide rows, and what to do about it."""

    condition: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """What `status` says.

    Attributes:
        location: the table.
        exists: whether a reader finds a table there.
        properties: its properties, None where there is none.
        completed: completed instants, ascending.
        pending: an earlier run that did not end, as words; "" where there is none.
        lease: who is at work; "" where nobody is.
        source: location of the source of an adopted table, "" otherwise.
        drift: how that source has changed, None where it was not looked at.
        slices: what the table consists of, None where there is no table.
        disk: what it takes on disk, None where there is no table.
        dangers: what may lose or hide rows; empty when all is well.
        aside: data sets of rows set aside that wait for somebody, oldest first.
    """

    location: str
    exists: bool
    properties: TableProperties | None
    completed: tuple[str, ...]
    pending: str
    lease: str
    source: str
    drift: SourceDrift | None
    slices: Slices | None
    dangers: tuple[Danger, ...]
    disk: DiskUse | None = None
    aside: tuple[QuarantinedBatch, ...] = ()


def table_status(location: str, quarantine: str | None = None) -> TableStatus:
    """Return the state of the table at `location`.

    Costs one listing of each folder of the table, and of its source where that is compared, and the
    head of each commit. Rows set aside are looked for where commits say, and at `quarantine`.

    Raises:
        CorruptFileError, StorageError: something of the table cannot be read.
    """
    storage = open_storage(location)
    table = observe_table(location)
    files = table_files(storage) if table.properties else None
    slices = files.slices if files else None
    pending, lease = find_pending(storage), _lease_text(storage)
    return TableStatus(
        location=storage.location,
        exists=table.properties is not None,
        properties=table.properties,
        completed=table.completed,
        pending=_pending_text(pending, is_live=bool(lease)),
        lease=lease,
        source=table.facts.source if table.facts else "",
        drift=table.drift,
        slices=slices,
        dangers=(*_damaged(files), *_dangers(table, slices, pending)),
        disk=files.disk if files else None,
        aside=waiting(location, quarantine),
    )


def _damaged(files: TableFiles | None) -> Iterator[Danger]:
    """Files and partitions that are not what commits recorded, one danger of each kind."""
    damages = sorted(files.damages if files else (), key=lambda each: each.condition)
    for condition, found in groupby(damages, key=lambda each: each.condition):
        same = list(found)
        samples = ", ".join(each.path for each in same[:_SAMPLES])
        yield Danger(
            condition=condition,
            message=f"{same[0].message}: {samples}"
            + (f" and {len(same) - _SAMPLES:,} more" if len(same) > _SAMPLES else ""),
            remedy=same[0].remedy,
        )


def _pending_text(pending: Pending | None, *, is_live: bool = False) -> str:
    """Return what stands unfinished, as words; a live run of ours is no remnant."""
    if pending is None:
        return ""
    at = f" at instant {pending.instant.requested_time}" if pending.instant else ""
    if is_live and pending.kind is not PendingKind.FOREIGN:
        return f"a run of ours is under way{at}"
    words = {
        PendingKind.FOREIGN: f"another writer has begun{at} and not ended",
        PendingKind.DEAD_RUN: f"a run of ours was cut off{at}; run goes on with it, or undoes it",
        PendingKind.UNFINISHED: f"a published run{at} has steps left to do; run finishes them",
        PendingKind.ORPHANS: f"leftovers of a run{at} that never began; run removes them",
    }
    return words[pending.kind]


def _lease_text(storage: Storage) -> str:
    lease = current_lease(storage)
    if lease is None or lease.is_over(SystemClock()):
        return ""
    return f"process {lease.owner.pid} on {lease.owner.host}"


def _dangers(table: TableState, slices: Slices | None, pending: Pending | None) -> Iterator[Danger]:
    """Everything that makes `status` exit with 1."""
    properties = table.properties
    if properties and properties.version != TABLE_VERSION:
        yield Danger(
            condition="table/other-version",
            message=f"the table is at version {properties.version}, not {TABLE_VERSION}",
            remedy="Another writer upgraded it; this release does not write to it.",
        )
    if table.metadata_table:
        yield Danger(
            condition="table/metadata-table",
            message="the table has a metadata table; commits of ours would be invisible",
            remedy="Delete it with Apache Hudi, and write with hoodie.metadata.enable=false.",
        )
        yield from _statistics(properties, slices)
    if pending and pending.kind is PendingKind.FOREIGN:
        yield Danger(
            condition="table/foreign-pending",
            message=_pending_text(pending),
            remedy="Wait for that writer, or let Apache Hudi roll its dead write back.",
        )
    if table.drift:
        yield from _drifted(table.drift)


def _statistics(properties: TableProperties | None, slices: Slices | None) -> Iterator[Danger]:
    """Column statistics over skeletons make Apache Hudi lose rows (format sheet, section 4.10)."""
    named = properties.metadata_partitions if properties else ()
    if slices and slices.skeletons and any(n.endswith("_stats") for n in named):
        yield Danger(
            condition="table/statistics-over-skeletons",
            message=f"{slices.skeletons:,} skeletons are left under column statistics: "
            "Apache Hudi loses their rows where a query filters",
            remedy="Read with hoodie.enable.data.skipping=false, and drop the statistics.",
        )


def _drifted(drift: SourceDrift) -> Iterator[Danger]:
    gone = drift.missing_files + drift.changed_files
    if gone:
        samples = ", ".join((*drift.samples_missing, *drift.samples_changed)[:3])
        yield Danger(
            condition="source/drifted",
            message=f"{drift.missing_files:,} source files are gone and "
            f"{drift.changed_files:,} have changed: {samples}",
            remedy="Restore them from a copy: the table's rows in them cannot be read.",
        )
    if drift.new_files:
        samples = ", ".join(drift.samples_new[:3])
        yield Danger(
            condition="source/grown",
            message=f"{drift.new_files:,} files under the source are not part of the table: "
            f"{samples}",
            remedy="They are not read. Load them by a later write.",
        )
