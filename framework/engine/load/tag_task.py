"""Which existing rows have the keys of incoming rows: slice by slice, exactly, reading only keys.

A slice is searched only if its footer cannot rule the incoming keys out: by its least and greatest
key, then, for few keys, by its bloom filter. The results are *hits*: pairs of an existing row and
an incoming one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, read_parts
from framework.engine.load.job import LoadJob
from framework.engine.load.key_input import KEY, Part
from framework.engine.reading.slice_rows import SliceFiles, slice_columns
from framework.engine.reading.views import AskedSlice, looked_up
from framework.engine.tasks import decode, encode
from framework.hudi.filegroup.key_footer import KeyFooter, read_key_footer
from framework.hudi.filegroup.merge import ranks
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "HITS_SCHEMA",
    "TagTask",
    "TaggedSlice",
    "TaggedSlices",
    "bucket_rows",
    "read_hits",
    "tag_task",
    "taken_rows",
]

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

_KEYS_PER_PROBE: Final = 8
"""A filter is used if the slice has more rows than this number of times the keys to look up.

Looking a key up and comparing a row cost about the same, so a filter that rules nothing out adds
at most an eighth to reading the slice.
"""


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
    """

    number: int
    rows: int | None
    hits: int = 0
    looked: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Incoming:
    """Keys of one bucket that may be in a slice; `rows` are their places in the bucket."""

    bucket: int
    keys: pa.Array
    rows: np.ndarray


