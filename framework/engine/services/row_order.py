"""The order of a clustered group's rows: by columns, or along a Z-order curve over their ranks.

Pure. Nulls come first. Equal rows stay in their order, so equal input gives equal files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from framework.hudi.filegroup.merge import ranks
from framework.vocabulary import RowOrder

__all__ = ["is_sortable", "sorted_places"]

_BITS: Final = 63
"""Bits of a position on the curve, split among its columns."""
_MOST_BITS: Final = 21


def is_sortable(kind: pa.DataType) -> bool:
    """Return whether rows can be sorted by a column of this type."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


def sorted_places(rows: pa.Table, by: Sequence[str], order: RowOrder) -> np.ndarray:
    """Return the places of rows in their new order."""
    columns = [_ranks(rows[name]) for name in by]
    if order is RowOrder.Z_ORDER:
        columns = [_along_curve(columns)]
    found: np.ndarray = np.lexsort(columns[::-1])
    return found


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    """Return the dense rank of each value."""
    whole: Any = pa.concat_arrays([pa.array([], column.type), *column.chunks])
    if pa.types.is_boolean(whole.type):
        whole = whole.cast(pa.int8())
    return ranks(whole)


def _along_curve(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return the position of each row on the curve: bits of all ranks, interleaved.

    Ranks are scaled to the same number of bits, so that each column counts alike whatever the
    number of its values.
    """
    bits = min(_BITS // len(columns), _MOST_BITS)
    top = (1 << bits) - 1
    scaled = []
    for column in columns:
        most = int(column.max(initial=0)) or 1
        scaled.append((column.astype(np.float64) / most * top).astype(np.uint64))
    found = np.zeros(len(columns[0]), np.uint64)
    for bit in reversed(range(bits)):
        for each in scaled:
            found = (found << np.uint64(1)) | ((each >> np.uint64(bit)) & np.uint64(1))
    return found
