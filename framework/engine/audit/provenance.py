"""Where rows came from that come a second time, out of a data set of quarantined rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import name_of, parent_of
from framework.plan.release import FILE, ROW

__all__ = ["CARRIED_FILE", "CARRIED_ROW", "with_places"]

CARRIED_FILE = "carried_file"
CARRIED_ROW = "carried_row"


def with_places(places: pa.Table, paths: Mapping[int, str]) -> pa.Table:
    """Return `number` and `row` of some rows, with the file and row where each came from at first.

    Args:
        places: sorted by number, then row.
        paths: of the files, by number; each holds the first places of its rows.

    Raises:
        CorruptFileError: `input/corrupt-file`.
    """
    numbers, rows = places["number"].to_numpy(), places["row"].to_numpy()
    found = pa.concat_tables(_found(numbers, rows, paths))
    return places.append_column(CARRIED_FILE, found[FILE]).append_column(CARRIED_ROW, found[ROW])


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
                remedy="Restore the file, or take it out of the source.",
            ) from error
