"""Adopted files with narrower columns than the table's, for a Spark that does not widen.

From 4.0 on, Spark itself reads INT32 as a long and FLOAT as a double. For older releases each group
of files is scanned in the types of its footers, and cast.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as t

from framework.engine.reading.slice_rows import drifted
from framework.engine.reading.table import Table
from framework.errors import CorruptFileError, FrameworkError, Where
from framework.hudi.bootstrap.source_schema import SchemaCache
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.table.layout import ARCHIVED
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.spark.reading.columns import struct_of
from framework.spark.reading.files import Adopted

_Fault = Callable[[str, str], FrameworkError]

__all__ = ["as_stored", "stored_types", "whole_as_stored", "widens"]

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
        return pq.read_metadata(path)
    except UNREADABLE as error:
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
