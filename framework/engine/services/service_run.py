"""The run of a table service: lease, recovery of dead runs, and a pending instant."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from framework.errors import NotYetBuiltError, UnsupportedTableError, Where
from framework.hudi.commit.intent import WRITE_ID_KEY, Intent, Transaction
from framework.hudi.commit.lease import Lease, Owner, acquire, keep, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.staging import new_write_id
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import METADATA_TABLE, TABLE_VERSION
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.timeline.clock import Clock, next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline

__all__ = ["ServiceRun", "recover_all", "require_moves", "require_table", "service_run"]

_ROUNDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun:
    """A run of a service with the table's lease.

    Attributes:
        storage: the table.
        lease: held, and renewed in the background.
        clock: the time.
    """

    storage: Storage
    lease: Lease
    clock: Clock

    def begin(self, action: Action, operation: str, plan: bytes = b"") -> Transaction:
        """Make the pending instant of a service, requested now, with its plan.

        Raises:
            CommitConflictError: as of `transaction.begin`.
        """
        transaction = self.transaction(action, operation, plan)
        begin(transaction)
        return transaction

    def execute(self, instant: str, requested: bytes, inflight: bytes) -> Transaction:
        """Begin to execute the compaction requested at an instant.

        Args:
            instant: its requested time.
            requested: the bytes of its requested file, which stays as it is.
            inflight: the bytes of the inflight file, which names this run.

        Raises:
            CommitConflictError: as of `transaction.begin`; `commit/name-taken` if another writer
                has begun to execute it.
        """
        made = self.transaction(Action.COMPACTION, "COMPACT", inflight)
        executes = base64.b64encode(requested).decode()
        intent = replace(made.intent, requested_time=instant, executes=executes)
        transaction = replace(made, intent=intent)
        begin(transaction)
        return transaction

    def transaction(self, action: Action, operation: str, plan: bytes) -> Transaction:
        """Return the transaction of a service, requested now; changes nothing."""
        intent = Intent(
            write_id=self.lease.owner.write_id,
            requested_time=next_instant(self.clock, load_timeline(self.storage)),
            action=action,
            operation=operation,
            is_new_table=False,
            facts={},
            plan=base64.b64encode(plan).decode(),
        )
        return Transaction(storage=self.storage, intent=intent, lease=self.lease, clock=self.clock)

    @property
    def facts(self) -> Mapping[str, str]:
        """What a plan says under `extraMetadata`: whose it is."""
        return {WRITE_ID_KEY: self.lease.owner.write_id}


@contextmanager
def service_run(storage: Storage, clock: Clock) -> Iterator[ServiceRun]:
    """Yield a run with the table's lease, after dead runs are finished or rolled back.

    Raises:
        LeaseHeldError: another run is at work on the table.
    """
    lease = acquire(storage, Owner.here(new_write_id()), clock)
    try:
        with keep(storage, lease, clock):
            recover_all(storage, lease)
            yield ServiceRun(storage=storage, lease=lease, clock=clock)
    finally:
        release(storage, lease)


def require_moves(storage: Storage, service: str) -> None:
    """Raise where a service that is not built for object stores is asked for there.

    Raises:
        NotYetBuiltError: `service/object-store`; nothing was changed.
    """
    if uploads_of(storage) is not None:
        raise NotYetBuiltError(
            "service/object-store",
            f"{service} is not built yet for a table on an object store",
            where=Where(table=storage.location),
            remedy="Let Apache Hudi do it while no run of Lakestrap is at work, if it can.",
        )


def recover_all(storage: Storage, lease: Lease) -> None:
    """Roll back or finish all dead Lakestrap runs, one after the other."""
    for _ in range(_ROUNDS):
        pending = find_pending(storage, own=lease.owner.write_id)
        if pending is None or pending.kind is PendingKind.FOREIGN:
            return
        if pending.kind is PendingKind.UNFINISHED:
            roll_forward(storage, pending, lease)
        else:
            roll_back(storage, pending, lease)


def require_table(storage: Storage) -> TableProperties:
    """Return the properties of a table that a service may change.

    Raises:
        UnsupportedTableError: `service/not-a-table`, `service/table-version`,
            `commit/metadata-table`.
    """
    found = read_properties(storage)
    where = Where(table=storage.location)
    if found is None:
        raise UnsupportedTableError(
            "service/not-a-table",
            "there is no table here",
            where=where,
            remedy="Check the location.",
        )
    if found.version != TABLE_VERSION:
        raise UnsupportedTableError(
            "service/table-version",
            f"the table is at version {found.version}; this release services {TABLE_VERSION}",
            where=where,
            remedy="Use Apache Hudi, which upgraded it.",
        )
    if found.metadata_partitions or storage.stat(METADATA_TABLE) is not None:
        raise UnsupportedTableError(
            "commit/metadata-table",
            "the table has a metadata table, which a service here would not update",
            where=where,
            remedy="Disable and delete it with Apache Hudi (hoodie.metadata.enable=false).",
        )
    return found
