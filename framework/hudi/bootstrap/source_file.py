"""Reading one fingerprinted source file, which must not have changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, StorageError, Where
from framework.hudi.bootstrap.fingerprint import Fingerprint, drift, read_footer
from framework.hudi.codecs.parquet_seal import UNREADABLE, naming_bad_chunks
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.schema_check import fitted_column

__all__ = ["SourceReader", "check_unchanged", "open_source"]

_BATCH_ROWS: Final = 1 << 17


class SourceReader:
    """An open source file, as returned by `open_source`.

    Attributes:
        fingerprint: the fingerprint it matches.
        file: its full location, for errors.
    """

    def __init__(self, stream: Any, metadata: Any, fingerprint: Fingerprint, file: str) -> None:
        self.fingerprint = fingerprint
        self._parquet = pq.ParquetFile(
            stream,
            metadata=metadata,
            coerce_int96_timestamp_unit="us",
            page_checksum_verification=True,
        )
        self._names = frozenset(self._parquet.schema_arrow.names)
        self._calendar = LegacyCalendar.of(self._parquet, file)
        self.file = file

    def row_groups(self) -> Iterator[int]:
        """Yield the numbers of the row groups that have rows, in file order."""
        return (at for at, rows in enumerate(self.fingerprint.row_groups) if rows)

    def stored_bytes(self, group: int) -> int:
        """Return the compressed bytes of a row group, from the footer."""
        metadata = self._parquet.metadata.row_group(group)
        chunks = map(metadata.column, range(metadata.num_columns))
        return sum(chunk.total_compressed_size for chunk in chunks)

    def schema_for_keys(self, schema: Any, values: Mapping[str, object]) -> Any:
        """Return `schema` without the columns that this file takes from its folder's `values`."""
        return pa.schema([f for f in schema if f.name in self._names or f.name not in values])

    def lacks(self, name: str) -> bool:
        """Return whether the file has no column of this name."""
        return name not in self._names

    def bounds(self, name: str) -> tuple[Any, Any]:
        """Return the least and greatest value of a plain column, from the footer's statistics.

        They have the file's own type and calendar, and prove nothing about keys, since writers may
        widen them. (None, None) if a row group lacks them or they cannot be read.
        """
        metadata = self._parquet.metadata
        at = next(n for n in range(metadata.num_columns) if metadata.schema.column(n).path == name)
        groups = (metadata.row_group(n).column(at).statistics for n in self.row_groups())
        try:
            found = [(s.min, s.max) if s and s.has_min_max else None for s in groups]
        except (ValueError, OverflowError, NotImplementedError, pa.ArrowException):
            return None, None  # text that is not UTF-8, days after the year 9999
        known = [each for each in found if each]
        if not known or len(known) < len(found):
            return None, None
        return min(low for low, _ in known), max(high for _, high in known)

    def batches(self, group: int, schema: Any, *, most: int = _BATCH_ROWS) -> Iterator[Any]:
        """Yield one row group's rows as record batches of `schema`, of at most `most` rows.

        Columns that the file lacks are null. Each batch has at least one row; with an empty schema,
        only the number of rows is meaningful. Days of Spark's old calendar become Gregorian ones.

        Raises:
            CorruptFileError: `source/corrupt-data`, `source/value-does-not-fit`,
                `file/time-zone-unknown`.
        """
        present = [name for name in schema.names if name in self._names]
        expected = self.fingerprint.row_groups[group]
        try:
            if not present:
                yield self._conform(pa.record_batch({"": pa.nulls(expected)}), schema)
                return
            with naming_bad_chunks(self._parquet, [group], present):
                for batch in self._decoded(group, present, most):
                    days = batch if self._calendar is None else self._calendar.gregorian(batch)
                    yield self._conform(days, schema)
        except UNREADABLE as error:
            raise self._corrupt(f"row group {group} cannot be read: {error}") from error

    def check_pages(self) -> None:
        """Decode all columns of all row groups, and verify page checksums where present.

        Reads the whole file; holds one batch.

        Raises:
            CorruptFileError: as in `batches`.
        """
        for group in self.row_groups():
            for _ in self.batches(group, self._parquet.schema_arrow):
                pass

    def _decoded(self, group: int, names: list[str], most: int) -> Iterator[Any]:
        """Yield some columns of one row group.

        Raises:
            ValueError: its number of rows differs from the footer.
            Exception: others of `UNREADABLE`.
        """
        expected, found = self.fingerprint.row_groups[group], 0
        for batch in self._parquet.iter_batches(
            most, row_groups=[group], columns=names, use_threads=False
        ):
            found += batch.num_rows
            yield batch
        if found != expected:
            message = f"it has {found} rows, not {expected}"
            raise ValueError(message)

    def _conform(self, batch: Any, schema: Any) -> Any:
        """Return the batch with the columns and types of `schema`, absent ones null."""
        if batch.schema.names == schema.names and batch.schema.types == schema.types:
            return batch
        arrays = [fitted_column(batch, field, self._misfit) for field in schema]
        if not arrays:
            return pa.record_batch({"": pa.nulls(batch.num_rows)})
        return pa.RecordBatch.from_arrays(arrays, names=schema.names)

    def _misfit(self, message: str, _row: int) -> CorruptFileError:
        """Return the error for a value that does not fit the table's type."""
        return CorruptFileError(
            "source/value-does-not-fit",
            message,
            where=Where(file=self.file),
            remedy="Correct the file, or exclude its partition with `mode: skip`.",
        )

    def _corrupt(self, message: str) -> CorruptFileError:
        """Return the error for unreadable pages."""
        return CorruptFileError(
            "source/corrupt-data",
            message,
            where=Where(file=self.file),
            remedy="Restore the file, or move it out of the source folder.",
        )


