"""Which existing rows have the keys of incoming rows: slice by slice, exactly, reading only keys.

A slice is searched only if its footer cannot rule the incoming keys out: by its least and greatest
key, then, for few keys, by its bloom filter. The results are *hits*: pairs of an existing row and
an incoming one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, taken_rows
from framework.engine.load.hits import HITS_SCHEMA, SliceHits, hits_writer
from framework.engine.load.incoming_keys import IncomingKeys, KeyMatches, incoming_keys
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import LoadJob
from framework.engine.reading.slice_rows import SliceFiles, SliceKeys, slice_columns, slice_keys
from framework.engine.reading.views import AskedSlice, looked_up
from framework.engine.tasks import decode, encode
from framework.hudi.filegroup.base_file import read_key_footer
from framework.hudi.filegroup.merge import ranks
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "TagTask",
    "TaggedSlice",
    "TaggedSlices",
    "tag_task",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTask:
    """Some slices to search, each with its number, ascending; `buckets` by number."""

    job: LoadJob
    buckets: tuple[Bucket, ...]
    slices: tuple[tuple[int, AskedSlice], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedSlice:
    """The result of tagging a slice.

    Attributes:
        number: the slice's.
        rows: its rows; None if neither its keys nor a footer were read.
        hits: its hits that change it.
        looked: whether its keys were read.
        found: all its hits, None without any.
        hides: whether its base file has keys of rows to insert that its log files delete.
    """

    number: int
    rows: int | None
    hits: int = 0
    looked: bool = False
    found: SliceHits | None = None
    hides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedSlices:
    """The result of a task.

    Attributes:
        path: an Arrow file of `HITS_SCHEMA`.
        hits: rows of that file.
        slices: the task's slices.
        fallbacks: requests that the timeline service did not answer.
    """

    path: str
    hits: int
    slices: tuple[TaggedSlice, ...]
    fallbacks: int


def tag_task(descriptor: str) -> str:
    """Search the slices of a `TagTask`; return the `TaggedSlices` as JSON.

    Holds one slice's keys and one partition's incoming keys in memory, see `incoming_keys`.

    Raises:
        CorruptFileError, UnsupportedTableError: a slice cannot be read, or see `read_changes`.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(TagTask, descriptor)
    job = task.job
    storage = open_storage(job.table)
    tagger = _Tagger(job, storage, task.buckets)
    tagged = []
    slices = looked_up(job.view, job.slices, (each for _, each in task.slices))
    path = join(job.folder, f"{uuid4().hex}.hits")
    with hits_writer(job.storage(), path) as writer:
        for number, each in task.slices:
            found, facts = tagger.tag(number, each.group.partition_path, slices.files(each))
            tagged.append(replace(facts, found=writer.write(found)))
    return encode(
        TaggedSlices(path=path, hits=writer.rows, slices=tuple(tagged), fallbacks=slices.fallbacks)
    )


