"""Pinning an input: its rows as Parquet files that nothing computes a second time."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Observation
from pyspark.sql.functions import count, lit

from framework.errors import PlanError
from framework.hudi.storage.faults import exists_error, storage_error
from framework.spark.jobs import run_job
from framework.spark.loading.column_types import refuse_columns
from framework.spark.loading.determinism import nondeterministic
from framework.spark.loading.frames import open_input
from framework.spark.loading.staged_files import StagedFile, settle
from framework.spark.reading.jvm import Jvm
from framework.spark.spark_faults import first_line, typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from framework.plan.input import InputRequest

__all__ = ["WRITING", "StagedInput", "stage_input"]

_COMMITTER: Final = "mapreduce.fileoutputcommitter"
WRITING: Final = {
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    # Whatever a cluster is set to, only what a task has committed may reach the folder: the second
    # algorithm moves files one by one, and a task that dies at it leaves some behind.
    f"{_COMMITTER}.algorithm.version": "1",
    f"{_COMMITTER}.marksuccessfuljobs": "true",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources."
    "SQLHadoopMapReduceCommitProtocol",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedInput:
    """An input that lies in files.

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
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        """How many bytes the files have."""
        return sum(file.size_bytes for file in self.files)


def stage_input(spark: SparkSession, request: InputRequest, folder: str) -> StagedInput:
    """Write the rows that a request names as Parquet files and return what there is then.

    The folder holds just these files: `part-00000.parquet` and so on, one for each of Spark's tasks
    that had rows, in the order of the tasks. Timestamps are INT64 microseconds, days and times of
    the Gregorian calendar throughout. Attempts that failed leave nothing; if all fail, or the
    caller is interrupted, the folder is left to the caller. No setting of `spark` is touched.

    Costs one Spark job, beyond what `open_input` and the shuffles of transforms cost, and then the
    reading of each footer here. Without rows there is no file, but a schema.

    Args:
        spark: the caller's session.
        request: as of `open_input`.
        folder: absolute, local to this process and to every executor; absent or empty.

    Raises:
        PlanError: as of `open_input`, and `input/unsupported-type`, `schema/duplicate-name`,
            `schema/same-but-case`.
        StorageError: `storage/exists` if the folder holds something; or what became of the disk.
        TaskError: `task/failed`; rows could not be read, computed or written.
        EngineError: `input/rows-differ`; `spark/gone`.
    """
    place = Path(folder)
    with _storing(folder):
        _vacate(place)
    frame = open_input(spark, request, settings=WRITING)
    jvm = Jvm(frame.sparkSession)
    with typed():
        refuse_columns(jvm.schema_json(frame))
    uncertain = nondeterministic(frame)
    written = run_job(spark.sparkContext, "stage the input", partial(_write, frame, folder))
    with _storing(folder):
        schema, files = settle(place, rows=written)
    return StagedInput(schema=schema, files=files, nondeterministic=uncertain)


@contextmanager
def _storing(folder: str) -> Iterator[None]:
    """Turn what the operating system says into ours."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, error.filename or folder) from error


def _vacate(place: Path) -> None:
    """Remove an empty folder, for Spark makes its own."""
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()
    elif place.is_symlink() or place.exists():
        raise exists_error(str(place))


def _write(frame: DataFrame, folder: str) -> int:
    """Write a frame and return how many rows Spark's tasks have seen."""
    seen = Observation()
    try:
        with typed(passing=(AnalysisException,)):
            observed = frame.observe(seen, count(lit(1)).alias("rows"))
            observed.write.mode("error").parquet(f"file:{folder}")
            return int(seen.get["rows"])
    except AnalysisException as error:
        raise PlanError(
            "input/unsupported-type",
            f"Spark cannot write the columns to Parquet files: {first_line(error)}",
            remedy="Cast such columns in a transform, or leave them out.",
        ) from error
