"""Adopted slices: data columns scanned from the source files, meta columns derived or read.

The content of our skeletons is a function of the source file, so they are not read: constants of
the file come from a left join on the scan's file path, the sequence number from the row's position,
the key from the data columns. The join's right side is distinct on the path, so the optimizer drops
it if no meta column is used, and pushes filters on data columns through it. A path without
constants raises; it never gives NULL.

Files may have narrower columns than the table's. From 4.0 on, Spark itself reads INT32 as a long
and FLOAT as a double. For older releases each group of files is scanned in the types of its
footers, and cast.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.functions import broadcast, col

from framework.engine.reading.slice_rows import drifted
from framework.engine.reading.table import Table
from framework.engine.reading.verified_files import opened
from framework.errors import CorruptFileError, FrameworkError, StorageError, Where
from framework.hudi.bootstrap.source_schema import SchemaCache
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.keygen.spark_sql import key_sql, quote_literal, quote_name
from framework.hudi.table.layout import ARCHIVED, BOOTSTRAP_INSTANT, MetaField
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.spark.reading.columns import META_SCHEMA, constants, quoted, struct_of
from framework.spark.reading.files import Adopted, FileSet
from framework.spark.reading.scan import FileScanner, Scan

__all__ = [
    "FILE",
    "GONE_FILE",
    "GONE_ROW",
    "ROW",
    "AdoptedTable",
    "as_stored",
    "in_table_types",
    "scan_adopted",
    "scan_with_places",
    "stored_types",
    "whole_as_stored",
    "widens",
    "without",
]

GONE_FILE: Final = "_lakestrap_gone_file"
GONE_ROW: Final = "_lakestrap_gone_row"

FILE: Final = "_lakestrap_file"
ROW: Final = "_lakestrap_row"
_CONSTANTS_FILE: Final = "_lakestrap_constants_file"
_SKELETON_FILE: Final = "_lakestrap_skeleton_file"
_SKELETON_ROW: Final = "_lakestrap_skeleton_row"
_SEQNO_HEAD: Final = "_lakestrap_seqno_head"
_PARTITION: Final = "_lakestrap_partition"
_NAME: Final = "_lakestrap_name"


class AdoptedTable(Protocol):
    """The parts of a table that scans of adopted slices need."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns without meta columns."""
        ...

    @property
    def file_fields(self) -> list[pa.Field]:
        """The columns that are stored in files."""
        ...

    @property
    def rule(self) -> KeyRule | None:
        """The rule that gave skeletons their keys, None if they are not proven to be ours."""
        ...


def scan_adopted(
    scanner: FileScanner,
    table: AdoptedTable,
    adopted: Adopted,
    columns: t.StructType,
    gone: Callable[[Sequence[str]], DataFrame] | None = None,
) -> DataFrame:
    """Return the rows of adopted slices: meta columns, then the table's columns.

    Args:
        scanner: of the table.
        table: the table of the slices, existing or planned.
        adopted: the slices.
        columns: the columns in files, in types that the files have or Spark widens.
        gone: returns `GONE_FILE` and `GONE_ROW` of rows to exclude, given the texts of the source
            files' paths.
    """
    frame, _ = scan_with_places(scanner, table, adopted, columns, gone)
    return frame.drop(FILE, ROW)


def scan_with_places(
    scanner: FileScanner,
    table: AdoptedTable,
    adopted: Adopted,
    columns: t.StructType,
    gone: Callable[[Sequence[str]], DataFrame] | None = None,
) -> tuple[DataFrame, list[str]]:
    """Return the same with `FILE` and `ROW` last, and the text of `FILE` for each source file."""
    spark = scanner.spark
    scan = scanner.scan(adopted.sources, columns, with_rows=True)
    rows = scan.frame.select(
        *in_table_types(table, columns),
        col("_metadata.file_path").alias(FILE),
        col(scanner.row_index).alias(ROW),
    )
    if gone is not None:
        rows = without(rows, gone(scan.texts), file=FILE, row=ROW)
    if table.rule is not None:
        found = _with_constants(rows, _our_constants(spark, scan, adopted))
        meta = _derived(table.rule, table)
    else:
        stored = FileSet(paths=adopted.skeletons)
        skeletons = scanner.without_partitions.scan(stored, META_SCHEMA, with_rows=True)
        found = _with_constants(rows, _skeleton_names(spark, scan, skeletons))
        found = _with_skeletons(found, skeletons.frame, scanner.row_index)
        meta = _read()
    return found.selectExpr(*meta, *quoted(table.schema.names), FILE, ROW), scan.texts


