"""Whether a load's rows go straight into new files, and the tasks that write them.

Other loads bring the rows of one partition, or of one range of key hashes, together first: to find
which keys the table has, to choose among rows with one key, and to fill files well. Where none of
that is needed, rows are encoded as they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from framework.engine.audit.account import Account
from framework.engine.events import Progress
from framework.engine.load.assignment import MOST_ROWS
from framework.engine.load.input_rows import paths_of, piece_columns, pieces_of
from framework.engine.load.job import NEW_KEYS_ONLY, ROWS_PER_TASK, Opened, Pinned, WrittenLoad
from framework.engine.load.new_files_task import NewFilesTask, NewFilesWritten, new_files_task
from framework.engine.load.refusals import refuse_nulls
from framework.engine.run.inspection import Intake
from framework.engine.run.state import RunState
from framework.engine.tasks import LimitedTasks, decode, encode, shared
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.statuses import written_files
from framework.plan.stages import RowStages, WriteRows
from framework.plan.words import count_text

__all__ = ["NewRows", "new_rows", "write_new_rows"]

_STAGE: Final = "write"
_LEAST_SHARE: Final = 1 / 8
"""Of the target size: tasks share no file, and more tasks would make files smaller than this."""
_SAMPLED_FILES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """An input all of whose rows are new, or the gate refuses them; `tasks` write it."""

    tasks: int


def new_rows(run: RunState, opened: Opened, pinned: Pinned, stage: WriteRows) -> NewRows | None:
    """Return how the rows go straight into new files; None if they must be compared first.

    They need not if the load creates the table and refuses keys that occur twice, and if that
    makes no smaller files with all tasks busy. Reads the partition columns of up to four files.

    Raises:
        SourceDriftError, CorruptFileError, PlanError: as in `incoming_task`.
    """
    if opened.table is not None or stage.operation not in NEW_KEYS_ONLY or not pinned.files:
        return None
    parallelism = stage.parallelism or run.ctx.tasks.parallelism
    busy = max(1, min(parallelism, pinned.rows // ROWS_PER_TASK))
    if busy == 1:
        return NewRows(tasks=1)
    least = len(_some_paths(pinned)) * stage.target_file_size * _LEAST_SHARE
    most = min(len(pinned.files), int(pinned.rows * pinned.row_bytes / least))
    return NewRows(tasks=most) if most >= busy else None


def _some_paths(pinned: Pinned) -> set[str]:
    """Return the partitions of the first rows of some files."""
    names = {each.name for each in pinned.job.rule.partition}
    columns = pa.schema([field for field in pinned.job.table_schema if field.name in names])
    job = replace(pinned.job, schema=encode_schema(columns))
    found = {""} if not names else set()
    for file in pinned.files[:: -(-len(pinned.files) // _SAMPLED_FILES)] if names else ():
        piece = next(pieces_of(job, file), None)
        if piece is not None:
            found.update(paths_of(job, piece_columns(job, piece)).dictionary.to_pylist())
    return found


def write_new_rows(run: RunState, pinned: Pinned, rows: NewRows, stages: RowStages) -> WrittenLoad:
    """Write all rows into new files; no key is looked up, since the table is new.

    Raises:
        AuditFailedError: `audit/null-keys`.
        SourceDriftError, CorruptFileError, PlanError: as in `incoming_task`.
    """
    with run.stage(stages.tag) as report:
        report.summary = "a new table: rows go straight into new files"
    with run.stage(stages.write) as report:
        found = list(_written(run, pinned, rows, stages.write))
        refuse_nulls(pinned.job, pinned.files, [each.nulls for each in found])
        last = max(each.segment.last for each in found)
        segments = [replace(each.segment, first=0, last=last) for each in found]
        files = written_files(segments)  # one range, since all tasks write into all partitions
        report.summary = f"{count_text(files.files, 'file')}, {files.bytes:,} bytes"
    read = sum(each.rows for each in found)
    return WrittenLoad(
        files=files,
        schema=pinned.schema,
        intake=Intake(rows=pinned.rows, screened=pinned.screened),
        account=Account(input=read, inserted=read),
        overwritten=frozenset(path for each in found for path in each.paths),
        uncompared=pinned,
    )


def _written(
    run: RunState, pinned: Pinned, rows: NewRows, stage: WriteRows
) -> Iterator[NewFilesWritten]:
    """Run the tasks; yield their results as they complete."""
    ctx = run.ctx
    parts = shared(pinned.files, lambda file: file.rows, rows.tasks, least=pinned.rows / rows.tasks)
    descriptors = [
        encode(
            NewFilesTask(
                job=pinned.job,
                files=tuple(part),
                number=number,
                tasks=len(parts),
                row_bytes=pinned.row_bytes,
                file_rows=max(1, min(MOST_ROWS, int(stage.target_file_size / pinned.row_bytes))),
            )
        )
        for number, part in enumerate(parts)
    ]
    tasks = LimitedTasks(ctx.tasks, stage.parallelism or ctx.tasks.parallelism)
    for status in tasks.run(new_files_task, descriptors):
        done = decode(NewFilesWritten, status)
        part = done.segment
        ctx.events(Progress(stage=_STAGE, files=part.files, rows=part.rows, bytes=part.bytes))
        yield done
