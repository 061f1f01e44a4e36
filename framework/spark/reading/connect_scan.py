"""Scans over Spark Connect, by the public reader: exactly the files that a snapshot names.

The server lists each named file when a frame is analysed, and again for each action. Partition
values come from folders of `column=value`, or else are joined by file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.functions import broadcast, col, expr

from framework.hudi.table.layout import parent_of
from framework.hudi.table.partition_path import value_text
from framework.spark.reading.columns import constants
from framework.spark.reading.files import FileSet
from framework.spark.reading.scan import STRICT, Scan, by_path, lost_file, texts_of
from framework.spark.session_jobs import Jobs
from framework.spark.task_faults import typed

__all__ = ["ConnectScanner"]

_OPTIONS: Final = {
    **STRICT,
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
"""The options by which the public reader scans as `Scanner` does."""
_FILE: Final = "_lakestrap_folder_file"
_VALUE: Final = "_lakestrap_folder_value"
_GLOB: Final = re.compile(r"([\\{}\[\]*?])")
"""Characters that Hadoop takes for patterns unless they follow a backslash."""
_MISSING: Final = re.compile(r"PATH_NOT_FOUND\][^:]*: (.*?)\.?(?: SQLSTATE.*)?(?:\n|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectScanner:
    """Makes scans of one table over Spark Connect; see `FileScanner`.

    Attributes:
        spark: the caller's session.
        partition: the partition columns.
        takes_folders_apart: whether folders are `column=value` in Hive's encoding.
        jobs: the session's jobs, which count its cores once.
    """

    spark: SparkSession
    partition: t.StructType
    takes_folders_apart: bool
    jobs: Jobs

    @property
    def cores(self) -> int:
        """See `FileScanner`; costs a small job for each scanner."""
        return self.jobs.parallelism

    @property
    def row_index(self) -> str:
        """See `FileScanner`."""
        return "_metadata.row_index"

    @property
    def without_partitions(self) -> ConnectScanner:
        """See `FileScanner`."""
        return replace(self, partition=t.StructType(), takes_folders_apart=False)

    def scan(self, files: FileSet, columns: t.StructType, *, with_rows: bool = False) -> Scan:
        """See `FileScanner`; costs a call to the server."""
        del with_rows  # each frame has its `_metadata`
        root = files.root if self.takes_folders_apart and self.partition else None
        reader: Any = self.spark.read.options(**_OPTIONS)
        if root is not None:
            columns = t.StructType([*columns, *self.partition])
            reader = reader.option("basePath", root)
        paths = [_GLOB.sub(r"\\\1", path) for path in files.paths]
        frame = reader.schema(columns).parquet(*paths)
        texts = texts_of(files.paths, by_path(_input_files(frame)))
        if root is None and self.partition:
            frame = self._with_values(frame, files, texts)
        return Scan(frame=frame, texts=texts)

    def _with_values(self, frame: DataFrame, files: FileSet, texts: list[str]) -> DataFrame:
        """Join rows with the partition values of their file's folder."""
        values = [files.folders[parent_of(path)] for path in files.paths]
        names = [f"{_VALUE}{at}" for at in range(len(self.partition))]
        of_file = {name: [value_text(each[at]) for each in values] for at, name in enumerate(names)}
        known = constants(self.spark, {_FILE: texts, **of_file})
        joined = frame.join(broadcast(known), col("_metadata.file_path") == col(_FILE), "left")
        missing = "raise_error('lakestrap: a file that is not in the table')"
        for name, field in zip(names, self.partition, strict=True):
            value = f"cast({name} as {field.dataType.simpleString()})"
            checked = expr(f"if({_FILE} is null, {missing}, {value})")
            joined = joined.withColumn(field.name, checked)
        return joined.drop(_FILE, *names)


def _input_files(frame: DataFrame) -> list[str]:
    """Return the files of a scan as Spark names them.

    Raises:
        SourceDriftError: `source/drift`; one is missing.
    """
    with typed(passing=(AnalysisException,)):
        try:
            return [*frame.inputFiles()]
        except AnalysisException as error:
            found = _MISSING.search(str(error))
            if found is None:
                raise
            raise lost_file(found[1]) from error