class _Tagger:
    """Searches one slice after the other; keeps the keys of the latest partition."""

    def __init__(self, job: LoadJob, storage: Storage, buckets: Sequence[Bucket]) -> None:
        self._job = job
        self._storage = storage
        self._buckets = buckets
        self._slices = job.slices
        self._everywhere = job.rule.scope is KeyScope.TABLE
        self._path: str | None = None
        self._incoming: list[tuple[int, IncomingKeys]] = []

    def tag(self, number: int, path: str, found: SliceFiles) -> tuple[pa.Table, TaggedSlice]:
        """Return the hits of one slice, and its facts."""
        footer = None
        if found.base is not None and not found.logs:
            footer = read_key_footer(self._storage, found.base)
        near = ((at, each.within(footer)) for at, each in self._keys_for(path))
        asked = [(bucket, keys) for bucket, keys in near if keys is not None]
        rows = None if footer is None else footer.rows
        if not asked:
            return HITS_SCHEMA.empty_table(), TaggedSlice(number=number, rows=rows)
        keys = slice_keys(self._slices, found)
        looked = [(bucket, _looked_up(keys, incoming)) for bucket, incoming in asked]
        parts = [self._hits(number, path, bucket, matches) for bucket, (matches, _) in looked]
        hits = pa.concat_tables(parts).sort_by("position")
        if self._compares and pc.any(hits["moves"]).as_py():
            hits = self._compared(hits, found)
        counting = pc.or_(pc.invert(hits["moves"]), hits["wins"])
        count = pc.sum(counting).as_py() or 0
        inserts = self._job.operation is not WriteOperation.DELETE
        hides = inserts and any(hidden for _, (_, hidden) in looked)
        return hits, TaggedSlice(
            number=number, rows=keys.rows, hits=count, looked=True, hides=hides
        )

    @property
    def _compares(self) -> bool:
        """Whether an incoming row can lose against an existing one."""
        return self._job.ordering is not None and self._job.operation is WriteOperation.UPSERT

    def _keys_for(self, path: str) -> list[tuple[int, IncomingKeys]]:
        """Return the incoming keys that a slice of this partition may contain, by bucket."""
        wanted = None if self._everywhere else path
        if self._incoming and self._path == wanted:
            return self._incoming
        self._path = wanted
        self._incoming = []
        paths = None if wanted is None else frozenset({wanted})
        for number, bucket in enumerate(self._buckets):
            keys = incoming_keys(self._storage, bucket, paths)
            if keys is not None:
                self._incoming.append((number, keys))
        return self._incoming

    def _hits(self, number: int, path: str, bucket: int, found: KeyMatches) -> pa.Table:
        """Return the hits of one bucket's keys."""
        positions, rows = found
        moves = np.zeros(rows.size, dtype=bool)
        if self._everywhere and rows.size and self._job.operation is not WriteOperation.DELETE:
            moves = self._elsewhere(bucket, rows, path)
        count = rows.size
        return pa.Table.from_arrays(
            [
                pa.array(np.full(count, number)),
                pa.array(positions),
                pa.array(np.full(count, bucket)),
                pa.array(rows),
                pa.array(moves),
                pa.array(np.ones(count, dtype=bool)),
            ],
            schema=HITS_SCHEMA,
        )

    def _elsewhere(self, bucket: int, rows: np.ndarray, path: str) -> np.ndarray:
        """Return which rows of a bucket are in another partition than this."""
        found = np.ones(rows.size, dtype=bool)
        for name, start, stop in self._buckets[bucket].starts():
            if name == path:
                found &= ~((rows >= start) & (rows < stop))
        return found

    def _compared(self, hits: pa.Table, found: SliceFiles) -> pa.Table:
        """Return the hits with `wins` set where rows move to another partition."""
        ordering = self._job.ordering or ""
        moving = np.flatnonzero(hits["moves"].to_numpy())
        some = hits.take(pa.array(moving))
        old = slice_columns(self._slices, found, [KEY, ordering])[ordering].take(some["position"])
        new = self._values(some, ordering)
        both = pa.concat_arrays([old.combine_chunks(), new])
        rank = ranks(both)
        wins = np.ones(hits.num_rows, dtype=bool)
        wins[moving] = rank[moving.size :] >= rank[: moving.size]
        at = hits.schema.get_field_index("wins")
        return hits.set_column(at, HITS_SCHEMA.field(at), pa.array(wins))

    def _values(self, hits: pa.Table, name: str) -> pa.Array:
        """Return a column of the incoming rows of some hits."""
        buckets, rows = hits["bucket"].to_numpy(), hits["row"].to_numpy()
        kind = self._job.table_schema.field(name).type
        found = pa.nulls(hits.num_rows, kind)
        for number in np.unique(buckets).tolist():
            mine = buckets == number
            taken = taken_rows(self._storage, self._buckets[number], [name], rows[mine])
            if taken is not None:
                values = taken[name].combine_chunks()
                found = pc.replace_with_mask(found, pa.array(mine), values)
        return found


def _looked_up(keys: SliceKeys, incoming: IncomingKeys) -> tuple[KeyMatches, int]:
    """Return the matches with a slice's records, and how many match only deleted base rows."""
    positions, rows = incoming.matches(keys.stored)
    stays = ~np.isin(positions, keys.deleted)
    kept = positions[stays]
    moved = kept - np.searchsorted(keys.deleted, kept)
    return (moved, rows[stays]), int(positions.size - kept.size)