def without(rows: DataFrame, gone: DataFrame, *, file: str, row: str) -> DataFrame:
    """Return rows except those whose `file` and `row` are `GONE_FILE` and `GONE_ROW` in `gone`."""
    same = (col(file) == col(GONE_FILE)) & (col(row) == col(GONE_ROW))
    return rows.join(broadcast(gone), same, "left_anti")


def in_table_types(table: AdoptedTable, columns: t.StructType) -> list[str | Column]:
    """Return the table's columns, cast where they are read in another type."""
    casts: dict[str, Column] = {}
    for read_as, wanted in zip(columns, struct_of(table.file_fields), strict=True):
        if read_as.dataType != wanted.dataType:
            name = quote_name(wanted.name)
            casts[wanted.name] = col(name).cast(wanted.dataType).alias(wanted.name)
    return [casts.get(name, quote_name(name)) for name in table.schema.names]


def _our_constants(spark: SparkSession, scan: Scan, adopted: Adopted) -> DataFrame:
    """Return the values that are constant within a file, one row per source file."""
    heads = [f"{BOOTSTRAP_INSTANT}_{_number(name)}_" for name in adopted.names]
    columns = {
        _CONSTANTS_FILE: scan.texts,
        _SEQNO_HEAD: heads,
        _PARTITION: adopted.partition_paths,
        _NAME: adopted.names,
    }
    return constants(spark, columns)


def _number(name: str) -> str:
    """Return the file's number in the inventory, the first part of its write token."""
    return name.partition("_")[2].partition("-")[0]


def _with_constants(rows: DataFrame, per_file: DataFrame) -> DataFrame:
    """Join rows with the constants of their file, a small frame that is broadcast."""
    distinct = per_file.coalesce(1).dropDuplicates([_CONSTANTS_FILE])
    return rows.join(broadcast(distinct), col(FILE) == col(_CONSTANTS_FILE), "left")


def _derived(rule: KeyRule, table: AdoptedTable) -> list[str]:
    """Return the five meta columns as expressions over `_with_constants`."""
    number = f"concat({_known(_SEQNO_HEAD)}, {ROW})"
    key = number if rule.is_automatic else key_sql(rule, table.schema)
    return [
        f"{quote_literal(BOOTSTRAP_INSTANT)} as {MetaField.COMMIT_TIME}",
        f"{number} as {MetaField.COMMIT_SEQNO}",
        f"{key} as {MetaField.RECORD_KEY}",
        f"{_known(_PARTITION)} as {MetaField.PARTITION_PATH}",
        f"{_known(_NAME)} as {MetaField.FILE_NAME}",
    ]


def _known(column: str) -> str:
    """Return a constant's expression, which raises if the file has none."""
    return f"coalesce({column}, {_raise('a file that is not in the table')})"


def _raise(what: str) -> str:
    return f"raise_error(concat({quote_literal(f'lakestrap: {what}: ')}, {FILE}))"


def _skeleton_names(spark: SparkSession, scan: Scan, skeletons: Scan) -> DataFrame:
    """Return the skeleton of each source file, as its own scan names it."""
    return constants(spark, {_CONSTANTS_FILE: scan.texts, _NAME: skeletons.texts})


def _with_skeletons(rows: DataFrame, skeletons: DataFrame, row_index: str) -> DataFrame:
    """Join rows with their skeleton's row at the same position; both sides stay splittable."""
    stored = skeletons.select(
        *(col(f.name) for f in META_SCHEMA),
        col("_metadata.file_path").alias(_SKELETON_FILE),
        col(row_index).alias(_SKELETON_ROW),
    ).dropDuplicates([_SKELETON_FILE, _SKELETON_ROW])
    same = (col(_NAME) == col(_SKELETON_FILE)) & (col(ROW) == col(_SKELETON_ROW))
    return rows.join(stored, same, "left")


def _read() -> list[str]:
    """Return the five meta columns as expressions over `_with_skeletons`."""
    missing = _raise("skeleton and source file differ in rows")
    return [
        f"if({_SKELETON_ROW} is null, {missing}, {name}) as {name}" for name in META_SCHEMA.names
    ]


_Fault = Callable[[str, str], FrameworkError]

_WIDENS_SINCE: Final = 4
_READERS: Final = 8
_BATCH: Final = 4096


