"""Staging of an input: its rows as Parquet files, so that they are computed only once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, lit

from framework.errors import EngineError, PlanError, Where
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Move, Storage, exists_error, storage_error, uploads_of
from framework.hudi.table.layout import join
from framework.plan.load import InputRequest
from framework.spark.jobs import run_job
from framework.spark.loading.determinism import refuse_indeterminate
from framework.spark.loading.file_columns import refuse_columns
from framework.spark.loading.frames import open_input
from framework.spark.reading.files import hadoop_path, plain_path
from framework.spark.reading.jvm import Jvm
from framework.spark.task_faults import first_line, typed

__all__ = ["WRITING", "StagedFile", "StagedInput", "name_staged_files", "stage_input"]

_COMMITTED: Final = "_SUCCESS"
_PART: Final = re.compile(r"part-(\d+)-.*-c(\d+)(?:\.\w+)?\.parquet")

_COMMITTER: Final = "mapreduce.fileoutputcommitter"
WRITING: Final = {
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    # Spark 4.1 then compares what a map task writes again with what it wrote before, and computes
    # the whole stage again, or fails, if it differs (SPARK-53575). Others ignore this.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.execution.sortBeforeRepartition": "true",
    # Whatever the cluster's settings, only committed files may reach the folder: the second
    # algorithm moves files one by one, and a task that dies while moving leaves some behind.
    f"{_COMMITTER}.algorithm.version": "1",
    f"{_COMMITTER}.marksuccessfuljobs": "true",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources."
    "SQLHadoopMapReduceCommitProtocol",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """One file of a staged input; `path` is absolute, `rows` is never 0."""

    path: str
    rows: int
    size_bytes: int


def name_staged_files(folder: str, *, rows: int) -> tuple[pa.Schema, tuple[StagedFile, ...]]:
    """Rename the files of a committed job, delete the rest, and return their schema and names.

    Files without rows are deleted too. Spark writes one for its first task anyway, which has the
    schema. In a store without moves files keep the names that Spark gave them, whose order is the
    same.

    Args:
        folder: full location; only one job of Spark has written into it.
        rows: the number of rows that it reported as written.

    Raises:
        EngineError: `input/rows-differ`; the files are not those that Spark has written.
        StorageError, ArrowException: a file cannot be read, renamed or deleted.
    """
    storage = open_storage(folder)
    entries = {each.name: each for each in storage.list("")}
    parts = _parts(entries) if _COMMITTED in entries else []
    if not parts:
        raise _rows_differ(folder, "no file")
    footers = [_footer(storage, part) for part in parts]
    found = sum(count for _, count in footers)
    if found != rows:
        raise _rows_differ(folder, f"{found} of {rows} rows")
    counts = [count for _, count in footers]
    kept = [(part, count) for part, count in zip(parts, counts, strict=True) if count]
    names = [part for part, _ in kept]
    if uploads_of(storage) is None:
        names = [f"part-{number:05d}.parquet" for number in range(len(kept))]
        pairs = zip(kept, names, strict=True)
        storage.move([Move(source=part, target=name) for (part, _), name in pairs])
    empty = [part for part, count in zip(parts, counts, strict=True) if not count]
    # checksums of former names, and the commit marker
    others = [name for name in entries if name.startswith((".", "_"))]
    storage.delete(*empty, *others)
    files = (
        StagedFile(path=join(folder, name), rows=count, size_bytes=entries[part].size)
        for name, (part, count) in zip(names, kept, strict=True)
    )
    return footers[0][0], tuple(files)


def _parts(names: Iterable[str]) -> list[str]:
    """Return the data files in the order of Spark's tasks, and of files within a task."""
    matches = [_PART.fullmatch(name) for name in names]
    numbered = [(int(match[1]), int(match[2]), match[0]) for match in matches if match]
    return [name for *_, name in sorted(numbered)]


def _footer(storage: Storage, name: str) -> tuple[pa.Schema, int]:
    """Return a file's schema and number of rows."""
    with storage.open_input(name) as data:
        file = pq.ParquetFile(data)
        return file.schema_arrow.remove_metadata(), file.metadata.num_rows


def _rows_differ(folder: str, found: str) -> EngineError:
    """Return the error for a folder without the files that Spark has written."""
    return EngineError(
        "input/rows-differ",
        f"the folder has {found} that Spark wrote",
        where=Where(file=folder),
        remedy="Make this folder available to every executor under the same path, like the table.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput:
    """An input stored in files.

    Attributes:
        schema: of every file, in the order of the frame's columns; without metadata.
        files: in the order of the frame's rows, which is that of their names; none without rows.
        nondeterministic: as of `nondeterministic`: what would differ if it were computed again.
    """

    schema: pa.Schema
    files: tuple[StagedFile, ...]
    nondeterministic: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return sum(file.size_bytes for file in self.files)


def stage_input(spark: SparkSession, request: InputRequest, folder: str) -> StagedInput:
    """Write the rows of a request as Parquet files and return them.

    The folder then contains only these files: `part-00000.parquet` and so on, one for each of
    Spark's tasks with rows, in the order of the tasks. Timestamps are INT64 microseconds, dates and
    times always of the Gregorian calendar. Failed attempts leave nothing; if all fail, or the
    caller is interrupted, cleaning the folder is up to the caller. No setting of `spark` is
    changed.

    Costs one Spark job, besides those of `open_input` and the shuffles of transforms, and then
    reads each footer here. Without rows there is no file, but a schema.

    Args:
        spark: the caller's session.
        request: as of `open_input`.
        folder: full location, which this process and every executor reach; absent or empty.

    Raises:
        PlanError: as of `open_input`, and `input/unsupported-type`, `input/indeterminate`,
            `schema/duplicate-name`, `schema/same-but-case`.
        StorageError: `storage/exists` if the folder is not empty; or a failure of the disk.
        TaskError: `task/failed`; rows could not be read, computed or written.
        EngineError: `input/rows-differ`; `spark/gone`.
    """
    folder = plain_path(folder)
    with _storing(folder):
        _vacate(folder)
    frame = open_input(spark, request, settings=WRITING)
    jvm = Jvm(frame.sparkSession)
    with typed():
        refuse_columns(jvm.schema_json(frame))
    uncertain = refuse_indeterminate(frame, request)
    written = run_job(spark.sparkContext, "stage the input", partial(_write, frame, folder))
    with _storing(folder):
        schema, files = name_staged_files(folder, rows=written)
    return StagedInput(schema=schema, files=files, nondeterministic=uncertain)


@contextmanager
def _storing(folder: str) -> Iterator[None]:
    """Convert errors of the operating system to ours."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, error.filename or folder) from error


def _vacate(folder: str) -> None:
    """Remove an empty folder, because Spark creates its own."""
    storage = open_storage(folder)
    found = storage.stat("")
    if found is None:
        return
    storage.delete("", only_empty=True)
    if storage.stat("") is not None:
        raise exists_error(folder)


def _write(frame: DataFrame, folder: str) -> int:
    """Write a frame and return the number of rows that Spark's tasks processed."""
    seen = Observation()
    try:
        with typed(passing=(AnalysisException,)):
            observed = frame.observe(seen, count(lit(1)).alias("rows"))
            observed.write.mode("error").parquet(hadoop_path(folder))
            return int(seen.get["rows"])
    except AnalysisException as error:
        raise PlanError(
            "input/unsupported-type",
            f"Spark cannot write the columns to Parquet files: {first_line(error)}",
            remedy="Cast these columns in a transform, or omit them.",
        ) from error
