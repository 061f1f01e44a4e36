"""A snapshot of a table as a data frame."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from framework.errors import PlanError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.local import LocalStorage
from framework.hudi.view.listing import ListingView
from framework.spark.reading.adopted import scan_adopted
from framework.spark.reading.columns import META_SCHEMA, partition_schema, quoted, struct_of
from framework.spark.reading.drift import verify_sources
from framework.spark.reading.files import Snapshot, gather, local_path
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.merged import merged_frame
from framework.spark.reading.patterns import choose_partitions
from framework.spark.reading.scan import Scanner, private_settings
from framework.spark.reading.table import Table, open_table
from framework.spark.reading.widened import as_stored
from framework.spark.tasks import SparkTasks
from framework.vocabulary import SourceLayout, Verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from framework.hudi.storage.port import Entry

__all__ = ["read"]


def read(
    spark: SparkSession,
    location: str | Path,
    *,
    partition: str | None = None,
    verify: Verify = Verify.STAT,
    files_per_split: int | None = None,
) -> DataFrame:
    """Return the latest rows of a table: the five meta columns, then its own.

    Files are scanned by Spark itself: pruned by partition and column, filtered by pushed
    predicates, and cut into splits where they are large. Which files these are is settled here;
    a commit that follows is not seen. Starts no job but, for more than 20,000 files, a listing,
    and for a deeper `verify` than `STAT` the reading of the sources.

    Args:
        spark: the session; its settings stay as they are.
        location: the table's base path; a relative one starts at the working folder.
        partition: a partition path (`month=3`), a folder above some (`year=2013`), or a glob of
            folder names (`month=1*`); None reads all.
        verify: how deep the source files of adopted slices are compared with what they were.
        files_per_split: exactly so many files a task, none of them cut; None leaves it to Spark,
            which goes by bytes.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`, `read/files-per-split`.
        SourceDriftError: `source/drift`; a source file is not the one that was adopted.
        UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`, or see `open_table`.
        CorruptFileError: `read/skeleton-not-indexed`, or what is read is damaged.
        NotYetBuiltError: `spark/connect-not-built`, `storage/scheme-not-built`.
    """
    jvm = Jvm(spark)
    if files_per_split is not None and files_per_split < 1:
        raise PlanError(
            "read/files-per-split",
            f"files_per_split is {files_per_split}",
            remedy="Pass 1 or more, or leave it out.",
        )
    text = str(location)
    table = open_table(text if ":/" in text else str(Path(text).absolute()))
    found = _snapshot(table, partition)
    verify_sources(found.adopted, verify, SparkTasks(spark) if verify is not Verify.STAT else None)
    settings = private_settings(spark.sparkContext.defaultParallelism, files_per_split)
    scanner = Scanner(
        jvm=jvm,
        session=jvm.private_session(settings),
        partition=partition_schema(table.partition),
        takes_folders_apart=table.layout is SourceLayout.HIVE,
    )
    return _frame(scanner, table, found)


def _snapshot(table: Table, partition: str | None) -> Snapshot:
    """Return the files of the chosen partitions; the index is open only meanwhile."""
    storage = _ListedOnce(local_path(table.storage.location))
    with BootstrapIndex.open(storage) or nullcontext() as index:
        view = ListingView(storage, table.timeline, index)
        chosen = choose_partitions(view.partitions(), partition, table=table.storage.location)
        return gather(table, view, chosen)


class _ListedOnce(LocalStorage):
    """A storage that remembers its last listing.

    The view lists a folder to see that it is a partition, and again for the files in it.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self._last: tuple[str, list[Entry]] | None = None

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder`; no listing where it was the last one asked for."""
        if self._last is None or self._last[0] != folder:
            self._last = (folder, [*super().list(folder)])
        yield from self._last[1]


def _frame(scanner: Scanner, table: Table, found: Snapshot) -> DataFrame:
    """Return the rows of all files."""
    parts = []
    for adopted, columns in as_stored(table, found.adopted, scanner.jvm.spark.version):
        parts.append(scan_adopted(scanner, table, adopted, columns))
    if found.whole.paths:
        columns = t.StructType([*META_SCHEMA, *struct_of(table.file_fields)])
        whole = scanner.scan(found.whole, columns).frame
        parts.append(whole.select(*quoted([*META_SCHEMA.names, *table.schema.names])))
    if found.logged:
        parts.append(merged_frame(scanner.jvm.spark, table, found.logged))
    if not parts:
        columns = t.StructType([*META_SCHEMA, *struct_of(table.schema)])
        return scanner.jvm.spark.createDataFrame([], columns)
    return reduce(DataFrame.union, parts)
