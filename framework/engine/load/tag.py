"""The step of a load that keys its input and looks up which of the keys the table has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from framework.engine.events import Events, Note
from framework.engine.load.assignment import SliceFacts
from framework.engine.load.dedup import Bucket, GatherTask, bucket_rows, gather_task
from framework.engine.load.hits import (
    ClassifiedRows,
    ClassifyTask,
    SliceHits,
    classify_task,
    hit_batches,
)
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import (
    BUCKET_ROWS,
    NEW_KEYS_ONLY,
    ROWS_PER_TASK,
    InputFile,
    LoadJob,
    Opened,
    Pinned,
)
from framework.engine.load.key_input import IncomingTask, KeyedRows, Part, incoming_task
from framework.engine.load.key_lots import divided_keys
from framework.engine.load.refusals import TakenKey, refuse_duplicates, refuse_nulls, refuse_taken
from framework.engine.load.tag_task import TaggedSlice, TaggedSlices, TagTask, tag_task
from framework.engine.reading.table import Table
from framework.engine.reading.views import Views, asked, latest_slices
from framework.engine.run.state import RunState
from framework.engine.tasks import InProcessTasks, Tasks, decode, encode, shared
from framework.errors import PlanError, Where
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.port import Storage
from framework.plan.stages import TagRows
from framework.plan.words import count_text
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "Compared",
    "Tagged",
    "compare",
    "existing_slices",
    "key_rows",
    "tag_rows",
    "tag_slices",
    "taken_keys",
]

_SHOWN = 50

_NEAR_ROWS: Final = 1_000_000
"""Input rows up to which the work is faster in process than sent to tasks."""
_BYTES_PER_TASK: Final = 4 << 20


def tag_rows(run: RunState, opened: Opened, pinned: Pinned, stage: TagRows) -> Compared:
    """Key the input, and look up which of its keys the table has.

    Raises:
        AuditFailedError: `audit/null-keys`, `audit/duplicate-keys`, `audit/taken-keys`.
    """
    ctx, job = run.ctx, pinned.job
    with run.stage(stage) as report:
        slices = partial(existing_slices, opened.table, job, stage.scope, ctx.views)
        compared = compare(ctx.tasks, job, pinned.files, slices)
        _report_fallbacks(ctx.events, compared.tagged.fallbacks)
        hits = sum(each.hits for each in compared.tagged.facts)
        if hits and job.operation in NEW_KEYS_ONLY:
            refuse_taken(job, hits, taken_keys(ctx.storage, compared))
        groups = count_text(len(compared.tagged.slices), "file group")
        read = f"{compared.tagged.looked:,} read"
        report.summary = f"{groups}, {read}; {count_text(hits, 'row')} to change"
    return compared


def existing_slices(
    table: Table | None, job: LoadJob, scope: KeyScope, views: Views, paths: frozenset[str]
) -> tuple[FileSlice, ...]:
    """Return the slices that may contain keys of these partitions' rows, by partition and file id.

    None for a new table. If keys are unique in the whole table, these are all slices except those
    of partitions that the load replaces. Costs what the view costs: with listing, one per partition
    and folder above.

    Raises:
        PlanError: `load/skipped-partition`.
    """
    if table is None:
        return ()
    _refuse_skipped(table, paths)
    replaced = paths if job.operation is WriteOperation.INSERT_OVERWRITE else frozenset()
    if scope is KeyScope.PARTITION and job.rule.partition:
        return tuple(latest_slices(table, views, paths - replaced))
    return tuple(latest_slices(table, views, None, without=replaced))


def _refuse_skipped(table: Table, paths: frozenset[str]) -> None:
    """Raise for rows of a partition that a rule of the bootstrap left outside the table.

    Raises:
        PlanError: `load/skipped-partition`.
    """
    found = sorted(paths & table.skipped)
    if found:
        raise PlanError(
            "load/skipped-partition",
            f"the input has rows of {len(found):,} partitions that the bootstrap skipped",
            where=Where(table=table.storage.location, partition=found[0]),
            remedy="Exclude these rows in a transform; skipped partitions are not in the table.",
        )


def taken_keys(storage: Storage, compared: Compared) -> list[TakenKey]:
    """Return some input keys that the table has, each with its file and row there."""
    found: list[TakenKey] = []
    batches = (each for path in compared.tagged.files for each in hit_batches(storage, path))
    for batch in batches:
        if len(found) == _SHOWN:
            break
        for hit in batch.slice(0, _SHOWN - len(found)).to_pylist():
            rows, _ = bucket_rows(storage, compared.buckets[hit["bucket"]], None, [KEY])
            if rows is None:
                continue
            base = compared.tagged.slices[hit["slice"]].base
            name = base.path if base else compared.tagged.slices[hit["slice"]].group.file_id
            found.append((rows[KEY][hit["row"]].as_py(), name, hit["position"]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """The result of tagging.

    Attributes:
        slices: the slices that were searched, by number.
        facts: the same, as input of the assignment.
        hits: the hits of each slice, None if it has none.
        files: all files of hits.
        looked: number of slices whose keys were read.
        fallbacks: number of task requests that the timeline service did not answer.
    """

    slices: tuple[FileSlice, ...]
    facts: tuple[SliceFacts, ...]
    hits: tuple[SliceHits | None, ...]
    files: tuple[str, ...]
    looked: int
    fallbacks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The input compared with the table.

    Attributes:
        input_rows: rows of the input.
        buckets: the rows, each key once.
        tagged: existing rows with the same keys.
        classified: the outcome of each bucket's rows.
    """

    input_rows: int
    buckets: tuple[Bucket, ...]
    tagged: Tagged
    classified: tuple[ClassifiedRows, ...]

    @property
    def dropped(self) -> int:
        """Rows that lost to another row of the input with their key."""
        return sum(each.dropped for each in self.buckets)

    @property
    def inserts(self) -> dict[str, list[tuple[int, int, int]]]:
        """The rows to insert: for each partition path stretches of [bucket, start, stop]."""
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for each in self.classified:
            for path, start, stop in each.parts:
                found[path].append((each.number, start, stop))
        return dict(found)


