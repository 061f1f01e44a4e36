"""The commits' record of quarantined rows: which data sets count, and where rows came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.places import canonical
from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
from framework.engine.reading.table_memory import read_memory
from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.commit.intent import WRITE_ID_KEY
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import ARCHIVED, name_of, parent_of
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.plan.release import FILE, ROW

__all__ = ["ORIGINAL_FILE", "ORIGINAL_ROW", "PLACE", "Record", "read_record", "with_places"]

PLACE: Final = "quarantine"
"""Entry of a commit's audit: where the rows of its run were quarantined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record in the commits of a table.

    Attributes:
        table: its canonical location.
        timeline: as it was read.
        runs: the run that made each completed data instant; "" if another writer did.
        released: instants whose rows were loaded again, each with the instant that did so.
        places: locations of data sets, in order of first occurrence.
        has_archive: whether instants were moved to the archive.
    """

    table: str
    timeline: Timeline
    runs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    released: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    places: tuple[str, ...] = ()
    has_archive: bool = False

    def is_published(self, batch: QuarantinedBatch) -> bool:
        """Return whether the run that quarantined these rows has published.

        Of an instant in the archive only the time is known; then the data set's own record of its
        table decides.
        """
        if batch.instant in self.runs:
            return self.runs[batch.instant] == batch.run_id
        is_archived = self.has_archive and self.timeline.is_completed(batch.instant)
        return is_archived and batch.table == self.table

    def is_waiting(self, batch: QuarantinedBatch) -> bool:
        """Return whether a data set counts: its run has published, and it was not released."""
        return self.is_published(batch) and batch.instant not in self.released


def read_record(table: str) -> Record:
    """Return the record in the commits of a table, empty without a table; reads each head.

    Raises:
        CorruptFileError, UnsupportedTableError: as of `read_memory`.
    """
    storage = open_storage(canonical(table))
    timeline = load_timeline(storage)
    memory = read_memory(storage, timeline)
    runs: dict[str, str] = {}
    for instant in timeline.completed:
        if instant.action not in DATA_ACTIONS:
            continue
        extra = read_commit_head(storage, instant.path).extra
        runs[instant.requested_time] = extra.get(WRITE_ID_KEY, "")
    return Record(
        table=storage.location,
        timeline=timeline,
        runs=runs,
        released=memory.released if memory is not None else {},
        places=memory.places if memory is not None else (),
        has_archive=any(not each.is_folder for each in storage.list(ARCHIVED)),
    )


ORIGINAL_FILE = "original_file"
ORIGINAL_ROW = "original_row"


def with_places(places: pa.Table, paths: Mapping[int, str]) -> pa.Table:
    """Return `number` and `row` of some rows, with the file and row where each first came from.

    Args:
        places: sorted by number, then row.
        paths: of the files, by number; each has the first places of its rows.

    Raises:
        CorruptFileError: `input/corrupt-file`.
    """
    numbers, rows = places["number"].to_numpy(), places["row"].to_numpy()
    found = pa.concat_tables(_found(numbers, rows, paths))
    return places.append_column(ORIGINAL_FILE, found[FILE]).append_column(ORIGINAL_ROW, found[ROW])


def _found(numbers: np.ndarray, rows: np.ndarray, paths: Mapping[int, str]) -> Iterator[pa.Table]:
    """Yield the first places of the rows of each file."""
    schema = pa.schema([(FILE, pa.string()), (ROW, pa.int64())])
    yield schema.empty_table()
    for number in np.unique(numbers).tolist():
        path = paths[number]
        try:
            with open_storage(parent_of(path)).open_input(name_of(path)) as stream:
                whole = pq.read_table(
                    stream, columns=[FILE, ROW], page_checksum_verification=True
                ).cast(schema)
            yield whole.take(pa.array(rows[numbers == number]))
        except UNREADABLE as error:
            raise CorruptFileError(
                "input/corrupt-file",
                f"an input file cannot be read: {error}",
                where=Where(file=path),
                remedy="Restore the file, or remove it from the source.",
            ) from error
