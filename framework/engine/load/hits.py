"""Hits: pairs of an existing row and an incoming one with its key, in Arrow files.

A file is written by one task, slice after slice, and read a record batch at a time: an upsert of
fifty million rows has as many hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import pyarrow as pa

from framework.hudi.storage.port import Storage

__all__ = ["HITS_SCHEMA", "SliceHits", "hit_batches", "hits_writer"]

HITS_SCHEMA: Final = pa.schema(
    [
        pa.field("slice", pa.int64(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("bucket", pa.int64(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("moves", pa.bool_(), nullable=False),
        pa.field("wins", pa.bool_(), nullable=False),
    ]
)
"""One row per hit, in ascending order of slice and position.

`slice` is the slice's number, `position` the existing row's place in it, `bucket` and `row` the
place of the incoming row. `moves` means that the incoming row belongs to another partition; only
then is `wins` determined: whether its ordering value is not less than that of the existing row.
Otherwise it is true.
"""


class SliceHits(NamedTuple):
    """The hits of one slice: a record batch of a file, in the order of their positions."""

    path: str
    batch: int

    def read(self, storage: Storage) -> pa.Table:
        """Return them; reads no others."""
        with storage.open_input(self.path) as stream:
            batch = pa.ipc.open_file(stream).get_batch(self.batch)
            return pa.Table.from_batches([batch])


class HitsWriter:
    """Writes the hits of one slice at a time; `rows` counts them."""

    def __init__(self, writer: Any, path: str) -> None:
        self.rows = 0
        self._writer = writer
        self._path = path
        self._batches = 0

    def write(self, hits: pa.Table) -> SliceHits | None:
        """Write the hits of a slice; return where, None if there are none."""
        if not hits.num_rows:
            return None
        (batch,) = hits.combine_chunks().to_batches()
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        self._batches += 1
        return SliceHits(path=self._path, batch=self._batches - 1)


@contextmanager
def hits_writer(storage: Storage, path: str) -> Iterator[HitsWriter]:
    """Create a file of hits."""
    with (
        storage.create(path, durable=False) as out,
        pa.ipc.new_file(out, HITS_SCHEMA) as writer,
    ):
        yield HitsWriter(writer, path)


def hit_batches(storage: Storage, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the hits of a file, those of one slice after the other."""
    with storage.open_input(path) as stream:
        reader = pa.ipc.open_file(stream)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
