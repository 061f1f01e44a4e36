"""A table as a data frame: its latest rows, those as of a moment, or those of base files only.

Its files are verified: adopted sources and sealed files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from framework.engine.reading.patterns import choose_partitions
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import checked
from framework.errors import NotYetBuiltError, PlanError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.fenced import WrappedStorage
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import join
from framework.hudi.timeline.clock import Moment
from framework.hudi.view.listing_view import ListingView
from framework.spark.object_stores import reach_stores
from framework.spark.reading.adopted import as_stored, in_table_types, scan_adopted, whole_as_stored
from framework.spark.reading.columns import META_SCHEMA, partition_schema, struct_of
from framework.spark.reading.connect_scan import ConnectScanner
from framework.spark.reading.files import Snapshot, gather, plain_path
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.merged import merged_frames
from framework.spark.reading.scan import EarlyListing, FileScanner, Scanner, private_settings
from framework.spark.reading.verification import verify_files, verify_listings
from framework.spark.session import is_connect
from framework.spark.session_jobs import jobs_of
from framework.spark.tasks import SparkTasks
from framework.vocabulary import SourceLayout, Verify

__all__ = [
    "Reading",
    "absolute",
    "frame_of",
    "read",
    "read_optimized",
    "rows_of",
]


def read(  # noqa: PLR0913 - keywords of the public surface
    spark: SparkSession,
    location: str | Path,
    *,
    as_of: Moment | None = None,
    partition: str | None = None,
    verify: Verify = Verify.STAT,
    files_per_split: int | None = None,
) -> DataFrame:
    """Return the latest rows of a table: the five meta columns, then its own.

    Spark scans the files natively: pruned by partition and column, filtered by pushed predicates,
    and split if large. This includes base files below log files; tasks return the changes of the
    logs. With more than 32 MB of logs, slices are merged whole, one task each.

    Over Spark Connect this process opens the table, so it has to reach it as the server does.

    The files are determined by this call; later commits are not seen. Starts no job except a
    listing of more than 20,000 files and, for a deeper `verify` than `STAT`, the reading of the
    sources and of sealed files (ADR 0027).

    Args:
        spark: the session; its settings stay unchanged.
        location: the table's base path; a relative one starts at the working folder.
        as_of: an instant, or a date or time, as text or Python object: the rows as of that
            moment, inclusive. None: the current rows.
        partition: a partition path (`month=3`), a folder above some (`year=2013`), or a glob of
            folder names (`month=1*`); None reads all.
        verify: how deeply to compare the source files of adopted slices with the bootstrap, and
            base files and skeletons with their seals: `FOOTER` their footers, `FULL` all bytes.
        files_per_split: exactly this number of files per task, none of them split; None leaves it
            to Spark, which splits by bytes. No effect on the changes in log files.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`, `read/files-per-split`, or
            see `open_table`.
        SourceDriftError: `source/drift`; a source file is not the one that was adopted.
        UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`, or see `open_table`.
        CorruptFileError: `read/skeleton-not-indexed`, or a file is damaged.
        NotYetBuiltError: `spark/connect-not-built` for `files_per_split` over Spark Connect,
            `storage/scheme-not-built`.
    """
    how = Reading(partition=partition, verify=verify, files_per_split=files_per_split)
    return rows_of(spark, open_table(absolute(location), as_of), how)


def read_optimized(
    spark: SparkSession,
    location: str | Path,
    *,
    partition: str | None = None,
    verify: Verify = Verify.STAT,
    files_per_split: int | None = None,
) -> DataFrame:
    """Return the rows of base files only: fast, without later changes in log files.

    In copy-on-write tables these are all rows. File groups without a base file have no rows.
    Arguments, cost and errors are those of `read`.
    """
    how = Reading(
        partition=partition, verify=verify, files_per_split=files_per_split, wanted=_base_alone
    )
    return rows_of(spark, open_table(absolute(location)), how)


def _base_alone(found: FileSlice) -> FileSlice | None:
    """Return the slice without its logs."""
    return None if found.base is None else found._replace(logs=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How rows are read.

    Attributes:
        partition: as of `read`.
        verify: as of `read`.
        files_per_split: as of `read`.
        wanted: returns the part of a slice to read, or None to skip it; None reads all.
        below: returns whether to read the base file below a slice's logs.
    """

    partition: str | None = None
    verify: Verify = Verify.STAT
    files_per_split: int | None = None
    wanted: Callable[[FileSlice], FileSlice | None] | None = None
    below: Callable[[FileSlice], bool] = lambda _: True

    @property
    def reads_all(self) -> bool:
        """Whether the whole table is read."""
        return self.partition is None and self.wanted is None

    def __post_init__(self) -> None:
        """Refuse splits of less than one file."""
        if self.files_per_split is not None and self.files_per_split < 1:
            raise PlanError(
                "read/files-per-split",
                f"files_per_split is {self.files_per_split}",
                remedy="Pass 1 or more, or omit it.",
            )


