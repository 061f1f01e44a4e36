"""Clustering: slices are replaced by new file groups, as one replacecommit in Apache Hudi's form.

Tasks write the slices of a partition with their rows merged or sorted. Rows stay in their partition
and keep their keys, commit times and sequence numbers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pyarrow as pa

from framework.engine.audit.rewritten import Regrouped, audit_regrouped
from framework.engine.reading.slice_rows import SliceFiles
from framework.engine.reading.table import Table
from framework.engine.run.durable_files import FileStore
from framework.engine.services.rewrite import (
    LEAST_BYTES,
    OutputFile,
    RewriteJob,
    SlicesWritten,
    put_rows,
    rows_to_keep,
    stored_files,
)
from framework.engine.services.rewriting import (
    Rewritten,
    are_latest,
    observed,
    publish_rewrite,
    rewrite_job,
    rewriting,
    slices_of,
)
from framework.engine.services.row_order import is_sortable, sorted_places
from framework.engine.services.service_run import ServiceRun
from framework.engine.services.slice_sources import check_sources
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.errors import CommitConflictError, PlanError, UnsupportedTableError, Where
from framework.hudi.commit.statuses import FileStatus, WrittenFiles, written_files
from framework.hudi.commit.task_files import NewName, TaskFiles
from framework.hudi.filegroup.slices import BaseFileName, FileSlice
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.requested_plans import ClusteredGroup, clustering_plan_bytes
from framework.plan.services.clustering import ClusteringPlan, ClusterRequest, plan_clustering
from framework.vocabulary import RowOrder

__all__ = ["CLUSTERING_KEY", "cluster_task", "observe_clustering", "run_clustering"]

CLUSTERING_KEY: Final = "lakestrap.clustering"
"""Key of a commit's `extraMetadata` with the order in which it sorted the rows of its files."""
_BUCKET: Final = re.compile(r"0000[0-9]{4}-")
"""The start of file ids under a bucket index of up to 10,000 buckets, and of few random ones."""


def observe_clustering(
    location: str, request: ClusterRequest, *, partitions: Collection[str] = ()
) -> ClusteringPlan:
    """Return the plan to cluster a table; lists each partition and changes nothing.

    Reads the head of each completed replacecommit, to leave out what is sorted already.

    Args:
        location: the table's.
        request: the requested layout.
        partitions: paths of the partitions; none means all.

    Raises:
        PlanError: `cluster/no-such-column`, `cluster/column-not-sortable`,
            `service/no-such-partition`.
        CommitConflictError: `table/foreign-pending`.
        UnsupportedTableError: `cluster/bucket-index`, or see `observed`.
        CorruptFileError: see `slices_of`.
    """
    table = observed(location)
    _check_columns(table, request.by)
    slices = slices_of(table, partitions)
    _check_file_ids(table, slices)
    return plan_clustering(
        table.storage.location, slices, request, sorted_at=_sorted_at(table, request)
    )


