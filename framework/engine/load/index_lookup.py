"""From pinned input to what becomes of each row: keyed, put together, compared with the table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framework.engine.load.assignment import SliceFacts
from framework.engine.load.classify import Settled, SettleTask, settle_task
from framework.engine.load.dedup import Bucket, GatherTask, gather_task
from framework.engine.load.key_input import IncomingTask, KeyedRows, incoming_task
from framework.engine.load.refusals import refuse_duplicates, refuse_nulls
from framework.engine.load.split_by_cost import shared
from framework.engine.load.tag_task import TaggedSlices, TagTask, tag_task
from framework.engine.tasks import InProcessTasks, decode, encode
from framework.engine.views import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from framework.engine.load.job import InputFile, LoadJob
    from framework.engine.load.key_input import Part
    from framework.engine.load.tag_task import TaggedSlice
    from framework.engine.tasks import Tasks
    from framework.hudi.filegroup.slices import FileSlice

__all__ = ["Compared", "Tagged", "compare", "key_rows", "tag_slices"]

_NEAR_ROWS: Final = 1_000_000
"""Up to so many rows of input it takes less time to do the work here than to send it away."""

_ROWS_PER_TASK: Final = 250_000
_BYTES_PER_TASK: Final = 4 << 20
_BUCKET_ROWS: Final = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """What tagging found.

    Attributes:
        slices: the slices that were looked into, by number.
        facts: the same, as assigning wants them.
        hits: for each slice the file with its hits, "" where it has none.
        files: all files of hits.
        looked: in how many slices keys were read.
        fallbacks: how many questions of tasks the timeline service did not answer.
    """

    slices: tuple[FileSlice, ...]
    facts: tuple[SliceFacts, ...]
    hits: tuple[str, ...]
    files: tuple[str, ...]
    looked: int
    fallbacks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The input against the table.

    Attributes:
        input_rows: rows of the input.
        buckets: the rows, each key once.
        tagged: existing rows with the same keys.
        settled: what becomes of each bucket's rows.
    """

    input_rows: int
    buckets: tuple[Bucket, ...]
    tagged: Tagged
    settled: tuple[Settled, ...]

    @property
    def dropped(self) -> int:
        """Rows that gave way to another row of the input with their key."""
        return sum(each.dropped for each in self.buckets)

    @property
    def inserts(self) -> dict[str, list[tuple[int, int, int]]]:
        """The rows to insert: for each partition path stretches of [bucket, start, stop]."""
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for each in self.settled:
            for path, start, stop in each.parts:
                found[path].append((each.number, start, stop))
        return dict(found)


def key_rows(
    tasks: Tasks, job: LoadJob, files: Sequence[InputFile]
) -> tuple[int, tuple[Bucket, ...]]:
    """Return the number of input rows, and the rows in buckets, each key once in its scope.

    Costs two rounds of tasks, in this process where the input is small.

    Raises:
        AuditFailedError: `audit/null-keys`; `audit/duplicate-keys` where the operation refuses
            keys that occur twice.
        SourceDriftError, CorruptFileError, PlanError: as of `incoming_task`.
    """
    nearby = _nearby(tasks, sum(each.rows for each in files))
    work = [
        encode(IncomingTask(job=job, files=tuple(part)))
        for part in shared(files, lambda f: f.rows, nearby.parallelism, least=_ROWS_PER_TASK)
    ]
    keyed = [decode(KeyedRows, status) for status in nearby.run(incoming_task, work)]
    refuse_nulls(job, files, [each.nulls for each in keyed])
    shares: dict[str, list[Part]] = defaultdict(list)
    for each in sorted(keyed, key=lambda each: each.first):
        for share, parts in each.shares.items():
            shares[share] += parts
    rows = {share: sum(part.rows for part in parts) for share, parts in shares.items()}
    names = sorted(shares, key=str.encode)
    gathers = [
        encode(GatherTask(job=job, shares=tuple(tuple(shares[name]) for name in part)))
        for part in shared(names, lambda n: rows[n], nearby.parallelism, least=_BUCKET_ROWS)
    ]
    found = [decode(Bucket, status) for status in nearby.run(gather_task, gathers)]
    buckets = tuple(sorted(found, key=lambda each: [p.partition_path.encode() for p in each.parts]))
    refuse_duplicates(job, files, buckets)
    return sum(each.rows for each in keyed), buckets


