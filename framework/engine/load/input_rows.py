"""The rows of pinned input files, up to a million at a time, with their keys and partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.audit.screen import excluded_rows
from framework.engine.load.job import InputFile, LoadJob
from framework.errors import CorruptFileError, SourceDriftError, Where
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.parquet_seal import UNREADABLE, naming_bad_chunks
from framework.hudi.filegroup.base_file import repeating
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.text import null_rows, record_keys
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import MetaField, name_of, parent_of
from framework.hudi.table.schema_check import fitted_column
from framework.vocabulary import KeyScope, WriteOperation

__all__ = [
    "KEY",
    "NullKeys",
    "Piece",
    "by_code",
    "paths_of",
    "piece_columns",
    "piece_keys",
    "pieces_of",
]

KEY: Final = MetaField.RECORD_KEY.value

_NULLS_SHOWN: Final = 50
_NUMBERED_ROWS: Final = 1 << 20
_CHUNK_ROWS: Final = 1 << 20
_NARROW: Final = 1 << 16


@dataclass(slots=True, kw_only=True)
class NullKeys:
    """Rows without a key: their number, and (file, row) of the first of them."""

    rows: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, number: int, rows: np.ndarray) -> None:
        """Add rows of one file."""
        self.rows += rows.size
        left = _NULLS_SHOWN - len(self.places)
        self.places += [(number, row) for row in rows[:left].tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows as read from an input file, and their places in it, ascending."""

    file: InputFile
    raw: pa.Table
    places: np.ndarray

    @classmethod
    def of(cls, file: InputFile, raw: pa.Table, start: int, gone: np.ndarray) -> Piece:
        """Return consecutive rows from `start` on, without the excluded ones."""
        end = start + raw.num_rows
        places = np.arange(start, end)
        first, last = np.searchsorted(gone, [start, end]).tolist()
        if first == last:
            return cls(file=file, raw=raw, places=places)
        stays = np.ones(raw.num_rows, dtype=bool)
        stays[gone[first:last] - start] = False
        return cls(file=file, raw=raw.filter(pa.array(stays)), places=places[stays])


def pieces_of(
    job: LoadJob, file: InputFile, *, encoded: Collection[str] | None = ()
) -> Iterator[Piece]:
    """Yield the rows of an input file that are loaded, up to a million or a row group at a time.

    Args:
        job: the load.
        file: the file, which must be the one that was pinned.
        encoded: the texts to return as dictionaries; None: those that the file has so, and that
            are not part of the key or the partition.

    Raises:
        SourceDriftError: `input/drift`.
        CorruptFileError: `input/corrupt-file`.
    """
    gone = excluded_rows(job.storage(), file.gone)
    for start, raw in _chunks(job, file, encoded):
        yield Piece.of(file, raw, start, gone)


def piece_columns(job: LoadJob, piece: Piece) -> pa.Table:
    """Return the table's columns of some rows; texts that were read as dictionaries stay so.

    Raises:
        CorruptFileError: `input/value-does-not-fit`.
    """
    columns = [_column(piece, field) for field in job.table_schema]
    return pa.Table.from_arrays(columns, names=job.table_schema.names)


def _column(piece: Piece, field: pa.Field) -> Any:
    """Return one of the table's columns."""
    raw, at = piece.raw, piece.raw.schema.get_field_index(field.name)
    if at >= 0 and raw.schema.field(at).type == pa.dictionary(pa.int32(), field.type):
        return raw.column(at)
    return fitted_column(raw, field, _misfit(piece))


def piece_keys(job: LoadJob, piece: Piece, data: pa.Table, nulls: NullKeys) -> pa.ChunkedArray:
    """Return the record keys of rows; automatic ones are numbers of the file's rows.

    Rows without a key are added to `nulls`.

    Raises:
        PlanError: `key/column-missing`.
    """
    rule, file, raw = job.rule, piece.file, piece.raw
    if not rule.is_automatic:
        nulls.add(file.number, piece.places[null_rows(rule, data, {})])
        found = record_keys(rule, data, {})
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    if job.operation is WriteOperation.DELETE:
        brought = fitted_column(raw, pa.field(KEY, pa.string()), _misfit(piece))
        nulls.add(file.number, piece.places[pc.is_null(brought).to_numpy().nonzero()[0]])
        return brought
    numbers = RowNumbers(instant=job.instant, number=file.number)
    numbered = _numbered(numbers, piece.places)
    if not job.names_keys or KEY not in raw.schema.names:
        return numbered
    brought = fitted_column(raw, pa.field(KEY, pa.string()), _misfit(piece))
    return pc.coalesce(brought, numbered)