def run_clustering(
    plan: ClusteringPlan,
    tasks: Tasks,
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> Rewritten | None:
    """Write the new file groups, compare the records, and publish.

    Args:
        plan: the slices.
        tasks: run the work.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Returns:
        The published clustering; None if the plan has no slice.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `cluster/stale-plan`; the table has changed since it was planned.
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing was published.
        AfterCommitError: published, but leftovers could not be removed.
    """
    if not plan.groups:
        return None
    with rewriting(plan.location, storage, clock) as (run, table):
        if not are_latest(table, plan.slices):
            raise CommitConflictError(
                "cluster/stale-plan",
                "the table has changed since the clustering was planned",
                where=Where(table=plan.location),
                remedy="Nothing was changed. Run the command again.",
            )
        return _clustered(run, table, plan, tasks)


def _clustered(run: ServiceRun, table: Table, plan: ClusteringPlan, tasks: Tasks) -> Rewritten:
    """Write, compare and publish."""
    by, order = plan.request.by, plan.request.order
    check_sources(tasks, plan.location, plan.slices)
    requested = clustering_plan_bytes(plan.location, plan.groups, by, run.facts)
    transaction = run.begin(Action.REPLACECOMMIT, "CLUSTER", requested)
    works = _cluster_works(plan.groups, transaction.intent.requested_time)
    job = rewrite_job(transaction, table)
    written = _cluster_slices(tasks, job, works, by, order)
    audited = audit_regrouped(tasks, written, job.slices, [each.audited for each in works])
    check_sources(tasks, plan.location, plan.slices)
    extra = {CLUSTERING_KEY: _layout_text(plan.request)}
    return publish_rewrite(
        run, transaction, table, audited, replaced=_replaced(plan.slices), extra=extra
    )


def _replaced(slices: Iterable[FileSlice]) -> Mapping[str, tuple[str, ...]]:
    """Return the file ids that the clustering hides, by partition path."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in slices:
        found[each.group.partition_path].append(each.group.file_id)
    return {path: tuple(sorted(ids)) for path, ids in found.items()}


def _layout_text(request: ClusterRequest) -> str:
    """Return the order of rows as a commit records it."""
    return json.dumps({"by": list(request.by), "order": request.order.value})


def _sorted_at(table: Table, request: ClusterRequest) -> frozenset[str]:
    """Return the instants whose files have their rows in the requested order."""
    if not request.by:
        return frozenset()
    wanted = _layout_text(request)
    return frozenset(
        each.requested_time
        for each in table.timeline.completed
        if each.action is Action.REPLACECOMMIT
        and read_commit_head(table.storage, each.path).extra.get(CLUSTERING_KEY) == wanted
    )


def _check_columns(table: Table, by: Iterable[str]) -> None:
    """Raise unless rows can be sorted by these columns.

    Raises:
        PlanError: `cluster/no-such-column`, `cluster/column-not-sortable`.
    """
    where = Where(table=table.storage.location)
    folders = {each.name for each in table.partition}
    for name in by:
        if name not in table.schema.names:
            raise PlanError(
                "cluster/no-such-column",
                f"the table has no column '{name}'",
                where=where,
                remedy="Name columns of the table; `run-pipeline sql` shows them.",
            )
        kind = table.schema.field(name).type
        if name in folders or not is_sortable(kind):
            what = "is equal in all rows of a partition" if name in folders else f"is {kind}"
            raise PlanError(
                "cluster/column-not-sortable",
                f"rows cannot be sorted by column '{name}', which {what}",
                where=where,
                remedy="Name other columns.",
            )


def _check_file_ids(table: Table, slices: Collection[FileSlice]) -> None:
    """Raise if file ids begin with bucket numbers, by which writers look up keys.

    Raises:
        UnsupportedTableError: `cluster/bucket-index`.
    """
    if slices and all(_BUCKET.match(each.group.file_id) for each in slices):
        raise UnsupportedTableError(
            "cluster/bucket-index",
            "its file ids are bucket numbers, and a key must stay in its bucket",
            where=Where(table=table.storage.location),
            remedy="Such a table cannot be clustered here; use Apache Hudi.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWork:
    """Slices of one partition that are written together.

    Attributes:
        partition_path: the partition.
        files: of the slices.
        outputs: the files that may be written, numbered; fewer if there are fewer rows.
        bytes: what it costs to read.
    """

    partition_path: str
    files: tuple[SliceFiles, ...]
    outputs: tuple[OutputFile, ...]
    bytes: int

    @property
    def audited(self) -> Regrouped:
        """The same for the audit."""
        return Regrouped(
            partition_path=self.partition_path,
            files=self.files,
            names=tuple(each.name for each in self.outputs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTask:
    """Some groups to write; `by` and `order` as in `ClusterRequest`."""

    job: RewriteJob
    by: tuple[str, ...]
    order: RowOrder
    works: tuple[ClusterWork, ...]


def _cluster_works(groups: Sequence[ClusteredGroup], instant: str) -> tuple[ClusterWork, ...]:
    """Return the work on each group; file ids follow from the instant and the file's number."""
    works = []
    number = 0
    for group in groups:
        path = group.slices[0].group.partition_path
        numbers = range(number, number + group.outputs)
        number += group.outputs
        works.append(
            ClusterWork(
                partition_path=path,
                files=tuple(SliceFiles.of(each) for each in group.slices),
                outputs=tuple(_output(instant, path, each) for each in numbers),
                bytes=sum(each.bytes_to_read for each in group.slices),
            )
        )
    return tuple(works)


def _output(instant: str, path: str, number: int) -> OutputFile:
    """Return a file of a new file group."""
    file_id = f"{uuid5(NAMESPACE_URL, f'lakestrap:{instant}:{path}:{number}')}-0"
    name = BaseFileName(file_id=file_id, write_token=f"{number}-0-0", instant=instant)
    return OutputFile(number=number, partition_path=path, file_id=file_id, name=str(name))


def _cluster_slices(
    tasks: Tasks,
    job: RewriteJob,
    works: Sequence[ClusterWork],
    by: tuple[str, ...],
    order: RowOrder,
) -> WrittenFiles:
    """Write the new file groups, shared among tasks by bytes; one round of tasks.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `cluster_task`.
    """
    parts = shared(works, lambda work: work.bytes, tasks.parallelism, least=LEAST_BYTES)
    descriptors = [
        encode(ClusterTask(job=job, by=by, order=order, works=tuple(part))) for part in parts
    ]
    found = [decode(SlicesWritten, each) for each in tasks.run(cluster_task, descriptors)]
    return written_files(each.segment for each in found)


def cluster_task(descriptor: str) -> str:
    """Write the groups of a `ClusterTask`; return the `SlicesWritten` as JSON.

    Holds the rows of one group in memory, and the rows of one new file once more.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(ClusterTask, descriptor)

    def files(places: TaskFiles, store: FileStore) -> Iterator[FileStatus]:
        for work in task.works:
            yield from _written(task, work, places, store)

    outputs = (file for work in task.works for file in work.outputs)
    names = [NewName(each.partition_path, each.name) for each in outputs]
    return encode(stored_files(task.job, names, files))


def _written(
    task: ClusterTask, work: ClusterWork, places: TaskFiles, store: FileStore
) -> Iterator[FileStatus]:
    """Write the rows of one group in files of about equal numbers of rows."""
    rows = pa.concat_tables(
        [rows_to_keep(task.job, work.partition_path, each, encoded=False) for each in work.files]
    )
    ordered = sorted_places(rows, task.by, task.order) if task.by else np.arange(rows.num_rows)
    count = max(1, min(len(work.outputs), rows.num_rows))
    for file, part in zip(work.outputs, np.array_split(ordered, count), strict=False):
        taken = rows.take(pa.array(part))
        staged = places.path(file.partition_path, file.name)
        yield put_rows(task.job, taken, file, staged, store)