def absolute(location: str | Path) -> str:
    """Return a location that does not depend on the working folder."""
    text = str(location)
    return text if ":/" in text else str(Path(text).absolute())


def rows_of(spark: SparkSession, table: Table, how: Reading) -> DataFrame:
    """Return the rows of an open table; costs and errors are those of `read`."""
    if is_connect(spark):
        return _connected_rows(spark, table, how)
    jvm = Jvm(spark)
    reach_stores(spark)
    settings = private_settings(spark.sparkContext.defaultParallelism, how.files_per_split)
    session = jvm.private_session(settings)
    with EarlyListing(jvm, session) as early:
        found = _snapshot(table, how, early)
        scanner = Scanner(
            jvm=jvm,
            session=session,
            partition=partition_schema(table.partition),
            takes_folders_apart=table.layout is SourceLayout.HIVE,
            early=early,
        )
        return _verified_frame(scanner, table, found, how.verify)


def _connected_rows(spark: SparkSession, table: Table, how: Reading) -> DataFrame:
    """Return the same over Spark Connect."""
    if how.files_per_split is not None:
        raise NotYetBuiltError(
            "spark/connect-not-built",
            "files_per_split cannot be set for one read over Spark Connect",
            remedy="Omit it, or use a session that was started with a master.",
        )
    scanner = ConnectScanner(
        spark=spark,
        partition=partition_schema(table.partition),
        takes_folders_apart=table.layout is SourceLayout.HIVE,
        jobs=jobs_of(spark),
    )
    return _verified_frame(scanner, table, _snapshot(table, how, None), how.verify)


def _verified_frame(
    scanner: FileScanner, table: Table, found: Snapshot, verify: Verify
) -> DataFrame:
    """Return the rows of all files, whose sources are verified."""
    if verify is not Verify.STAT:
        verify_files(found, verify, SparkTasks(scanner.spark))
        return frame_of(scanner, table, found)
    with ThreadPoolExecutor(1) as pool:
        verified = pool.submit(verify_listings, found)
        try:  # Spark lists in its own process in the meantime
            return frame_of(scanner, table, found)
        finally:
            verified.result()  # if both fail, this error explains what happened to the file


def _snapshot(table: Table, how: Reading, early: EarlyListing | None) -> Snapshot:
    """Return the files of the chosen partitions; the index is open only during the call.

    If the whole table is read, Spark starts to list the folders of the sources.
    """
    storage = _ListedOnce(table.storage)
    with BootstrapIndex.open(storage) or nullcontext() as index:
        if index is not None and how.reads_all and early is not None:
            early.begin([join(plain_path(index.base_uri), path) for path in index.partitions()])
        view = checked(ListingView(storage, table.timeline, index), table)
        chosen = choose_partitions(view.partitions(), how.partition, table=table.storage.location)
        return gather(table, view, chosen, how.wanted or (lambda each: each), how.below)


class _ListedOnce(WrappedStorage):
    """A storage that remembers its last listing.

    The view lists a folder to see that it is a partition, and again for the files in it.
    """

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self._last: tuple[str, list[Entry]] | None = None

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder`; repeats the last listing if it was of the same folder."""
        if self._last is None or self._last[0] != folder:
            self._last = (folder, [*super().list(folder)])
        yield from self._last[1]


def frame_of(scanner: FileScanner, table: Table, found: Snapshot) -> DataFrame:
    """Return the rows of all files."""
    parts = []
    for adopted, columns in as_stored(table, found.adopted, scanner.spark.version):
        parts.append(scan_adopted(scanner, table, adopted, columns))
    for places, columns in whole_as_stored(table, found.whole.paths, scanner.spark.version):
        files = found.whole.some(places)
        whole = scanner.scan(files, t.StructType([*META_SCHEMA, *columns])).frame
        parts.append(whole.select(*META_SCHEMA.names, *in_table_types(table, columns)))
    if found.logged.slices:
        parts.extend(merged_frames(scanner, table, found.logged))
    if not parts:
        columns = t.StructType([*META_SCHEMA, *struct_of(table.schema)])
        return scanner.spark.createDataFrame([], columns)
    return reduce(lambda one, other: one.union(other), parts)