def _numbered(numbers: RowNumbers, places: np.ndarray) -> pa.ChunkedArray:
    """Return the automatic keys of the rows at some places of a file, ascending."""
    if not places.size:
        return pa.chunked_array([], pa.string())
    first, end = int(places[0]), int(places[-1]) + 1
    starts = range(first, end, _NUMBERED_ROWS)
    parts = [numbers.texts(at, min(_NUMBERED_ROWS, end - at)) for at in starts]
    found = pa.chunked_array(parts, pa.string())
    return found if len(found) == places.size else found.take(pa.array(places - first))


def paths_of(job: LoadJob, data: pa.Table) -> pa.DictionaryArray:
    """Return the partition path of each row; a delete over all partitions needs none.

    Raises:
        PlanError, CorruptFileError: see `partition_paths`.
    """
    rule = job.rule
    anywhere = job.operation is WriteOperation.DELETE and rule.scope is KeyScope.TABLE
    if anywhere or not rule.partition:
        nowhere: Any = pa.repeat(pa.scalar(0, pa.int32()), data.num_rows)
        return pa.DictionaryArray.from_arrays(nowhere, pa.array([""]))
    return partition_paths(rule, data)


def _chunks(
    job: LoadJob, file: InputFile, encoded: Collection[str] | None
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the columns that an input file has, some row groups at a time, and the first row.

    The file must be the one that was pinned. `encoded` is as in `pieces_of`.
    """
    names = {KEY, *job.table_schema.names}
    folder = open_storage(parent_of(file.path))
    entry = folder.stat(name_of(file.path))
    if entry is None or (entry.size, entry.mtime_ns) != (file.size, file.mtime_ns):
        raise SourceDriftError(
            "input/drift",
            "an input file is missing" if entry is None else "an input file has changed",
            where=Where(file=file.path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name_of(file.path)) as stream:
            footer = pq.ParquetFile(stream).metadata
            parquet = pq.ParquetFile(
                stream,
                metadata=footer,
                read_dictionary=_encoded(job, footer, encoded),
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=True,
            )
            present = [name for name in parquet.schema_arrow.names if name in names]
            calendar = LegacyCalendar.of(parquet, file.path)
            start = 0
            for groups in _row_groups(parquet.metadata):
                with naming_bad_chunks(parquet, groups, present):
                    rows = parquet.read_row_groups(groups, columns=present, use_threads=False)
                yield start, rows if calendar is None else calendar.gregorian(rows)
                start += rows.num_rows
    except UNREADABLE as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=file.path),
            remedy="Restore the file, or remove it from the source.",
        ) from error


def _encoded(job: LoadJob, footer: pq.FileMetaData, chosen: Collection[str] | None) -> list[str]:
    """Return the texts of a file to read as dictionaries: those chosen, or all that it has so.

    Texts of the key and of the partition are needed plain.
    """
    if chosen is not None:
        return [name for name in footer.schema.to_arrow_schema().names if name in chosen]
    rule = job.rule
    plain = {KEY, *rule.record_key, *(each.name for each in rule.partition)}
    return [name for name in repeating(footer, job.table_schema) if name not in plain]


def _row_groups(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield numbers of consecutive row groups that are read together."""
    groups: list[int] = []
    rows = 0
    for number in range(metadata.num_row_groups):
        more = metadata.row_group(number).num_rows
        if groups and rows + more > _CHUNK_ROWS:
            yield groups
            groups, rows = [], 0
        groups.append(number)
        rows += more
    if groups:
        yield groups


def _misfit(piece: Piece) -> Callable[[str, int], CorruptFileError]:
    """Return a function for the error of a value that does not fit the table's type."""

    def fault(message: str, row: int) -> CorruptFileError:
        return CorruptFileError(
            "input/value-does-not-fit",
            f"row {piece.places[row]}, counted from 0: {message}",
            where=Where(file=piece.file.path),
            remedy="Correct the value, or exclude the row in a transform.",
        )

    return fault


def by_code(codes: np.ndarray, limit: int) -> np.ndarray:
    """Return the order that brings equal codes together, ascending; equal ones keep theirs.

    All codes are less than `limit`. Narrow ones are sorted by their digits, in a tenth of the time.
    """
    narrow = codes.astype(np.uint16) if limit <= _NARROW else codes
    return np.argsort(narrow, kind="stable")