def as_stored(
    table: Table, adopted: Adopted, spark_version: str
) -> Iterator[tuple[Adopted, t.StructType]]:
    """Yield adopted slices with the columns for Spark to read from their source files.

    Usually one group, none if nothing is adopted. If the table has widened columns and Spark is
    older than 4.0, one group for each set of types; that costs a footer per source file.

    Raises:
        SourceDriftError: `source/drift`; a source file is no longer readable.
    """
    columns = struct_of(table.file_fields)
    if not adopted:
        return
    if not table.has_widened or widens(spark_version):
        yield adopted, columns
        return
    for places, stored in stored_types(adopted.sources.paths, columns):
        yield adopted.some(places), stored


def whole_as_stored(
    table: Table, paths: list[str], spark_version: str
) -> Iterator[tuple[list[int], t.StructType]]:
    """Yield indexes of base files with the columns for Spark to read from them.

    Usually one pair. If Spark is older than 4.0 and the table's columns may have widened since a
    file was written, one for each set of types; that costs a footer per file.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    columns = struct_of(table.file_fields)
    if not paths:
        return
    if widens(spark_version) or not _may_have_changed(table):
        yield list(range(len(paths))), columns
        return
    yield from stored_types(paths, columns, fault=_not_readable)


def _may_have_changed(table: Table) -> bool:
    """Return whether a commit may have had other columns than the table has.

    True as well if some commits were archived, or if the rows of an unpublished run are read.
    """
    data = [each for each in table.timeline.completed if each.action in DATA_ACTIONS]
    is_published = all(table.storage.stat(each.path) is not None for each in data[-1:])
    if not is_published or any(True for _ in table.storage.list(ARCHIVED)):
        return True
    heads = (read_commit_head(table.storage, each.path) for each in data)
    return len({head.extra.get("schema") for head in heads}) > 1


def stored_types(
    paths: list[str], columns: t.StructType, *, fault: _Fault = drifted
) -> Iterator[tuple[list[int], t.StructType]]:
    """Yield indexes of files with the columns in the types of these files.

    One pair for each set of types; costs a footer per file.

    Raises:
        SourceDriftError: `source/drift`; a file is no longer readable. Another error if `fault`
            returns one for the path and the file's fault.
    """
    groups: dict[str, list[int]] = {}
    for at, stored in enumerate(_stored(paths, columns, fault)):
        groups.setdefault(stored, []).append(at)
    for stored, places in groups.items():
        yield places, t.StructType.fromJson(json.loads(stored))


def widens(spark_version: str) -> bool:
    """Return whether this Spark reads narrower types of files as wider ones."""
    return int(spark_version.split(".", maxsplit=1)[0]) >= _WIDENS_SINCE


def _stored(paths: list[str], columns: t.StructType, fault: _Fault) -> Iterator[str]:
    """Yield for each file, as JSON, the columns in its types."""
    cache, known = SchemaCache(), dict[str, str]()
    with ThreadPoolExecutor(_READERS) as pool:
        for first in range(0, len(paths), _BATCH):
            for metadata in pool.map(partial(_footer, fault), paths[first : first + _BATCH]):
                facts = cache.facts(metadata)
                if facts.hash not in known:
                    known[facts.hash] = _narrowed(columns, facts.schema).json()
                yield known[facts.hash]


def _footer(fault: _Fault, path: str) -> pq.FileMetaData:
    try:
        with opened(path) as source:
            return pq.read_metadata(source)
    except (StorageError, *UNREADABLE) as error:
        raise fault(path, f"it cannot be read: {error}") from error


def _not_readable(path: str, what: str) -> CorruptFileError:
    """Return the error for a base file with an invalid footer."""
    return CorruptFileError(
        "file/not-readable",
        what,
        where=Where(file=path),
        remedy="Restore the file, or restore the table to an instant before it.",
    )


def _narrowed(wide: t.StructType, stored: pa.Schema | pa.StructType) -> t.StructType:
    """Return `wide` with the types of a file; fields that the file lacks are unchanged."""
    fields = {field.name: field.type for field in stored}
    return t.StructType(
        [
            t.StructField(
                f.name, _narrow(f.dataType, fields[f.name]) if f.name in fields else f.dataType
            )
            for f in wide
        ]
    )


def _narrow(wide: t.DataType, stored: pa.DataType) -> t.DataType:
    """Return the Spark type of one column of a file in the shape of the table's."""
    if isinstance(wide, t.StructType):
        return _narrowed(wide, stored)
    if isinstance(wide, t.MapType):
        return t.MapType(wide.keyType, _narrow(wide.valueType, stored.item_type))
    if isinstance(wide, t.ArrayType):
        return t.ArrayType(_narrow(wide.elementType, stored.value_type))
    return struct_of([pa.field("", stored)])[0].dataType