def tag_slices(
    tasks: Tasks, job: LoadJob, buckets: Sequence[Bucket], slices: Sequence[FileSlice]
) -> Tagged:
    """Return which rows of the slices have incoming keys; one round of tasks, none without slices.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: as of `tag_task`.
    """
    numbered = list(enumerate(slices))
    by_address = job.view is not None
    work = [
        encode(
            TagTask(
                job=job,
                buckets=tuple(buckets),
                slices=tuple((at, asked(each, by_address=by_address)) for at, each in part),
            )
        )
        for part in shared(
            numbered, lambda pair: _bytes(pair[1]), tasks.parallelism, least=_BYTES_PER_TASK
        )
    ]
    found = [decode(TaggedSlices, status) for status in tasks.run(tag_task, work)]
    tagged = {each.number: (each, part.path) for part in found for each in part.slices}
    by_number = [tagged[number] for number, _ in numbered]
    return Tagged(
        slices=tuple(slices),
        facts=tuple(_facts(*pair) for pair in zip(slices, (t for t, _ in by_number), strict=True)),
        hits=tuple(path if each.hits else "" for each, path in by_number),
        files=tuple(sorted(each.path for each in found if each.hits)),
        looked=sum(each.looked for each, _ in by_number),
        fallbacks=sum(each.fallbacks for each in found),
    )


def compare(
    tasks: Tasks,
    job: LoadJob,
    files: Sequence[InputFile],
    slices_of: Callable[[frozenset[str]], Sequence[FileSlice]],
) -> Compared:
    """Return what becomes of the input.

    Args:
        tasks: carries the work.
        job: what tasks are told.
        files: the pinned input.
        slices_of: returns the slices that may hold the keys of rows in some partitions.

    Raises:
        AuditFailedError: as of `key_rows`.
        SourceDriftError, CorruptFileError, UnsupportedTableError: input or slices cannot be read.
    """
    input_rows, buckets = key_rows(tasks, job, files)
    paths = frozenset(part.partition_path for bucket in buckets for part in bucket.parts)
    tagged = tag_slices(tasks, job, buckets, slices_of(paths))
    return Compared(
        input_rows=input_rows,
        buckets=buckets,
        tagged=tagged,
        settled=tuple(_settle(tasks, job, buckets, tagged.files)),
    )


def _settle(
    tasks: Tasks, job: LoadJob, buckets: Sequence[Bucket], hits: Sequence[str]
) -> Iterable[Settled]:
    """Return what becomes of the rows of each bucket, by number."""
    nearby = _nearby(tasks, sum(each.rows for each in buckets))
    work = [
        encode(SettleTask(job=job, number=number, bucket=each, hits=tuple(hits)))
        for number, each in enumerate(buckets)
    ]
    found = [decode(Settled, status) for status in nearby.run(settle_task, work)]
    return sorted(found, key=lambda each: each.number)


def _nearby(tasks: Tasks, rows: int) -> Tasks:
    """Return who does work on so many rows."""
    return InProcessTasks(1) if rows <= _NEAR_ROWS else tasks


def _bytes(found: FileSlice) -> int:
    """Return what reading a slice's keys may cost, and what its rows take."""
    source = found.bootstrap.size if found.bootstrap else 0
    return found.total_size_bytes + source


def _facts(found: FileSlice, tagged: TaggedSlice) -> SliceFacts:
    """Return what assigning wants to know of a slice."""
    base = found.base.size if found.base else 0
    return SliceFacts(
        number=tagged.number,
        partition_path=found.group.partition_path,
        rows=tagged.rows,
        bytes=base + (found.bootstrap.size if found.bootstrap else 0),
        hits=tagged.hits,
        is_skeleton=found.bootstrap is not None,
        has_logs=bool(found.logs),
    )
