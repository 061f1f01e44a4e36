"""Frames whose rows know their file and position in it, and the session that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.functions import col, lit

from framework.engine.audit.subject import InputRows
from framework.hudi.table.partition_path import PartitionField, parse_partition
from framework.spark.loading.staging import WRITING
from framework.spark.reading.adopted import FILE, ROW, stored_types, widens
from framework.spark.reading.columns import partition_schema, quoted, struct_of
from framework.spark.reading.files import FileSet, Partition
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.scan import EarlyListing, Scanner, private_settings
from framework.spark.task_faults import typed
from framework.vocabulary import SourceLayout

__all__ = [
    "Placed",
    "checking_session",
    "input_frame",
    "scanning",
    "together",
    "without_places",
]

_SETTINGS: Final = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Rows with `FILE` and `ROW` last; both are null if unknown.

    Attributes:
        frame: the rows.
        origins: the displayed name for each text of `FILE`.
        numbers: the file number for each text of `FILE`, if files have one.
        gone: for each text of a file from which rows were left out, the file with their positions
            in its source file.
    """

    frame: DataFrame
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    numbers: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    gone: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def checking_session(spark: SparkSession) -> SparkSession:
    """Return a session for checks, which leaves `spark` unchanged.

    It has the settings, functions and catalog of `spark` but none of its temporary views. SQL is
    ANSI, so that a failing computation is an error and not a null, and times are UTC, so that a
    result does not depend on the caller.

    Raises:
        NotYetBuiltError: `spark/connect-not-built`.
    """
    with typed():
        listing = private_settings(spark.sparkContext.defaultParallelism, None)
        return Jvm(spark).own_session({**listing, **WRITING, **_SETTINGS})


@contextmanager
def scanning(
    session: SparkSession, partition: Sequence[PartitionField], layout: SourceLayout | None
) -> Iterator[Scanner]:
    """Yield a scanner whose frames belong to a session of `checking_session`."""
    jvm = Jvm(session)
    with typed(), EarlyListing(jvm, jvm.session) as early:
        yield Scanner(
            jvm=jvm,
            session=jvm.session,
            partition=partition_schema(partition),
            takes_folders_apart=layout is SourceLayout.HIVE,
            early=early,
        )


def input_frame(session: SparkSession, rows: InputRows) -> Placed:
    """Return the rows of an input, with its columns, including those of folders.

    Raises:
        SourceDriftError: `source/drift`; a file is missing.
        UnsupportedTableError: `read/type-not-in-spark`.
    """
    folders = {each.name for each in rows.partition}
    columns = struct_of(each for each in rows.schema if each.name not in folders)
    files = FileSet()
    for path, partition_path in zip(rows.paths, rows.partition_paths, strict=True):
        values = (
            parse_partition(partition_path, rows.partition, rows.layout or SourceLayout.NONE)
            if rows.partition
            else ()
        )
        files.add(path, Partition(path=partition_path, values=values))
    with scanning(session, rows.partition, rows.layout) as scanner:
        frames, numbers, origins = [], dict[str, int](), dict[str, str]()
        for places, stored in _as_stored(files.paths, columns, session.version):
            some = files.some(places)
            scan = scanner.scan(some, stored, with_rows=True)
            numbers.update(zip(scan.texts, (rows.numbers[at] for at in places), strict=True))
            origins.update(zip(scan.texts, some.paths, strict=True))
            frames.append(_placed(scanner, scan.frame, _cast(rows.schema.names, stored, columns)))
    if not frames:
        whole = struct_of(rows.schema)
        empty = session.createDataFrame([], whole)
        return Placed(frame=without_places(empty))
    return Placed(frame=reduce(DataFrame.union, frames), origins=origins, numbers=numbers)


def together(parts: Sequence[Placed]) -> Placed:
    """Return the rows of all parts, at least one, which have the same columns."""
    return Placed(
        frame=reduce(DataFrame.union, (each.frame for each in parts)),
        origins={text: name for each in parts for text, name in each.origins.items()},
        numbers={text: number for each in parts for text, number in each.numbers.items()},
        gone={text: path for each in parts for text, path in each.gone.items()},
    )


def without_places(frame: DataFrame) -> DataFrame:
    """Return a frame with `FILE` and `ROW`, both unknown."""
    return frame.withColumn(FILE, lit(None).cast("string")).withColumn(
        ROW, lit(None).cast("bigint")
    )


def _as_stored(
    paths: list[str], columns: t.StructType, version: str
) -> Iterator[tuple[list[int], t.StructType]]:
    """Yield indexes of files with the columns in the types to read; one pair if Spark widens."""
    if widens(version) or not paths:
        if paths:
            yield list(range(len(paths))), columns
        return
    yield from stored_types(paths, columns)


def _cast(names: Sequence[str], stored: t.StructType, wanted: t.StructType) -> list[str]:
    """Return each column as SQL, cast if a file has a narrower type."""
    narrow = {
        read.name: asked.dataType.simpleString()
        for read, asked in zip(stored, wanted, strict=True)
        if read.dataType != asked.dataType
    }
    return [
        f"cast({name} as {narrow[plain]}) as {name}" if plain in narrow else name
        for plain, name in zip(names, quoted(names), strict=True)
    ]


def _placed(scanner: Scanner, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return columns of a scan, with the positions of its rows."""
    kept = frame.select(
        "*",
        col("_metadata.file_path").alias(FILE),
        col(scanner.jvm.row_index).alias(ROW),
    )
    return kept.selectExpr(*columns, FILE, ROW)