def key_rows(
    tasks: Tasks, job: LoadJob, files: Sequence[InputFile]
) -> tuple[int, tuple[Bucket, ...]]:
    """Return the number of input rows, and the rows in buckets, each key once in its scope.

    Costs two rounds of tasks, in this process if the input is small.

    Raises:
        AuditFailedError: `audit/null-keys`; `audit/duplicate-keys` if the operation refuses keys
            that occur twice.
        SourceDriftError, CorruptFileError, PlanError: see `incoming_task`.
    """
    nearby = _nearby(tasks, sum(each.rows for each in files))
    work = [
        encode(IncomingTask(job=job, files=tuple(part)))
        for part in shared(files, lambda f: f.rows, nearby.parallelism, least=ROWS_PER_TASK)
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
        for part in shared(names, lambda n: rows[n], nearby.parallelism, least=BUCKET_ROWS)
    ]
    found = [decode(Bucket, status) for status in nearby.run(gather_task, gathers)]
    buckets = tuple(sorted(found, key=lambda each: [p.partition_path.encode() for p in each.parts]))
    refuse_duplicates(job, files, buckets)
    return sum(each.rows for each in keyed), buckets


def tag_slices(
    tasks: Tasks, job: LoadJob, buckets: Sequence[Bucket], slices: Sequence[FileSlice]
) -> Tagged:
    """Return which rows of the slices have incoming keys.

    One round of tasks, and one more if a scope has too many keys to hold; none without slices. Each
    task reads all divided keys of its slices' scopes, so there is then one for each core.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `tag_task`.
    """
    numbered = list(enumerate(slices))
    by_address = job.view is not None
    sizes = [_bytes(each) for each in slices]
    lots = divided_keys(tasks, job, buckets, {each.group.partition_path for each in slices})
    work = [
        encode(
            TagTask(
                job=job,
                buckets=tuple(buckets),
                lots=lots,
                slices=tuple((at, asked(each, by_address=by_address)) for at, each in part),
            )
        )
        for part in shared(
            numbered,
            lambda pair: sizes[pair[0]],
            tasks.parallelism,
            least=max(_BYTES_PER_TASK, sum(sizes) / (tasks.parallelism + 0.5) if lots else 0),
        )
    ]
    found = [decode(TaggedSlices, status) for status in tasks.run(tag_task, work)]
    tagged = {each.number: each for part in found for each in part.slices}
    by_number = [tagged[number] for number, _ in numbered]
    return Tagged(
        slices=tuple(slices),
        facts=tuple(_facts(*pair) for pair in zip(slices, by_number, strict=True)),
        hits=tuple(each.found if each.hits else None for each in by_number),
        files=tuple(sorted(each.path for each in found if each.hits)),
        looked=sum(each.looked for each in by_number),
        fallbacks=sum(each.fallbacks for each in found),
    )


