"""Which data sets of quarantined rows count, and which folders are removed.

A data set gets its name just before its instant is completed, and counts once the commit of that
run is on the table's timeline. One without its commit is from a run that died, and one that was
released is spent: the next run, which holds the lease, removes both. Folders that name another
table are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from framework.engine.quarantine.quarantined_batch import (
    GATHERED,
    QuarantinedBatch,
    abandoned,
    delete_files,
    discard,
    exists,
    instant_folder,
    instant_of_folder,
    of_another_table,
    read_batch,
    table_mark,
)
from framework.engine.quarantine.record import Record, read_record
from framework.errors import CorruptFileError
from framework.hudi.commit.lease import Owner, acquire, keep, release
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock

__all__ = ["clear_place", "datasets", "drop", "leased", "remove", "sweep", "waiting"]


@contextmanager
def leased(storage: Storage, clock: Clock) -> Iterator[None]:
    """Hold the lease of a table during the context; no Lakestrap run writes meanwhile.

    Raises:
        LeaseHeldError: `commit/lease-held`.
    """
    lease = acquire(storage, Owner.here(new_write_id()), clock)
    try:
        with keep(storage, lease, clock):
            yield
    finally:
        release(storage, lease)


def drop(
    table: str, chosen: Sequence[QuarantinedBatch], clock: Clock
) -> tuple[QuarantinedBatch, ...]:
    """Remove data sets of a table and return those that still existed.

    Holds the table's lease, so that no release reads what is removed.

    Raises:
        LeaseHeldError: `commit/lease-held`; nothing was removed.
        StorageError: a folder cannot be removed; those before it are removed.
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


def waiting(table: str, location: str | None = None) -> tuple[QuarantinedBatch, ...]:
    """Return the data sets of a table that await a decision, oldest first.

    Searches every location that a commit of the table names, and `location`. Costs the head of
    each commit.

    Raises:
        CorruptFileError: `quarantine/not-readable`; or see `read_record`.
    """
    return datasets(read_record(table), () if location is None else (location,))


def datasets(record: Record, locations: Iterable[str] = ()) -> tuple[QuarantinedBatch, ...]:
    """Return the data sets that count, oldest first, of the recorded places and `locations`.

    Raises:
        CorruptFileError: `quarantine/not-readable`.
    """
    found = (each for place in _places(record, locations) for each in _all(place))
    return tuple(sorted(filter(record.is_waiting, found), key=lambda each: each.instant))


def clear_place(location: str, table: str, run_id: str) -> None:
    """Prepare a location for a run that holds the table's lease.

    Removes the leftovers of the table's earlier runs; what this run collected before an
    interruption stays.

    Raises:
        PlanError: `quarantine/of-another-table`; nothing was removed.
    """
    record = read_record(table)
    for each in _readable(location):
        if each.table != record.table and not record.is_published(each):
            raise of_another_table(each, open_storage(location).location, record.table)
    _sweep(record, location, run_id)


def sweep(table: str, location: str | None = None) -> None:
    """Remove leftovers of dead runs, and released rows; the caller holds the table's lease."""
    record = read_record(table)
    for place in _places(record, () if location is None else (location,)):
        _sweep(record, place, None)


def remove(batch: QuarantinedBatch, table: str) -> None:
    """Delete a data set of a table, and the location if nothing else is there."""
    storage = open_storage(batch.location)
    discard(storage, batch, table)
    storage.delete("", only_empty=True)


def _places(record: Record, locations: Iterable[str]) -> tuple[str, ...]:
    """Return each place once."""
    places = (*record.places, *(open_storage(each).location for each in locations))
    return tuple(dict.fromkeys(places))


def _all(location: str) -> Iterator[QuarantinedBatch]:
    """Yield every data set at a location."""
    storage = open_storage(location)
    for entry in storage.list(""):
        if instant_of_folder(entry) is not None and exists(storage, entry.path):
            yield read_batch(storage, entry.path)


def _readable(location: str) -> Iterator[QuarantinedBatch]:
    """Yield the readable data sets; whose the others are is unknown."""
    storage = open_storage(location)
    for entry in list(storage.list("")):
        if instant_of_folder(entry) is None or not exists(storage, entry.path):
            continue
        try:
            yield read_batch(storage, entry.path)
        except CorruptFileError:
            continue


def _sweep(record: Record, location: str, run_id: str | None) -> None:
    """Remove what belongs to the table, is not of the run, and does not count."""
    storage, mark = open_storage(location), table_mark(record.table)
    for entry in list(storage.list("")):
        gathered = GATHERED.fullmatch(entry.name)
        if gathered and gathered[1] == mark and gathered[2] != run_id:
            _finish(record, storage, entry.path, gathered[2])
            storage.delete(entry.path)
    for each in _readable(location):
        is_ours = each.table == record.table or record.is_published(each)
        if is_ours and each.run_id != run_id and not record.is_waiting(each):
            discard(storage, each, record.table)
    storage.delete("", only_empty=True)


def _finish(record: Record, storage: Storage, folder: str, run_id: str) -> None:
    """Delete what a dead run left of data sets that do not count, in a store without moves."""
    for instant in abandoned(storage, folder):
        named = instant_folder(instant)
        found = read_batch(storage, named) if exists(storage, named) else None
        if found is None or found.run_id != run_id or not record.is_waiting(found):
            delete_files(storage, instant, run_id)
