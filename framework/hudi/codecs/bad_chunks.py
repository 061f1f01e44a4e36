"""Which column chunk of a Parquet file is the one that cannot be decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow.parquet as pq

from framework.hudi.codecs.parquet_seal import UNREADABLE

__all__ = ["naming_bad_chunks"]

_BATCH_ROWS: Final = 1 << 17


@contextmanager
def naming_bad_chunks(
    parquet: pq.ParquetFile, groups: Iterable[int], columns: Sequence[str]
) -> Iterator[None]:
    """Let a read that fails name the column and the row group that it failed at.

    Costs nothing while all is well. After a failure each column chunk is decoded alone, a batch at
    a time, up to the first that cannot be.

    Args:
        parquet: the open file that is read within.
        groups: places of the row groups that are read.
        columns: names of the top-level columns that are read; the file has them.

    Raises:
        ValueError: a read within failed at a column chunk, which the message names.
        Exception: others of `UNREADABLE`, where every chunk alone can be decoded.
    """
    try:
        yield
    except UNREADABLE as error:
        bad = _first_bad(parquet, groups, columns)
        if not bad:
            raise
        raise ValueError(bad) from error


def _first_bad(parquet: pq.ParquetFile, groups: Iterable[int], columns: Sequence[str]) -> str:
    """Return the first chunk that cannot be decoded and why, row group by row group; else ""."""
    for group in groups:
        for name in columns:
            fault = _fault(parquet, group, name)
            if fault:
                return f"column {name!r} of row group {group}: {fault}"
    return ""


def _fault(parquet: pq.ParquetFile, group: int, name: str) -> str:
    """Return why a chunk cannot be decoded to its number of rows; "" where it can."""
    rows = parquet.metadata.row_group(group).num_rows
    try:
        found = sum(
            batch.num_rows
            for batch in parquet.iter_batches(
                _BATCH_ROWS, row_groups=[group], columns=[name], use_threads=False
            )
        )
    except UNREADABLE as error:
        return str(error) or type(error).__name__
    return "" if found == rows else f"it has {found} rows, not {rows}"