def compare(
    tasks: Tasks,
    job: LoadJob,
    files: Sequence[InputFile],
    slices_of: Callable[[frozenset[str]], Sequence[FileSlice]],
) -> Compared:
    """Return the outcome of the input.

    Args:
        tasks: run the work.
        job: what tasks get.
        files: the pinned input.
        slices_of: returns the slices that may contain the keys of rows in some partitions.

    Raises:
        AuditFailedError: see `key_rows`.
        SourceDriftError, CorruptFileError, UnsupportedTableError: input or slices cannot be read.
    """
    input_rows, buckets = key_rows(tasks, job, files)
    paths = frozenset(part.partition_path for bucket in buckets for part in bucket.parts)
    tagged = tag_slices(tasks, job, buckets, slices_of(paths))
    return Compared(
        input_rows=input_rows,
        buckets=buckets,
        tagged=tagged,
        classified=tuple(_classified(tasks, job, buckets, tagged.files)),
    )


def _classified(
    tasks: Tasks, job: LoadJob, buckets: Sequence[Bucket], hits: Sequence[str]
) -> Iterable[ClassifiedRows]:
    """Return the outcome of the rows of each bucket, by number."""
    nearby = _nearby(tasks, sum(each.rows for each in buckets))
    work = [
        encode(ClassifyTask(job=job, number=number, bucket=each, hits=tuple(hits)))
        for number, each in enumerate(buckets)
    ]
    found = [decode(ClassifiedRows, status) for status in nearby.run(classify_task, work)]
    return sorted(found, key=lambda each: each.number)


def _nearby(tasks: Tasks, rows: int) -> Tasks:
    """Return `tasks`, or in-process tasks for few rows."""
    return InProcessTasks(1) if rows <= _NEAR_ROWS else tasks


def _bytes(found: FileSlice) -> int:
    """Return the size of a slice: the cost of reading its keys, and the size of its rows."""
    source = found.bootstrap.size if found.bootstrap else 0
    return found.total_size_bytes + source


def _facts(found: FileSlice, tagged: TaggedSlice) -> SliceFacts:
    """Return the facts of a slice that the assignment needs."""
    base = found.base.size if found.base else 0
    return SliceFacts(
        number=tagged.number,
        partition_path=found.group.partition_path,
        rows=tagged.rows,
        bytes=base + (found.bootstrap.size if found.bootstrap else 0),
        hits=tagged.hits,
        is_skeleton=found.bootstrap is not None,
        has_logs=bool(found.logs),
        hides=tagged.hides,
    )


def _report_fallbacks(events: Events, fallbacks: int) -> None:
    """Warn that tasks listed folders because the timeline service did not answer them."""
    if fallbacks:
        times = count_text(fallbacks, "question")
        text = f"the timeline service did not answer {times} of tasks; folders were listed instead"
        events(Note(level="warning", message=text))
