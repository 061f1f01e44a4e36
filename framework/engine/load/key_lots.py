"""Many keys on storage, divided by their hashes into *lots*, so that a task compares one at a time.

Equal keys are in lots of the same number, whether they are incoming keys or those of slices. A file
of lots consists of rounds of about a million keys. A round is one record batch for each lot, empty
ones included, in the order of the lots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load.dedup import Bucket, read_batches
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import BUCKET_ROWS, LoadJob
from framework.engine.load.key_input import Part
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.filegroup.base_file import KeyFooter
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.vocabulary import KeyScope

__all__ = [
    "OWNER",
    "PLACE",
    "KeyLots",
    "LotsFile",
    "LotsReader",
    "LotsTask",
    "LotsWriter",
    "divided_keys",
    "lots_task",
    "lots_writer",
]

OWNER: Final = "owner"
PLACE: Final = "place"

_MOST_TEXTS: Final = 4_000_000
"""Incoming keys that a task holds for the slices of one scope; more are divided."""
_LOT_KEYS: Final = 1 << 19
_MOST_LOTS: Final = 1 << 16
_ROUND_KEYS: Final = 1 << 20

_SCHEMA: Final = pa.schema([(KEY, pa.string()), (OWNER, pa.uint32()), (PLACE, pa.uint32())])
"""A key, the number of its bucket or slice, and its place there."""


class _Placed(NamedTuple):
    """A part, the bucket that it belongs to, and the place of its first row there."""

    bucket: int
    first: int
    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class LotsTask:
    """Some parts whose keys are to be divided into `count` lots; `scope` as of `KeyLots`."""

    job: LoadJob
    scope: str | None
    count: int
    parts: tuple[_Placed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LotsFile:
    """The result of a task: a file of lots, with the least and the greatest key of each round."""

    scope: str | None
    path: str
    bounds: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLots:
    """The divided incoming keys of one scope; owners are buckets, places are rows of them.

    Attributes:
        scope: the partition whose rows have these keys; None means all.
        count: number of lots.
        files: the files.
    """

    scope: str | None
    count: int
    files: tuple[LotsFile, ...]

    def may_meet(self, footer: KeyFooter | None) -> bool:
        """Return whether a slice may have one of the keys: bounds are compared with bounds."""
        if footer is None or footer.least is None or footer.greatest is None:
            return True
        first, last = footer.least.encode(), footer.greatest.encode()
        meets = (
            least.encode() <= last and greatest.encode() >= first
            for file in self.files
            for least, greatest in file.bounds
        )
        return footer.rows > 0 and any(meets)


def divided_keys(
    tasks: Tasks, job: LoadJob, buckets: Sequence[Bucket], paths: Collection[str]
) -> tuple[KeyLots, ...]:
    """Return the incoming keys of each scope that has too many to hold, divided into lots.

    One round of tasks, none without such a scope.

    Args:
        tasks: run the work.
        job: the load.
        buckets: the rows.
        paths: the partitions that have slices to search.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    counts: dict[str | None, int] = {}
    work: list[LotsTask] = []
    for scope, parts in _scopes(job, buckets, paths).items():
        rows = sum(each.part.rows for each in parts)
        if rows > _MOST_TEXTS:
            counts[scope] = min(_MOST_LOTS, -(-rows // _LOT_KEYS))
            work += [
                LotsTask(job=job, scope=scope, count=counts[scope], parts=tuple(some))
                for some in shared(
                    parts, lambda each: each.part.rows, tasks.parallelism, least=BUCKET_ROWS
                )
            ]
    files: dict[str | None, list[LotsFile]] = defaultdict(list)
    for status in tasks.run(lots_task, [encode(each) for each in work]) if work else ():
        found = decode(LotsFile, status)
        files[found.scope].append(found)
    return tuple(
        KeyLots(scope=scope, count=count, files=tuple(sorted(files[scope], key=lambda f: f.path)))
        for scope, count in counts.items()
    )


def _scopes(
    job: LoadJob, buckets: Sequence[Bucket], paths: Collection[str]
) -> dict[str | None, list[_Placed]]:
    """Return the parts by partition; all under None if keys are unique in the whole table."""
    found: dict[str | None, list[_Placed]] = defaultdict(list)
    everywhere = job.rule.scope is KeyScope.TABLE
    for number, bucket in enumerate(buckets if paths else ()):
        for part, (path, first, _) in zip(bucket.parts, bucket.starts(), strict=True):
            if everywhere or path in paths:
                found[None if everywhere else path].append(_Placed(number, first, part))
    return found


def lots_task(descriptor: str) -> str:
    """Divide the keys of a `LotsTask`; return the `LotsFile` as JSON.

    Holds a million keys twice, or the keys of a part if that has more.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    task = decode(LotsTask, descriptor)
    storage = task.job.storage()
    path = join(task.job.folder, f"{uuid4().hex}.lots")
    with lots_writer(storage, path, task.count) as writer:
        batches = read_batches(storage, [each.part for each in task.parts], [KEY])
        for each, batch in zip(task.parts, batches, strict=True):
            places = np.arange(each.first, each.first + each.part.rows, dtype=np.uint32)
            writer.add(batch.column(KEY), each.bucket, places)
    return encode(LotsFile(scope=task.scope, path=path, bounds=tuple(writer.bounds)))


class LotsWriter:
    """Writes keys by lot; `bounds` are the least and the greatest key of each round."""

    def __init__(self, writer: Any, count: int) -> None:
        self.bounds: list[tuple[str, str]] = []
        self._writer = writer
        self._count = count
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def add(self, keys: pa.Array, owner: int, places: np.ndarray) -> None:
        """Add keys of one owner, with their places."""
        for at in range(0, len(keys), _ROUND_KEYS):
            some, where = keys.slice(at, _ROUND_KEYS), places[at : at + _ROUND_KEYS]
            if self._rows + where.size > _ROUND_KEYS:
                self.flush()
            owners = pa.array(np.full(where.size, owner, np.uint32))
            self._held.append(
                pa.RecordBatch.from_arrays([some, owners, pa.array(where)], schema=_SCHEMA)
            )
            self._rows += where.size

    def flush(self) -> None:
        """Write the held keys as one round."""
        if not self._held:
            return
        (rows,) = pa.Table.from_batches(self._held).combine_chunks().to_batches()
        self._held, self._rows = [], 0
        ends = pc.min_max(rows.column(KEY))
        self.bounds.append((ends["min"].as_py(), ends["max"].as_py()))
        lots = (key_hashes(rows.column(KEY)) % np.uint64(self._count)).astype(np.uint16)
        stops = np.cumsum(np.bincount(lots, minlength=self._count)).tolist()
        rows = rows.take(pa.array(np.argsort(lots, kind="stable")))
        for start, stop in zip([0, *stops], stops, strict=False):
            self._writer.write_batch(rows.slice(start, stop - start))


@contextmanager
def lots_writer(storage: Storage, path: str, count: int) -> Iterator[LotsWriter]:
    """Create a file of `count` lots."""
    with (
        storage.create(path, durable=False) as out,
        pa.ipc.new_file(out, _SCHEMA) as writer,
    ):
        found = LotsWriter(writer, count)
        yield found
        found.flush()


class LotsReader:
    """Reads the lots of some files; a context manager, which holds them open."""

    def __init__(self, storage: Storage, paths: Sequence[str], count: int) -> None:
        self._storage = storage
        self._paths = paths
        self._count = count
        self._stack = ExitStack()
        self._readers: list[Any] = []

    def __enter__(self) -> Self:
        """Open the files."""
        with ExitStack() as opened:
            streams = [opened.enter_context(self._storage.open_input(p)) for p in self._paths]
            self._readers = [pa.ipc.open_file(stream) for stream in streams]
            self._stack = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._stack.close()

    def lot(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the keys of one lot, with owners and places, in the order of the rounds."""
        for reader in self._readers:
            for at in range(number, reader.num_record_batches, self._count):
                batch = reader.get_batch(at)
                if batch.num_rows:
                    yield batch
