"""From rows that a run gathered to a data set with a name, durably; and back, where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from framework.engine.quarantine.quarantined_batch import (
    TOLD,
    QuarantinedBatch,
    batch_record,
    discard,
    gathering_folders,
    instant_folder,
    is_data,
    of_another_table,
    read_batch,
)
from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Move
from framework.hudi.table.layout import join

if TYPE_CHECKING:
    from framework.hudi.storage.port import Entry, Storage

__all__ = ["gathering_place", "name_batch", "withdraw"]

_BLOCK: Final = 1 << 22


def gathering_place(location: str, table: str, run_id: str) -> str:
    """Return where a run gathers the rows that it sets aside, absolute."""
    staged, _ = gathering_folders(table, run_id)
    return join(open_storage(location).location, staged)


def name_batch(location: str, told: QuarantinedBatch) -> None:
    """Give the rows that a run gathered their name, durably; done again it changes nothing.

    What was gathered stays until the name stands, so that a run that is cut off here finds it
    whole when it goes on. The caller holds the table's lease.

    Raises:
        StorageError: they could not be named; nothing is to be published then.
        CorruptFileError: `quarantine/rows-differ`; likewise.
        PlanError: `quarantine/of-another-table`; likewise.
    """
    storage, named = open_storage(location), instant_folder(told.instant)
    staged, ready = gathering_folders(told.table, told.run_id)
    found = None if storage.stat(named) is None else read_batch(storage, named)
    if found is not None and found.run_id != told.run_id:
        if found.table != told.table:
            raise of_another_table(found, storage.location, told.table)
        discard(storage, found, told.table)  # of a dead run, for the instant is not completed
        found = None
    if found is None:
        storage.delete(ready)
        _make_ready(storage, staged, ready, told)
        storage.move([Move(source=ready, target=named)])
    storage.delete(staged, ready)


def withdraw(location: str, table: str, run_id: str, instant: str) -> None:
    """Remove what a run gathered that publishes nothing, under its name or on its way there."""
    storage, named = open_storage(location), instant_folder(instant)
    storage.delete(*gathering_folders(table, run_id))
    if storage.stat(named) is not None:
        found = read_batch(storage, named)
        if found.run_id == run_id:
            discard(storage, found, table)
    storage.delete("", only_empty=True)


def _make_ready(storage: Storage, staged: str, ready: str, told: QuarantinedBatch) -> None:
    """Copy what an engine of queries wrote to files that outlive a power loss, and tell of it."""
    entries = [each for each in storage.list(staged) if is_data(each)]
    rows = sum(_rows(storage, each) for each in entries)
    if rows != told.rows:
        raise _differs(f"{told.rows:,} rows were to be set aside, {rows:,} lie there", staged)
    moves = [Move(source=join(ready, f".{TOLD}"), target=join(ready, TOLD))]
    with storage.create(moves[0].source) as out:
        out.write(batch_record(told))
    for number, each in enumerate(entries):
        copy = join(ready, f".{number}")
        with storage.open_input(each.path) as stream, storage.create(copy) as out:
            while block := stream.read(_BLOCK):
                out.write(block)
        moves.append(Move(source=copy, target=join(ready, each.name)))
    storage.move(moves)


def _rows(storage: Storage, entry: Entry) -> int:
    """Return the rows of a file, by its footer."""
    try:
        with storage.open_input(entry.path) as stream:
            return int(pq.ParquetFile(stream).metadata.num_rows)
    except UNREADABLE as error:
        raise _differs(f"a file of rows set aside cannot be read: {error}", entry.path) from error


def _differs(message: str, path: str) -> CorruptFileError:
    """Return the error for rows that are not where they were written."""
    return CorruptFileError(
        "quarantine/rows-differ",
        message,
        where=Where(file=path),
        remedy="Nothing was published. Run again with --fresh; let all executors see the folder"
        " under one path.",
    )
