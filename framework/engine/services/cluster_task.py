"""The task that writes slices of one partition as new file groups, their rows merged or sorted.

A pure function of its descriptor. Rows keep their commit times and sequence numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pyarrow as pa

from framework.engine.audit.regrouped import Regrouped
from framework.engine.reading.slice_rows import SliceFiles
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
from framework.engine.services.row_order import sorted_places
from framework.engine.shares import shared
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.commit.statuses import FileStatus, WrittenFiles, written_files
from framework.hudi.filegroup.names import BaseFileName
from framework.hudi.table.layout import join
from framework.hudi.timeline.replace_plan import ClusteredGroup
from framework.vocabulary import RowOrder

__all__ = ["ClusterWork", "cluster_slices", "cluster_task", "cluster_works"]


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


def cluster_works(groups: Sequence[ClusteredGroup], instant: str) -> tuple[ClusterWork, ...]:
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


def cluster_slices(
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

    def files(attempt: str, store: FileStore) -> Iterator[FileStatus]:
        for work in task.works:
            yield from _written(task, work, attempt, store)

    return encode(stored_files(task.job, files))


def _written(
    task: ClusterTask, work: ClusterWork, attempt: str, store: FileStore
) -> Iterator[FileStatus]:
    """Write the rows of one group in files of about equal numbers of rows."""
    rows = pa.concat_tables(
        [rows_to_keep(task.job, work.partition_path, each, encoded=False) for each in work.files]
    )
    places = sorted_places(rows, task.by, task.order) if task.by else np.arange(rows.num_rows)
    count = max(1, min(len(work.outputs), rows.num_rows))
    for file, part in zip(work.outputs, np.array_split(places, count), strict=False):
        taken = rows.take(pa.array(part))
        yield put_rows(task.job, taken, file, join(attempt, file.name), store)
