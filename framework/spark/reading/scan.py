"""Spark's own Parquet scan over exactly the files that a snapshot names.

Spark lists each named file once, for its size, or their folder if all of it is read; it does not
expand globs or infer types. Partition values come from the table's paths, so any layout is pruned:
Spark itself parses folders of `column=value`, which is fast for many, and receives the values of
all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Protocol, Self
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from framework.errors import SourceDriftError, Where
from framework.hudi.keygen.spark_sql import quote_name
from framework.hudi.table.partition_path import PartitionValue, value_text
from framework.spark.reading.columns import constants
from framework.spark.reading.files import FileSet, hadoop_path
from framework.spark.reading.jvm import Jvm

__all__ = [
    "GREGORIAN_READS",
    "STRICT",
    "EarlyListing",
    "FileScanner",
    "Scan",
    "Scanner",
    "by_path",
    "lost_file",
    "private_settings",
    "texts_of",
]


_MANY: Final = 100

GREGORIAN_READS: Final = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
"""How to read files that do not record their writer's Spark; Spark 3 fails on early dates in them.

Whatever the session's settings, such dates are the same to all our readers (ADR 0017).
"""
STRICT: Final = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",  # Hadoop's name; off by default
}
"""Options of every scan."""
_DISCOVERY: Final = "spark.sql.sources.parallelPartitionDiscovery"
_LISTED_HERE: Final = 20_000
_FAR_APART: Final = 1 << 44
_FILE_ROOT: Final = re.compile("^file:/+")


class EarlyListing:
    """Spark's listings for one frame; a context manager that drops them at its end.

    A guess at the folders is enough: folders that were not listed early are listed when needed, and
    a failure of the early listing is reported then.
    """

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self._jvm = jvm
        self._session = session
        self._cache = jvm.sources.FileStatusCache.getOrCreate(session)
        self._pool = ThreadPoolExecutor(1)
        self._begun: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()
        self._cache.invalidateAll()

    def begin(self, folders: Sequence[str]) -> None:
        """Start to list folders, which need not exist; does nothing for a few."""
        if len(folders) >= _MANY and self._begun is None:
            self._begun = self._pool.submit(self._list, folders)

    @property
    def cache(self) -> Any:
        """Spark's cache of listings; waits for the folders."""
        if self._begun is not None:
            self._begun.result()
        return self._cache

    def _list(self, folders: Sequence[str]) -> None:
        jvm, sources = self._jvm, self._jvm.sources
        try:
            sources.InMemoryFileIndex(
                self._session,
                jvm.paths(folders),
                jvm.options({}),
                jvm.none,
                self._cache,
                jvm.some(sources.PartitionSpec.emptySpec()),
                jvm.none,
            )
        except Py4JError:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A scan and the names of its files.

    Attributes:
        frame: file columns, then partition columns; there may be others, so select by name.
        texts: for each of the given paths in order, the text of `_metadata.file_path`.
    """

    frame: DataFrame
    texts: list[str]


def private_settings(parallelism: int, files_per_split: int | None) -> dict[str, str]:
    """Return the settings of the private session that lists and scans.

    By default Spark lists 10,500 explicit files in as many tasks. With `files_per_split`, sizes are
    set so that no file is split and at most that number fits into one task.
    """
    settings = {
        f"{_DISCOVERY}.threshold": str(_LISTED_HERE),
        f"{_DISCOVERY}.parallelism": str(parallelism),
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.files.ignoreCorruptFiles": "false",
        **GREGORIAN_READS,
    }
    if files_per_split is not None:
        settings |= {
            "spark.sql.files.openCostInBytes": str(_FAR_APART),
            "spark.sql.files.maxPartitionBytes": str((2 * files_per_split - 1) * _FAR_APART // 2),
            "spark.sql.files.minPartitionNum": "1",
        }
    return settings


class FileScanner(Protocol):
    """Makes scans of one table, in a JVM that is in reach or over Spark Connect."""

    @property
    def spark(self) -> SparkSession:
        """The caller's session, to which the frames belong."""
        ...

    @property
    def cores(self) -> int:
        """The number of tasks into which Spark splits local rows by default."""
        ...

    @property
    def row_index(self) -> str:
        """The column of a scan with rows that is a row's position in its file."""
        ...

    @property
    def without_partitions(self) -> FileScanner:
        """A scanner that ignores partition values in folders."""
        ...

    def scan(self, files: FileSet, columns: t.StructType, *, with_rows: bool = False) -> Scan:
        """Return a scan of `columns` (those in the files) and all partition columns.

        With rows, it also has `row_index` and `_metadata.file_path`; neither is read unless used.

        Raises:
            SourceDriftError: `source/drift`; a file vanished since it was listed.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanner:
    """Makes scans of one table by Spark's own relations.

    Attributes:
        jvm: of the caller's session, to which the frames belong.
        session: a private Java session, whose settings apply to the scans.
        partition: the partition columns.
        takes_folders_apart: whether folders are `column=value` in Hive's encoding.
        early: folders that are already listed.
    """

    jvm: Jvm
    session: Any
    partition: t.StructType
    takes_folders_apart: bool
    early: EarlyListing

    @property
    def spark(self) -> SparkSession:
        """See `FileScanner`."""
        return self.jvm.spark

    @property
    def cores(self) -> int:
        """See `FileScanner`."""
        return self.jvm.spark.sparkContext.defaultParallelism

    @property
    def row_index(self) -> str:
        """See `FileScanner`."""
        return self.jvm.row_index

    @property
    def without_partitions(self) -> Scanner:
        """A scanner that ignores partition values in folders."""
        return replace(self, partition=t.StructType(), takes_folders_apart=False)

    def scan(self, files: FileSet, columns: t.StructType, *, with_rows: bool = False) -> Scan:
        """See `FileScanner`."""
        jvm, sources = self.jvm, self.jvm.sources
        root = files.root if self.takes_folders_apart else None
        options = jvm.options(STRICT if root is None else {**STRICT, "basePath": root})
        both = t.StructType([*columns, *self.partition])
        partitions = jvm.none if root else jvm.some(self._partitions(files.folders))

        def listed(places: list[str]) -> tuple[Any, dict[str, str]]:
            self._share_listing(len(places), len(files.paths))
            index = sources.InMemoryFileIndex(
                self.session,
                jvm.paths(places),
                options,
                jvm.some(jvm.struct(both)),
                self.early.cache,
                partitions,
                jvm.none,
            )
            return index, by_path(jvm.strings(index.inputFiles()))

        index, found = listed(files.places())
        if len(found) > len(set(files.paths)):  # a file was added since the folder was read
            index, found = listed(files.paths)
        texts = texts_of(files.paths, found)
        read = t.StructType([*columns, *([_row(jvm)] if with_rows else [])])
        relation = sources.HadoopFsRelation(
            index,
            index.partitionSchema(),
            jvm.struct(read),
            jvm.none,
            sources.parquet.ParquetFileFormat(),
            options,
            self.session,
        )
        return Scan(frame=jvm.frame(relation, with_paths=with_rows), texts=texts)

    def _share_listing(self, places: int, files: int) -> None:
        """Make Spark list in tasks if there are many files, however they are found."""
        threshold = places if files <= _LISTED_HERE else 0
        self.session.conf().set(f"{_DISCOVERY}.threshold", str(threshold))

    def _partitions(self, folders: Mapping[str, tuple[PartitionValue, ...]]) -> Any:
        """Return Spark's partition specification; costs three calls to Java per folder."""
        sources = self.jvm.sources
        if not self.partition:
            return sources.PartitionSpec.emptySpec()
        columns = {
            name: [value_text(values[at]) for values in folders.values()]
            for at, name in enumerate(self.partition.names)
        }
        casts = [
            f"cast({quote_name(f.name)} as {f.dataType.simpleString()}) as {quote_name(f.name)}"
            for f in self.partition
        ]
        rows = self.jvm.rows(constants(self.jvm.spark, columns).selectExpr(*casts))
        made = [
            sources.PartitionPath.apply(row, hadoop_path(folder))
            for folder, row in zip(folders, rows, strict=True)
        ]
        return sources.PartitionSpec(self.jvm.struct(self.partition), self.jvm.sequence(made))


def _row(jvm: Jvm) -> t.StructField:
    return t.StructField(jvm.row_index, t.LongType())


def by_path(listed: list[str]) -> dict[str, str]:
    """Return Spark's texts of files by decoded path.

    Texts are percent-encoded by Java's rule, so they are taken from Spark and decoded, never built.
    """
    return {unquote(text): text for text in (_FILE_ROOT.sub("file:/", t) for t in listed)}


def texts_of(paths: list[str], by_path: Mapping[str, str]) -> list[str]:
    """Return Spark's text for each path; raise if the listing found fewer or other files."""
    texts = [by_path.get(hadoop_path(path), "") for path in paths]
    if "" in texts or len(by_path) != len(set(paths)):
        lost = next((p for p, text in zip(paths, texts, strict=True) if not text), None)
        raise lost_file(lost)
    return texts


def lost_file(path: str | None) -> SourceDriftError:
    """Return the error for a file that Spark's listing lacks; None if it is unknown which."""
    return SourceDriftError(
        "source/drift",
        "Spark does not find the files of the table",
        where=Where(file=path),
        remedy="Restore the file, then read again.",
    )
