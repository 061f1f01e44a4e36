"""Which existing rows have the keys of incoming rows: slice by slice, exactly, reading only keys.

A slice is searched only if its footer cannot rule the incoming keys out: by its least and greatest
key, then, for few keys, by its bloom filter. Where the incoming keys are too many to hold, slices
of one scope are searched together, a part of the keys after the other. The results are *hits*:
pairs of an existing row and an incoming one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, taken_rows
from framework.engine.load.hits import HITS_SCHEMA, SliceHits, hits_writer
from framework.engine.load.incoming_keys import IncomingKeys, KeyMatches, incoming_keys
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import LoadJob
from framework.engine.load.key_lots import KeyLots
from framework.engine.load.lot_matches import Matches, SliceMatches, lot_matches
from framework.engine.reading.slice_rows import SliceFiles, SliceKeys, slice_columns, slice_keys
from framework.engine.reading.views import AskedSlice, looked_up
from framework.engine.tasks import decode, encode
from framework.hudi.filegroup.base_file import KeyFooter, read_key_footer
from framework.hudi.filegroup.merge import ranks
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
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
    """Some slices to search, each with its number, ascending; `buckets` by number.

    `lots` has the incoming keys of the scopes with too many to hold.
    """

    job: LoadJob
    buckets: tuple[Bucket, ...]
    lots: tuple[KeyLots, ...]
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

    Holds one slice's keys, and the incoming keys of one scope or a part of them (`lot_matches`).

    Raises:
        CorruptFileError, UnsupportedTableError: a slice cannot be read, or see `read_changes`.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(TagTask, descriptor)
    job = task.job
    storage = open_storage(job.table)
    tagger = _Tagger(job, storage, task)
    tagged = []
    slices = looked_up(job.view, job.slices, (each for _, each in task.slices))
    searched = [
        _Searched(number, each.group.partition_path, slices.files(each))
        for number, each in task.slices
    ]
    path = join(job.folder, f"{uuid4().hex}.hits")
    with hits_writer(job.storage(), path) as writer:
        for found, facts in tagger.tag(searched):
            tagged.append(replace(facts, found=writer.write(found)))
    return encode(
        TaggedSlices(path=path, hits=writer.rows, slices=tuple(tagged), fallbacks=slices.fallbacks)
    )


class _Searched(NamedTuple):
    """A slice to search: its number, its partition, its files, and once it is read its footer."""

    number: int
    path: str
    files: SliceFiles
    footer: KeyFooter | None = None


class _Tagger:
    """Searches slices; keeps the keys of the latest scope that it holds."""

    def __init__(self, job: LoadJob, storage: Storage, task: TagTask) -> None:
        self._job = job
        self._storage = storage
        self._buckets = task.buckets
        self._lots = {each.scope: each for each in task.lots}
        self._slices = job.slices
        self._everywhere = job.rule.scope is KeyScope.TABLE
        self._path: str | None = None
        self._incoming: list[tuple[int, IncomingKeys]] = []

    def tag(self, searched: Iterable[_Searched]) -> Iterator[tuple[pa.Table, TaggedSlice]]:
        """Yield the hits and the facts of each slice; those with hits in their order."""
        with_footers = overlapped(self._storage, self._with_footer, searched)
        for scope, some in groupby(with_footers, key=lambda each: self._scope(each.path)):
            if scope in self._lots:
                yield from self._by_lots(self._lots[scope], some)
            else:
                yield from map(self._held, some)

    def _scope(self, path: str) -> str | None:
        """Return the partition whose incoming keys a slice of this one may have; None for all."""
        return None if self._everywhere else path

    def _held(self, each: _Searched) -> tuple[pa.Table, TaggedSlice]:
        """Return the outcome of a slice by the incoming keys that are held."""
        near = ((at, keys.within(each.footer)) for at, keys in self._keys_for(each.path))
        asked = [(bucket, keys) for bucket, keys in near if keys is not None]
        if not asked:
            return _nothing(each)
        keys = slice_keys(self._slices, each.files)
        looked = [(bucket, _looked_up(keys, incoming)) for bucket, incoming in asked]
        hidden = sum(hidden for _, (_, hidden) in looked)
        found = _joined([(bucket, matches) for bucket, (matches, _) in looked])
        return self._outcome(each, SliceMatches(rows=keys.rows, found=found, hidden=hidden))

    def _by_lots(
        self, lots: KeyLots, searched: Iterable[_Searched]
    ) -> Iterator[tuple[pa.Table, TaggedSlice]]:
        """Yield the outcome of each slice of a scope by divided incoming keys."""
        asked = []
        for each in searched:
            if lots.may_meet(each.footer):
                asked.append(each._replace(footer=None))
            else:
                yield _nothing(each)
        keys = (slice_keys(self._slices, each.files) for each in asked)
        found = lot_matches(self._job.storage(), self._job.folder, lots, keys)
        for each, matches in zip(asked, found if asked else (), strict=True):
            yield self._outcome(each, matches)

    def _with_footer(self, each: _Searched) -> _Searched:
        """Return the slice with what its footer says of its keys, without with log files."""
        if each.files.base is None or each.files.logs:
            return each
        return each._replace(footer=read_key_footer(self._storage, each.files.base))

    def _outcome(self, each: _Searched, matches: SliceMatches) -> tuple[pa.Table, TaggedSlice]:
        """Return the hits and the facts of a slice whose keys were read."""
        hits = self._hits(each, matches.found)
        if self._compares and pc.any(hits["moves"]).as_py():
            hits = self._compared(hits, each.files)
        counting = pc.or_(pc.invert(hits["moves"]), hits["wins"])
        inserts = self._job.operation is not WriteOperation.DELETE
        return hits, TaggedSlice(
            number=each.number,
            rows=matches.rows,
            hits=pc.sum(counting).as_py() or 0,
            looked=True,
            hides=inserts and matches.hidden > 0,
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

    def _hits(self, each: _Searched, found: Matches) -> pa.Table:
        """Return the hits of a slice."""
        count = found.rows.size
        moves = np.zeros(count, dtype=bool)
        if self._everywhere and count and self._job.operation is not WriteOperation.DELETE:
            moves = self._elsewhere(found, each.path)
        return pa.Table.from_arrays(
            [
                pa.array(np.full(count, each.number, np.uint32)),
                pa.array(found.positions),
                pa.array(found.buckets),
                pa.array(found.rows),
                pa.array(moves),
                pa.array(np.ones(count, dtype=bool)),
            ],
            schema=HITS_SCHEMA,
        )

    def _elsewhere(self, matches: Matches, path: str) -> np.ndarray:
        """Return which incoming rows are in another partition than this."""
        found = np.ones(matches.rows.size, dtype=bool)
        for number in np.unique(matches.buckets).tolist():
            mine = np.flatnonzero(matches.buckets == number)
            rows = matches.rows[mine]
            for name, start, stop in self._buckets[number].starts():
                if name == path:
                    found[mine] &= ~((rows >= start) & (rows < stop))
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
        buckets, rows = hits["bucket"].to_numpy(), hits["row"].to_numpy().astype(np.int64)
        kind = self._job.table_schema.field(name).type
        found = pa.nulls(hits.num_rows, kind)
        for number in np.unique(buckets).tolist():
            mine = buckets == number
            taken = taken_rows(self._storage, self._buckets[number], [name], rows[mine])
            if taken is not None:
                values = taken[name].combine_chunks()
                found = pc.replace_with_mask(found, pa.array(mine), values)
        return found


def _nothing(each: _Searched) -> tuple[pa.Table, TaggedSlice]:
    """Return the outcome of a slice that was not searched."""
    rows = None if each.footer is None else each.footer.rows
    return HITS_SCHEMA.empty_table(), TaggedSlice(number=each.number, rows=rows)


def _looked_up(keys: SliceKeys, incoming: IncomingKeys) -> tuple[KeyMatches, int]:
    """Return the matches with a slice's records, and how many match only deleted base rows."""
    positions, rows = incoming.matches(keys.stored)
    stays = ~np.isin(positions, keys.deleted)
    kept = positions[stays]
    moved = kept - np.searchsorted(keys.deleted, kept)
    return (moved, rows[stays]), int(positions.size - kept.size)


def _joined(found: Sequence[tuple[int, KeyMatches]]) -> Matches:
    """Return the matches with the keys of some buckets, at least one."""
    positions = np.concatenate([positions for _, (positions, _) in found])
    rows = np.concatenate([rows for _, (_, rows) in found])
    sizes = [some.size for _, (_, some) in found]
    buckets = np.repeat(np.array([bucket for bucket, _ in found]), sizes)
    if len(found) == 1:
        return Matches(positions, buckets, rows)
    order = np.argsort(positions, kind="stable")
    return Matches(positions[order], buckets[order], rows[order])
