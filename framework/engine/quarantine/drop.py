"""Removing rows set aside for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.lease import leased
from framework.engine.quarantine.datasets import datasets, remove
from framework.engine.quarantine.record import read_record
from framework.hudi.storage.locations import open_storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
    from framework.hudi.timeline.clock import Clock

__all__ = ["drop"]


def drop(
    table: str, chosen: Sequence[QuarantinedBatch], clock: Clock
) -> tuple[QuarantinedBatch, ...]:
    """Remove data sets of a table and return those that were still there.

    Works under the table's lease, so that no release reads what goes.

    Raises:
        LeaseHeldError: `commit/lease-held`; nothing was removed.
        StorageError: a folder cannot be removed; those before it are gone.
    """
    if not chosen:
        return ()
    places = {each.location for each in chosen}
    wanted = {(each.instant, each.run_id) for each in chosen}
    with leased(open_storage(table), clock):
        there = datasets(read_record(table), places)
        found = tuple(each for each in there if (each.instant, each.run_id) in wanted)
        for each in found:
            remove(each, table)
    return found