@contextmanager
def open_source(storage: Storage, fingerprint: Fingerprint) -> Iterator[SourceReader]:
    """Open a source file after comparing its size and footer with its fingerprint.

    A `CorruptFileError` raised in the block without a file name gets this file's name.

    Raises:
        SourceDriftError: `source/drift`.
    """
    stream = _opened(storage, fingerprint)
    with stream:
        size = stream.size()
        if size != fingerprint.size:
            what = f"it has {size} bytes, not {fingerprint.size}"
            raise drift(fingerprint, what, storage.location)
        file = f"{storage.location}/{fingerprint.path}"
        try:
            footer = read_footer(stream, size, file, known=fingerprint)
        except CorruptFileError as error:
            raise drift(fingerprint, error.message, storage.location) from error
        if footer.sha256 != fingerprint.footer_sha256:
            raise drift(fingerprint, "its footer differs", storage.location)
        reader = SourceReader(stream, footer.metadata, fingerprint, file)
        try:
            yield reader
        except CorruptFileError as error:
            if error.where.file is None:
                error.where = replace(error.where, file=file)
            raise


def _opened(storage: Storage, fingerprint: Fingerprint) -> Any:
    """Return the file's stream; a missing file, or a folder instead, is drift."""
    try:
        return storage.open_input(fingerprint.path)
    except StorageError as error:
        entry = storage.stat(fingerprint.path)
        if entry is None or error.condition == "storage/not-found":
            raise drift(fingerprint, "it is missing", storage.location) from error
        if entry.is_folder:
            raise drift(fingerprint, "it is a folder", storage.location) from error
        raise


def check_unchanged(storage: Storage, fingerprint: Fingerprint) -> None:
    """Compare size, modification time and ETag; costs one `stat`.

    Raises:
        SourceDriftError: `source/drift`.
    """
    _compare(storage, fingerprint, storage.stat(fingerprint.path))


def check_folder_unchanged(
    storage: Storage, folder: str, fingerprints: Iterable[Fingerprint]
) -> None:
    """Compare files of one folder as `check_unchanged` does; costs one listing.

    Raises:
        SourceDriftError: `source/drift`; the first of the files that differs.
    """
    entries = {each.path: each for each in storage.list(folder)}
    for each in fingerprints:
        _compare(storage, each, entries.get(each.path))


def _compare(storage: Storage, fingerprint: Fingerprint, entry: Entry | None) -> None:
    """Raise if a file is not as its fingerprint says."""
    if entry is None:
        raise drift(fingerprint, "it is missing", storage.location)
    if entry.size != fingerprint.size:
        what = f"it has {entry.size} bytes, not {fingerprint.size}"
        raise drift(fingerprint, what, storage.location)
    if entry.mtime_ns != fingerprint.mtime_ns:
        raise drift(fingerprint, "its modification time differs", storage.location)
    if entry.etag != fingerprint.etag:
        raise drift(fingerprint, "its ETag differs", storage.location)
