"""Where a bloom filter's headers and bits are (format sheet, section 3.4)."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from framework.errors import CorruptFileError
from framework.hudi.codecs.murmur import BLOCK_KEYS

__all__ = ["MURMUR", "ONE_FILTER", "ROWS", "VERSION", "Positions", "corrupt", "read_header"]

ONE_FILTER: Final = struct.Struct(">iibi")
"""Header of one row: version, hash rounds, type of hash, bits."""
ROWS: Final = struct.Struct(">iii")
"""What a dynamic filter has behind its header: keys to a row, keys in the last row, rows."""
VERSION: Final = -1
MURMUR: Final = 1


class Positions:
    """`abs(seed % bits)` by Java's signs, into memory that is reused."""

    def __init__(self, bits: int) -> None:
        self._bits = np.uint32(bits)
        self._absolute = np.empty(BLOCK_KEYS, np.uint32)
        self._quotient = np.empty(BLOCK_KEYS, np.uint32)
        self._at = np.empty(BLOCK_KEYS, np.intp)

    def of(self, seeds: np.ndarray, base: np.ndarray | None = None) -> np.ndarray:
        """Return the positions, `base` (uint32) added; valid until the next call."""
        a, q, at = (
            self._absolute[: seeds.size],
            self._quotient[: seeds.size],
            self._at[: seeds.size],
        )
        # The remainder's sign follows the seed, so its absolute value is that of abs(seed); the
        # least int32 stays itself, which as uint32 is right again.
        np.absolute(seeds.view(np.int32), out=a.view(np.int32))
        np.floor_divide(a, self._bits, out=q)  # numpy divides by a constant five times faster
        np.multiply(q, self._bits, out=q)  #      than it takes remainders
        np.subtract(a, q, out=a)
        if base is not None:
            np.add(a, base, out=a)
        at[:] = a
        return at


def read_header(data: bytes, at: int) -> tuple[int, int]:
    """Return rounds and bits of the filter that begins at `at`."""
    if len(data) < at + ONE_FILTER.size:
        raise corrupt("is cut in a header", len(data))
    version, rounds, hash_type, bits = ONE_FILTER.unpack_from(data, at)
    if (version, hash_type) != (VERSION, MURMUR) or rounds < 1 or bits < 1:
        raise corrupt(
            f"has version {version}, hash type {hash_type}, {rounds} rounds, {bits} bits", at
        )
    return rounds, bits


def corrupt(what: str, offset: int) -> CorruptFileError:
    """The error for a filter whose bytes are wrong at `offset`."""
    return CorruptFileError("bloom/corrupt", f"the bloom filter {what} (byte {offset})")
