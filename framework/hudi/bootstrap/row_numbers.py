"""The numbers of rows in a commit, as text: sequence numbers, and automatic keys (RFC-76)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from framework.hudi.keygen.ordering import OrderedKeys

__all__ = ["RowNumbers"]

_TWO_NUMBERS: Final = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNumbers:
    """What automatic keys, and all sequence numbers, of one file begin with.

    Attributes:
        instant: requested time of the commit that writes the file.
        number: the file's place in the sorted list of the commit's input, from 0.
    """

    instant: str
    number: int

    @property
    def prefix(self) -> str:
        """The text before a row's own number."""
        return f"{self.instant}_{self.number}_"

    def texts(self, start: int, rows: int) -> pa.Array:
        """Return `<instant>_<number>_<row>` for so many rows from `start`, at most 2**24."""
        parts = [pa.array([], pa.string())]
        at, end = start, start + rows
        while at < end:
            width = len(str(at))
            stop = min(end, 10**width)
            parts.append(_numbered(self.prefix.encode(), at, stop, width))
            at = stop
        return pa.concat_arrays(parts)

    def ordered(self, row: int) -> bytes:
        """Return bytes that order rows of one commit as their numbers do."""
        return _TWO_NUMBERS.pack(self.number, row)

    def order(self, start: int, rows: int) -> OrderedKeys:
        """Return the order of so many automatic keys, at least one, from row `start`."""
        return OrderedKeys(
            first=self.ordered(start),
            last=self.ordered(start + rows - 1),
            increasing=True,
            injective=True,
        )


def _numbered(prefix: bytes, start: int, stop: int, width: int) -> pa.Array:
    """Return the texts of a prefix and each number from `start` to before `stop`.

    All numbers have `width` digits, so the texts are the rows of a matrix of bytes.
    """
    left: np.ndarray = np.arange(start, stop, dtype=np.uint32 if stop < 1 << 32 else np.uint64)
    size = len(prefix) + width
    text = np.empty((stop - start, size), np.uint8)
    text[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    for place in range(size - 1, len(prefix) - 1, -1):
        rest = left // 10
        text[:, place] = left - rest * 10 + ord("0")
        left = rest
    offsets = np.arange(0, text.size + 1, size, dtype=np.int32)
    return pa.StringArray.from_buffers(stop - start, pa.py_buffer(offsets), pa.py_buffer(text))
