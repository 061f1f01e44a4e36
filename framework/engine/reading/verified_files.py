"""Verification of single files: base files against their seals, sources against their skeletons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow.parquet as pq

from framework.engine.reading.slice_rows import drifted
from framework.errors import StorageError
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter, naming_bad_chunks
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.layout import name_of, parent_of

__all__ = ["opened", "verify_base_file", "verify_source"]

_FINGERPRINT: Final = b"lakestrap.source"


def verify_base_file(source: Any, *, every_page: bool) -> pq.FileMetaData:
    """Compare a footer with its seal; with `every_page`, also the column chunks.

    Without a seal, every page is decoded, and its checksum compared if it has one.

    Args:
        source: a `pyarrow.NativeFile`.
        every_page: whether to read more than the footer.

    Returns:
        The footer.

    Raises:
        Exception: one of `UNREADABLE`.
    """
    footer = SealedFooter.read(source)
    if every_page:
        parquet = footer.opened(source)
        if footer.checksums is None:
            for _ in parquet.iter_batches():
                pass
    return footer.metadata


def verify_source(source: str, skeleton: str, *, every_page: bool) -> None:
    """Compare one source file with its skeleton's footer; with `every_page`, read all of it.

    Args:
        source: its full location.
        skeleton: likewise.
        every_page: whether to read pages too.

    Raises:
        SourceDriftError: `source/drift`.
    """
    with opened(skeleton) as stream:
        metadata = pq.read_metadata(stream)
    stored = (metadata.metadata or {}).get(_FINGERPRINT)
    if stored is not None:
        fingerprint = Fingerprint.from_json(stored)
        root = source.removesuffix(fingerprint.path).rstrip("/")
        with open_source(open_storage(root or "/"), fingerprint):
            pass
    rows = sum(_rows(source, every_page=every_page))
    if rows != metadata.num_rows:
        raise drifted(source, f"it has {rows} rows, its skeleton {metadata.num_rows}")


def _rows(source: str, *, every_page: bool) -> Iterator[int]:
    """Yield counts of rows, from the footer or from reading all columns."""
    try:
        if not every_page:
            with opened(source) as stream:
                yield pq.read_metadata(stream).num_rows
            return
        with (
            opened(source) as stream,
            pq.ParquetFile(stream, page_checksum_verification=True) as file,
            naming_bad_chunks(file, range(file.num_row_groups), file.schema_arrow.names),
        ):
            for batch in file.iter_batches():
                yield batch.num_rows
    except (StorageError, *UNREADABLE) as error:
        raise drifted(source, f"it cannot be read: {error}") from error


def opened(file: str) -> Any:
    """Return the file at a full location, open for random access; the caller closes it."""
    return open_storage(parent_of(file) or "/").open_input(name_of(file))