def tag_task(descriptor: str) -> str:
    """Search the slices of a `TagTask`; return the `TaggedSlices` as JSON.

    Holds one slice's keys and one partition's incoming keys in memory.

    Raises:
        CorruptFileError, UnsupportedTableError: a slice cannot be read, or see `read_changes`.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(TagTask, descriptor)
    job = task.job
    storage = open_storage(job.table)
    tagger = _Tagger(job, storage, task.buckets)
    tagged = []
    hits = [HITS_SCHEMA.empty_table()]
    slices = looked_up(job.view, job.slices, (each for _, each in task.slices))
    for number, each in task.slices:
        found, facts = tagger.tag(number, each.group.partition_path, slices.files(each))
        hits.append(found)
        tagged.append(facts)
    table = pa.concat_tables(hits)
    path = join(job.folder, f"{uuid4().hex}.hits")
    with (
        job.storage().create(path, durable=False) as out,
        pa.ipc.new_file(out, HITS_SCHEMA) as writer,
    ):
        writer.write_table(table)
    return encode(
        TaggedSlices(
            path=path, hits=table.num_rows, slices=tuple(tagged), fallbacks=slices.fallbacks
        )
    )


def read_hits(storage: Storage, path: str) -> pa.Table:
    """Return the hits that a task wrote."""
    with storage.open_input(path) as stream:
        return pa.ipc.open_file(stream).read_all()


def bucket_rows(
    storage: Storage, bucket: Bucket, paths: frozenset[str] | None, names: Sequence[str]
) -> tuple[pa.Table | None, np.ndarray]:
    """Return some columns of a bucket's rows in some partitions, and the rows' places in it.

    `paths` None means all of them. The table is None if there are no rows.
    """
    parts, places = [], [np.empty(0, np.int64)]
    for part, (path, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        if paths is None or path in paths:
            parts.append(part)
            places.append(np.arange(start, stop))
    found = read_parts(storage, parts, names) if parts else None
    return found, np.concatenate(places)


def taken_rows(
    storage: Storage, bucket: Bucket, names: Sequence[str], rows: np.ndarray
) -> pa.Table | None:
    """Return some columns of the rows at some places of a bucket, in their order; None for none.

    Parts without such rows are not read.
    """
    asked = np.sort(rows)
    parts: list[Part] = []
    starts: list[int] = []
    for part, (_, start, stop) in zip(bucket.parts, bucket.starts(), strict=True):
        first, last = np.searchsorted(asked, [start, stop]).tolist()
        if first < last:
            parts.append(part)
            starts.append(start)
    if not parts:
        return None
    found = read_parts(storage, parts, names)
    counts = [part.rows for part in parts]
    which = np.searchsorted(np.array(starts), rows, side="right") - 1
    offsets = np.cumsum([0, *counts[:-1]])
    places = rows - np.array(starts)[which] + offsets[which]
    if places.size == found.num_rows and (places == np.arange(places.size)).all():
        return found
    return found.take(pa.array(places))


class _Tagger:
    """Searches one slice after the other; keeps the keys of the latest partition."""

    def __init__(self, job: LoadJob, storage: Storage, buckets: Sequence[Bucket]) -> None:
        self._job = job
        self._storage = storage
        self._buckets = buckets
        self._slices = job.slices
        self._everywhere = job.rule.scope is KeyScope.TABLE
        self._path: str | None = None
        self._incoming: list[_Incoming] = []

    def tag(self, number: int, path: str, found: SliceFiles) -> tuple[pa.Table, TaggedSlice]:
        """Return the hits of one slice, and its facts."""
        footer = None
        if found.base is not None and not found.logs:
            footer = read_key_footer(self._storage, found.base)
        asked = list(self._asked(self._keys_for(path), footer))
        rows = None if footer is None else footer.rows
        if not asked:
            return HITS_SCHEMA.empty_table(), TaggedSlice(number=number, rows=rows)
        keys = slice_columns(self._slices, found, [KEY])[KEY]
        parts = [self._hits(number, path, each, keys) for each in asked]
        hits = pa.concat_tables(parts).sort_by("position")
        if self._compares and pc.any(hits["moves"]).as_py():
            hits = self._compared(hits, found)
        counting = pc.or_(pc.invert(hits["moves"]), hits["wins"])
        count = pc.sum(counting).as_py() or 0
        return hits, TaggedSlice(number=number, rows=len(keys), hits=count, looked=True)

    @property
    def _compares(self) -> bool:
        """Whether an incoming row can lose against an existing one."""
        return self._job.ordering is not None and self._job.operation is WriteOperation.UPSERT

    def _keys_for(self, path: str) -> list[_Incoming]:
        """Return the incoming keys that a slice of this partition may contain."""
        wanted = None if self._everywhere else path
        if self._incoming and self._path == wanted:
            return self._incoming
        self._path = wanted
        self._incoming = []
        for number, bucket in enumerate(self._buckets):
            paths = None if wanted is None else frozenset({wanted})
            rows, places = bucket_rows(self._storage, bucket, paths, [KEY])
            if rows is not None:
                keys = rows[KEY].combine_chunks()
                self._incoming.append(_Incoming(bucket=number, keys=keys, rows=places))
        return self._incoming

    def _asked(
        self, incoming: Sequence[_Incoming], footer: KeyFooter | None
    ) -> Iterator[_Incoming]:
        """Yield the incoming keys that the footer does not rule out."""
        for each in incoming:
            may = each if footer is None else _chosen(each, footer.may_hold(each.keys))
            if footer is not None and len(may.keys) * _KEYS_PER_PROBE < footer.rows:
                may = _chosen(may, footer.might_contain(may.keys))
            if len(may.keys):
                yield may

    def _hits(self, number: int, path: str, incoming: _Incoming, keys: pa.ChunkedArray) -> pa.Table:
        """Return the hits of one bucket's keys."""
        places = pc.index_in(keys, value_set=incoming.keys).combine_chunks()
        positions = np.flatnonzero(pc.is_valid(places).to_numpy(zero_copy_only=False))
        rows = incoming.rows[places.drop_null().to_numpy()]
        moves = np.zeros(rows.size, dtype=bool)
        if self._everywhere and rows.size and self._job.operation is not WriteOperation.DELETE:
            moves = self._elsewhere(incoming.bucket, rows, path)
        count = rows.size
        return pa.Table.from_arrays(
            [
                pa.array(np.full(count, number)),
                pa.array(positions),
                pa.array(np.full(count, incoming.bucket)),
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


def _chosen(incoming: _Incoming, mask: np.ndarray | None) -> _Incoming:
    """Return the keys selected by the mask; None keeps all."""
    if mask is None or mask.all():
        return incoming
    return _Incoming(
        bucket=incoming.bucket,
        keys=incoming.keys.filter(pa.array(mask)),
        rows=incoming.rows[mask],
    )
