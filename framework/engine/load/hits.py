"""Hits: pairs of an existing row and an incoming one with its key; a row without one is new.

Hits are in Arrow files. A file is written by one task, slice after slice, and read a record batch
at a time: an upsert of fifty million rows has as many hits. Another task classifies the rows of a
bucket by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket
from framework.engine.load.job import LoadJob
from framework.engine.tasks import decode, encode
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import WriteOperation

__all__ = [
    "HITS_SCHEMA",
    "ClassifiedRows",
    "ClassifyTask",
    "SliceHits",
    "classify_task",
    "hit_batches",
    "hits_writer",
    "read_inserts",
]

HITS_SCHEMA: Final = pa.schema(
    [
        pa.field("slice", pa.uint32(), nullable=False),
        pa.field("position", pa.uint32(), nullable=False),
        pa.field("bucket", pa.uint32(), nullable=False),
        pa.field("row", pa.uint32(), nullable=False),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifyTask:
    """A bucket with its number, and all files of hits."""

    job: LoadJob
    number: int
    bucket: Bucket
    hits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedRows:
    """The outcome of a bucket's rows; each row counts once.

    Attributes:
        number: the bucket.
        path: file of the rows to insert: places in the bucket as int64, ascending.
        parts: (partition path, start, stop) of each partition's stretch of them.
        inserted: rows to insert.
        updated: rows whose key exists in their partition.
        moved: rows to insert whose key exists in another partition, where it is deleted.
        superseded: rows left out since a row in another partition has a greater ordering value.
        deleted: rows of a delete whose key exists.
        absent: rows of a delete whose key does not exist.
    """

    number: int
    path: str
    parts: tuple[tuple[str, int, int], ...]
    inserted: int = 0
    updated: int = 0
    moved: int = 0
    superseded: int = 0
    deleted: int = 0
    absent: int = 0


def classify_task(descriptor: str) -> str:
    """Classify the rows of the bucket of a `ClassifyTask`; return the `ClassifiedRows` as JSON.

    Holds a few bytes per row of the bucket, and a batch of hits.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    task = decode(ClassifyTask, descriptor)
    job = task.job
    storage = job.storage()
    bucket = task.bucket
    stays, moves, loses = (np.zeros(bucket.rows, dtype=bool) for _ in range(3))
    for rows, is_moved, wins in _hits(storage, task):
        stays[rows[~is_moved]] = True
        moves[rows[is_moved & wins]] = True
        loses[rows[is_moved & ~wins]] = True
    moves &= ~stays
    loses &= ~stays
    if job.operation is WriteOperation.DELETE:
        found = int(np.count_nonzero(stays))
        counts = {"deleted": found, "absent": bucket.rows - found}
        fresh = np.zeros(bucket.rows, dtype=bool)
    else:
        fresh = ~stays & ~loses
        counts = {
            "updated": int(np.count_nonzero(stays)),
            "moved": int(np.count_nonzero(moves & ~loses)),
            "superseded": int(np.count_nonzero(loses)),
            "inserted": int(np.count_nonzero(fresh)),
        }
    path = join(job.folder, f"{uuid4().hex}.inserts")
    with storage.create(path, durable=False) as out:
        parts = tuple(_write_places(out, bucket, fresh))
    return encode(ClassifiedRows(number=task.number, path=path, parts=parts, **counts))


def read_inserts(storage: Storage, path: str, start: int, stop: int) -> np.ndarray:
    """Return a stretch of the places of rows to insert; `stop` is exclusive."""
    with storage.open_input(path) as stream:
        stream.seek(start * 8)
        return np.frombuffer(stream.read((stop - start) * 8), np.int64)


def _hits(
    storage: Storage, task: ClassifyTask
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the rows of the bucket that have hits, with whether they move and win, in batches."""
    for path in task.hits:
        for batch in hit_batches(storage, path):
            of_bucket = pc.equal(batch.column("bucket"), task.number)
            mine = batch if pc.all(of_bucket).as_py() else batch.filter(of_bucket)
            columns = (mine.column(name) for name in ("row", "moves", "wins"))
            rows, moves, wins = (each.to_numpy(zero_copy_only=False) for each in columns)
            yield rows, moves, wins


def _write_places(
    out: BinaryIO, bucket: Bucket, fresh: np.ndarray
) -> Iterator[tuple[str, int, int]]:
    """Write the places of the rows to insert; yield where each partition's are, if it has some."""
    at = 0
    for path, first, last in bucket.starts():
        places = np.flatnonzero(fresh[first:last]) + first
        if places.size:
            out.write(places.astype(np.int64, copy=False).view(np.uint8).data)
            yield path, at, at + places.size
        at += places.size
